/**
 * Why a call is allowed, asked about or denied, for a person: the rules in the order in which they are asked, the facts
 * they looked at, and what would change the answer. The kernel's own decision is taken apart and asked again with one
 * thing changed, so the explanation cannot differ from what is done.
 */
import { isLatched, joinLabels, type Labels, UNTRUSTED_LABELS } from "../vocabulary/labels.ts";
import { decideCall, decidingRules, type PolicyDecision, type PolicyQuestion, stricter } from "./decide-call.ts";
import { matchesTool } from "./tool-pattern.ts";
import type { PolicyVerdict } from "./tool-policy.ts";

/** `passed`: the rule does not stand against the call. */
export interface RuleStep {
  readonly rule: string;
  readonly result: "passed" | PolicyVerdict;
  readonly words: string;
}

/** One thing that could be different, and what would then be decided about such a call. */
export interface ChangedDecision {
  readonly change: ChangeName;
  readonly decision: PolicyVerdict;
  readonly words: string;
}

export const CHANGE_NAMES = [
  "exception",
  "risk",
  "approved-tool",
  "labels",
  "untrusted",
  "capability",
  "allowlist",
  "channel",
  "kill-switch",
] as const;
type ChangeName = (typeof CHANGE_NAMES)[number];

export interface DecisionExplanation {
  readonly decision: PolicyVerdict;
  readonly rule: string;
  readonly path: readonly RuleStep[];
  readonly facts: Pick<PolicyQuestion, "tool" | "risk" | "channelClass" | "asksAlways" | "honeypot" | "labels"> & {
    readonly reaches: readonly string[];
    readonly granted: readonly string[];
    /** The run was started with `--approve` for this tool. */
    readonly isApprovedTool: boolean;
    /** The context has seen private and untrusted data. */
    readonly isLatched: boolean;
    /** The policy in force now decided, because it is stricter than the one the run was started under. */
    readonly isNarrowed: boolean;
  };
  readonly changes: readonly ChangedDecision[];
}

type Live = Pick<PolicyQuestion, "policy" | "capabilities">;

/** `decided`: what was decided, where that is more than the rules say (an effect in doubt). */
export function explainDecision(
  question: PolicyQuestion,
  live: Live | null,
  decided: PolicyDecision | null = null,
): DecisionExplanation {
  const underContract = decideCall(question);
  const now = live === null ? question : { ...question, ...live };
  const isNarrowed = stricter(underContract, decideCall(now)) !== underContract;
  const asked = isNarrowed ? now : question;
  const rules = decidingRules(asked);
  const ruled = rules.at(-1) ?? underContract;
  const { decision, policyId: rule } = decided ?? ruled;
  const extra = decided === null || decided.policyId === ruled.policyId ? [] : [decided];
  const { tool, risk, channelClass, asksAlways, honeypot, labels, egress, capabilities, approvedTools } = asked;
  return {
    decision,
    rule,
    path: [
      ...gatesPassed(asked, rules[0].policyId),
      ...[...rules, ...extra].map((each) => ({
        rule: each.policyId,
        result: each.decision,
        words: ruleInWords(asked, each),
      })),
    ],
    facts: {
      ...{ tool, risk, channelClass, asksAlways, honeypot, labels },
      ...{ reaches: egress, granted: capabilities, isNarrowed },
      isApprovedTool: approvedTools.includes(tool),
      isLatched: isLatched(labels),
    },
    changes: extra.length > 0 ? [] : changesTo(now, decision),
  };
}

/** The gates of D1 before the one that refused; all of them where none did. */
function gatesPassed(question: PolicyQuestion, refusing: string): readonly RuleStep[] {
  const { tool, risk, policy, channelClass, egress, capabilities } = question;
  const pattern = (patterns: readonly string[]): string => patterns.find((each) => matchesTool(each, tool)) ?? tool;
  const gates = [
    { rule: "policy.contract", words: `This run may call ${tool}.` },
    ...(risk === "side_effect" ? [{ rule: "policy.kill-switch", words: "Side effects are switched on." }] : []),
    { rule: "policy.not-allowlisted", words: `tools.policy.allow has ${pattern(policy.allow)}.` },
    {
      rule: "policy.channel",
      words: `tools.policy.channels.${channelClass} has ${pattern(policy.channels[channelClass] ?? [])}.`,
    },
    ...(egress.length === 0
      ? []
      : [{ rule: "policy.capability", words: `${egress.join(", ")}: granted by ${capabilities.join(", ")}.` }]),
  ];
  const end = gates.findIndex(({ rule }) => rule === refusing);
  return (end === -1 ? gates : gates.slice(0, end)).map((gate) => ({ ...gate, result: "passed" }));
}

