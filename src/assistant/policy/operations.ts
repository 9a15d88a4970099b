/** Operations on the tool policy: what happens to calls of each tool, and why (P-3.2). */
import { type Static, Type } from "typebox";
import { CHANGE_NAMES } from "../../kernel/policy/explain-decision.ts";
import { CHANNEL_CLASSES, RISK_CLASSES } from "../../kernel/vocabulary/risk.ts";
import { closed, nullable } from "../../kernel/vocabulary/schema-primitives.ts";
import { Name } from "../../runtime/operations/input-schemas.ts";
import { operationsOver, type Result } from "../../runtime/operations/operation.ts";

export interface PolicyServices {
  readonly policy: PolicyAdministration;
}

export interface PolicyAdministration {
  show(): PolicyGrid;
  explain(call: ExplainInput): Promise<Result<ExplainedCall>>;
}

const Text = Type.String();
const Texts = Type.Array(Text);
const Decision = Type.Enum(["allow", "approve", "deny"]);
const ChannelClassSchema = Type.Enum([...CHANNEL_CLASSES]);
const Risk = Type.Enum([...RISK_CLASSES]);

const GridSchema = Type.Object({
  side_effects: Type.Enum(["enabled", "disabled"]),
  /** That shell.exec accepts. */
  commands: Texts,
  /** That the capability net reaches; null: all. */
  allow_domains: nullable(Texts),
  allow_addresses: Texts,
  /** What sessions are granted beyond the policy; none here. */
  capabilities: Texts,
  /** As in the config: `tools.policy`. */
  policy: Type.Unsafe<object>(Type.Object({})),
  channels: Type.Array(
    Type.Object({
      channel: ChannelClassSchema,
      tools: Type.Array(
        /** More than one row for a tool whose calls may have different risks. */
        Type.Object({ tool: Text, risk: Risk, decision: Decision, policy_id: Text, reason: Text }),
      ),
    }),
  ),
});
export type PolicyGrid = Static<typeof GridSchema>;

const ExplainSchema = Type.Object(
  {
    tool: Name,
    args: Type.Optional(Type.Unsafe<Readonly<Record<string, unknown>>>(Type.Object({}))),
    channel: Type.Optional(ChannelClassSchema),
    /** As if these capabilities were granted. */
    grants: Type.Optional(Type.Array(Name, { maxItems: 100 })),
    /** As if the run had read untrusted data before. */
    untrusted: Type.Optional(Type.Boolean()),
    /** With what this session has been granted and has seen. */
    session_id: Type.Optional(Name),
  },
  closed,
);
export type ExplainInput = Static<typeof ExplainSchema>;

const ExplainedSchema = Type.Object({
  tool: Text,
  channel: ChannelClassSchema,
  decision: Decision,
  policy_id: Text,
  reason: Text,
  /** Of a call that cannot be planned. */
  code: nullable(Text),
  risk: nullable(Risk),
  reaches: Texts,
  targets: Texts,
  labels: Type.Object({ integrity: Text, confidentiality: Text }),
  session_id: Type.Optional(Text),
  granted: Type.Optional(Texts),
  pending: Type.Optional(Texts),
  /** The rules in the order in which they are asked. */
  path: Type.Array(Type.Object({ rule: Text, result: Type.Enum(["passed", "allow", "approve", "deny"]), words: Text })),
  /** What would change the answer. */
  changes: Type.Array(Type.Object({ change: Type.Enum([...CHANGE_NAMES]), decision: Decision, words: Text })),
  /** As an approver would read it. */
  plan: nullable(Text),
});
export type ExplainedCall = Static<typeof ExplainedSchema>;

const { json } = operationsOver<PolicyServices>();

export const policyOperations = [
  json({
    name: "policy.get",
    method: "GET",
    path: "/api/policy",
    scope: "operate",
    summary: "shows the policy in force, and what it does to calls of each tool by channel class, with the rule",
    hasEtag: true,
    input: Type.Object({}, closed),
    output: GridSchema,
    call: ({ policy }) => ({ ok: true, value: policy.show() }),
  }),
  json({
    name: "policy.explain",
    method: "POST",
    path: "/api/policy/explain",
    scope: "operate",
    summary:
      "says why a call `{tool, args, channel}` would be allowed, asked about or denied, for `{session_id}` or with `{grants, untrusted}`; does not make it",
    input: ExplainSchema,
    output: ExplainedSchema,
    call: ({ policy }, input) => policy.explain(input),
  }),
] as const;
