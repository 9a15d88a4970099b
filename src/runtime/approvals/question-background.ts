/**
 * What a person who is asked can look up: why this call asks and what would change that (`explain`), and which untrusted
 * text the run has read (`provenance`). It is stored with the question, because what decides is not in the journal before
 * the answer, and because later policy must not change what was said.
 */
import { Type } from "typebox";
import type { UntrustedSource } from "../../kernel/journal/views/untrusted-source.ts";
import { CHANGE_NAMES, type DecisionExplanation } from "../../kernel/policy/explain-decision.ts";
import { CONFIDENTIALITIES, INTEGRITIES } from "../../kernel/vocabulary/labels.ts";
import { CHANNEL_CLASSES, RISK_CLASSES } from "../../kernel/vocabulary/risk.ts";
import { Count, nullable } from "../../kernel/vocabulary/schema-primitives.ts";
import type { Wire } from "../../kernel/vocabulary/wire-case.ts";
import type { Arguments, Planned, Reversal } from "../ports/toolbox.ts";

export interface QuestionBackground {
  /** Null for a question that no rule about calls raised: an effect in doubt, mail. */
  readonly explain: DecisionExplanation | null;
  readonly provenance: readonly UntrustedSource[];
  /** Null where nothing is planned: the run itself is asked about, or its plan failed. */
  readonly call: AskedCall | null;
}

/** The plan in parts. */
export interface AskedCall {
  readonly args: Arguments;
  /** The words of the command; empty where no process is started. */
  readonly argv: readonly string[];
  readonly cwd: string | null;
  readonly targets: readonly string[];
  readonly reversal: Reversal;
  /** The text of the file that it replaces, for a comparison. */
  readonly replaces?: string;
  /** What the tool itself says about it. */
  readonly text: string;
}

export const NO_BACKGROUND: QuestionBackground = { explain: null, provenance: [], call: null };

export function askedCall({ args, plan, reversal, replaces, shown }: Planned): AskedCall {
  const { argv, cwd, targets } = plan;
  const compared = replaces === undefined ? {} : { replaces };
  return { args, argv, cwd: cwd === null ? null : cwd.path, targets, reversal, ...compared, text: shown };
}

const Text = Type.String();
const Verdict = Type.Enum(["allow", "approve", "deny"]);
export const LabelsOnWire = Type.Object({
  integrity: Type.Enum([...INTEGRITIES]),
  confidentiality: Type.Enum([...CONFIDENTIALITIES]),
});

export const ExplainSchema = Type.Unsafe<Wire<DecisionExplanation> | null>(
  nullable(
    Type.Object({
      decision: Verdict,
      rule: Text,
      /** In the order in which the rules are asked. */
      path: Type.Array(
        Type.Object({ rule: Text, result: Type.Enum(["passed", "allow", "approve", "deny"]), words: Text }),
      ),
      facts: Type.Object({
        tool: Text,
        risk: Type.Enum([...RISK_CLASSES]),
        channel_class: Type.Enum([...CHANNEL_CLASSES]),
        asks_always: Type.Boolean(),
        honeypot: Type.Boolean(),
        labels: LabelsOnWire,
        reaches: Type.Array(Text),
        granted: Type.Array(Text),
        is_approved_tool: Type.Boolean(),
        is_latched: Type.Boolean(),
        is_narrowed: Type.Boolean(),
      }),
      changes: Type.Array(Type.Object({ change: Type.Enum([...CHANGE_NAMES]), decision: Verdict, words: Text })),
    }),
  ),
);

export const ProvenanceSchema = Type.Unsafe<Wire<readonly UntrustedSource[]>>(
  Type.Array(
    Type.Object({
      seq: Count,
      tool: nullable(Text),
      source: Text,
      labels: LabelsOnWire,
      excerpt: nullable(Text),
      is_cut: Type.Boolean(),
    }),
  ),
);

export const AskedCallSchema = nullable(
  Type.Object({
    /** JSON. */
    args: Text,
    argv: Type.Array(Text),
    cwd: nullable(Text),
    targets: Type.Array(Text),
    reversal: Type.Object({ kind: Type.Enum(["reversible", "irreversible", "unknown"]), how: Text }),
    replaces: Type.Optional(Text),
    text: Text,
  }),
);

/** We wrote it to our own store; an erased one is empty. */
export function readBackground(json: string | null): QuestionBackground {
  return json === null ? NO_BACKGROUND : { ...NO_BACKGROUND, ...(JSON.parse(json) as QuestionBackground) };
}