function ruleInWords({ policy, risk }: PolicyQuestion, { policyId, decision, reason }: PolicyDecision): string {
  const index = /^policy\.exception\.(\d+)$/.exec(policyId)?.[1];
  const exception = index === undefined ? undefined : policy.exceptions[Number(index)];
  if (exception !== undefined) {
    const where = exception.channel === undefined ? "" : ` on ${exception.channel}`;
    return `tools.policy.exceptions[${index}] says ${decision} for ${exception.tool}${where}.`;
  }
  return policyId.startsWith("policy.risk.") ? `tools.policy.risk.${risk} is ${decision}.` : reason;
}

function changesTo(question: PolicyQuestion, decision: PolicyVerdict): readonly ChangedDecision[] {
  return candidates(question).flatMap(({ change, also, words }) => {
    const other = decideCall({ ...question, ...also }).decision;
    return other === decision ? [] : [{ change, decision: other, words: `${words}: ${IN_WORDS[other]}.` }];
  });
}

const IN_WORDS: Readonly<Record<PolicyVerdict, string>> = {
  allow: "it would be allowed without asking",
  approve: "Surety would ask",
  deny: "it would be denied",
};

interface Candidate {
  readonly change: ChangeName;
  readonly also: Partial<PolicyQuestion>;
  readonly words: string;
}

function candidates(question: PolicyQuestion): readonly Candidate[] {
  const { tool, risk, channelClass: channel, policy, labels, egress, capabilities, approvedTools } = question;
  const withPolicy = (also: Partial<PolicyQuestion["policy"]>) => ({ policy: { ...policy, ...also } });
  const others = policy.exceptions.filter(
    (each) => !(matchesTool(each.tool, tool) && (each.channel ?? channel) === channel && each.decision !== "allow"),
  );
  const trusted: Labels = { ...labels, integrity: "user" };
  const isUntrusted = labels.integrity === "untrusted";
  const missing = egress.filter((host) => !capabilities.includes(`net:${host}`));
  const channels = { ...policy.channels, [channel]: [...(policy.channels[channel] ?? []), tool] };
  return [
    {
      change: "exception",
      also: withPolicy({ exceptions: [...others, { tool, channel, decision: "allow" }] }),
      words: `With an exception in tools.policy.exceptions that allows ${tool} on ${channel}`,
    },
    {
      change: "risk",
      also: withPolicy({ risk: { ...policy.risk, [risk]: "allow" } }),
      words: `With tools.policy.risk.${risk} set to allow`,
    },
    {
      change: "approved-tool",
      also: { approvedTools: [...approvedTools, tool] },
      words: `In a run started with --approve ${tool}`,
    },
    ...(isUntrusted
      ? [
          {
            change: "labels" as const,
            also: { labels: trusted },
            words: "In a session that has read nothing untrusted",
          },
        ]
      : [
          {
            change: "untrusted" as const,
            also: { labels: joinLabels(labels, UNTRUSTED_LABELS) },
            words: "Once the run has read something untrusted",
          },
        ]),
    {
      change: "capability",
      also: { capabilities: [...capabilities, ...missing.map((host) => `net:${host}`), "net"] },
      words: `With a grant for ${missing.join(", ")}`,
    },
    {
      change: "allowlist",
      also: withPolicy({ allow: [...policy.allow, tool] }),
      words: `With ${tool} in tools.policy.allow`,
    },
    { change: "channel", also: withPolicy({ channels }), words: `With ${tool} in tools.policy.channels.${channel}` },
    policy.sideEffects === "disabled"
      ? {
          change: "kill-switch",
          also: withPolicy({ sideEffects: "enabled" }),
          words: "With side effects switched on (tools.policy.sideEffects)",
        }
      : {
          change: "kill-switch",
          also: withPolicy({ sideEffects: "disabled" }),
          words: "With side effects switched off (tools.policy.sideEffects)",
        },
  ];
}
