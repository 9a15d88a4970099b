/** Operations on approvals: what waits for a person, and the answer to it (design §7, Approvals). */
import { type Static, Type } from "typebox";
import type { SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { asHash } from "../../kernel/vocabulary/identifiers.ts";
import {
  ApprovalIdSchema,
  BodyRefSchema,
  CallIdSchema,
  Count,
  closed,
  HashSchema,
  nullable,
  RunIdSchema,
} from "../../kernel/vocabulary/schema-primitives.ts";
import { fromWire, toWire } from "../../kernel/vocabulary/wire-case.ts";
import { ApprovalIdInput, pageFields, pageOf, Text } from "../operations/input-schemas.ts";
import { operationsOver } from "../operations/operation.ts";
import type { ApprovalCard } from "../ports/approver.ts";
import { timestampOf } from "../ports/clock.ts";
import type { Approvals } from "./approvals.ts";
import {
  type AskedCall,
  AskedCallSchema,
  ExplainSchema,
  LabelsOnWire,
  ProvenanceSchema,
} from "./question-background.ts";

export interface ApprovalServices {
  readonly approvals: Pick<Approvals, "pending" | "decided" | "decide">;
}

const AnyText = Type.String();
const CardSchema = Type.Object({
  id: ApprovalIdSchema,
  kind: Type.Enum(["approve", "resolve"]),
  run_id: RunIdSchema,
  session_id: Type.Unsafe<SessionId>(AnyText),
  call_id: CallIdSchema,
  step: Count,
  tool: AnyText,
  plan: AnyText,
  /** The same in parts; null where nothing is planned. */
  call: AskedCallSchema,
  plan_ref: BodyRefSchema,
  plan_hash: HashSchema,
  why: AnyText,
  labels: LabelsOnWire,
  explain: ExplainSchema,
  provenance: ProvenanceSchema,
  created_at: AnyText,
  expires_at: AnyText,
  state: Type.Enum(["pending", "allowed", "denied", "expired", "consumed", "done", "retry", "fail", "forged"]),
  decided_by: nullable(AnyText),
  decided_at: nullable(AnyText),
});
export type WireCard = Static<typeof CardSchema>;

const DecisionSchema = Type.Enum(["allow", "deny", "done", "retry", "fail"]);
export type ApprovalDecision = Static<typeof DecisionSchema>;

const { json } = operationsOver<ApprovalServices>();

export const approvalOperations = [
  json({
    name: "approvals.list",
    method: "GET",
    path: "/api/approvals",
    scope: "operate",
    summary: "lists the approvals that wait for a person; with `?state=decided` those that do not, the last one first",
    hasEtag: true,
    input: Type.Object({ ...pageFields, state: Type.Optional(Type.Enum(["pending", "decided"])) }, closed),
    output: Type.Object({ approvals: Type.Array(CardSchema) }),
    async call({ approvals }, input) {
      const page = pageOf(input);
      const cards = await (input.state === "decided" ? approvals.decided(page) : approvals.pending(page));
      return { ok: true, value: { approvals: cards.map(wireCard) } };
    },
  }),
  json({
    name: "approvals.decide",
    method: "POST",
    path: "/api/approvals/{id}",
    scope: "operate",
    summary: "answers an approval: `allow` or `deny`; for an effect in doubt `done`, `retry` or `fail`",
    // Whatever is not the plan's hash is a wrong one, hence a conflict.
    input: Type.Object({ id: ApprovalIdInput, decision: DecisionSchema, plan_hash: Text }, closed),
    output: Type.Object({ id: ApprovalIdSchema, decision: DecisionSchema }),
    async call({ approvals }, { id, decision, plan_hash }, { principal }) {
      const decided = await approvals.decide({ id, decision, planHash: asHash(plan_hash), principal });
      return decided.ok ? { ok: true, value: { id, decision } } : decided;
    },
  }),
] as const;

export function wireCard(card: ApprovalCard): WireCard {
  const { shown, background, backgroundRef: _ref, createdAtMs, expiresAtMs, decidedAtMs, ...rest } = card;
  const { call, ...explained } = background;
  return {
    ...toWire(rest),
    ...toWire(explained),
    call: call === null ? null : wireCall(call),
    plan: shown,
    created_at: timestampOf(createdAtMs),
    expires_at: timestampOf(expiresAtMs),
    decided_at: decidedAtMs === null ? null : timestampOf(decidedAtMs),
  };
}

/** Names of arguments are the tool's: they are not translated. */
function wireCall({ args, argv, targets, ...call }: AskedCall): WireCard["call"] {
  return { ...call, args: JSON.stringify(args), argv: [...argv], targets: [...targets] };
}

export function cardFromWire(wire: WireCard): ApprovalCard {
  const { plan, explain, provenance, call, createdAt, expiresAt, decidedAt, ...card } = fromWire(wire);
  return {
    ...card,
    backgroundRef: null,
    shown: plan,
    background: { explain, provenance, call: call === null ? null : { ...call, args: JSON.parse(call.args) } },
    createdAtMs: Date.parse(createdAt),
    expiresAtMs: Date.parse(expiresAt),
    decidedAtMs: decidedAt === null ? null : Date.parse(decidedAt),
  };
}
