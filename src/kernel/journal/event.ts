/**
 * Events from outside a run, the only source of its state. They hold refs and metadata, never content: an entry that
 * quotes one can be shown to anyone. An answer names its question: the attempt of a model call, otherwise the step and
 * for plans the round. Ids that a model made up come again in every turn and prove nothing.
 */

import { type Static, Type } from "typebox";
import { schemaCheck } from "#schema-check";
import { RoutingSchema } from "../contract/contract.ts";
import { ToolPolicySchema } from "../policy/tool-policy.ts";
import { ERROR_CODES } from "../vocabulary/error-code.ts";
import { jsonProblem } from "../vocabulary/json-problem.ts";
import { CONFIDENTIALITIES, INTEGRITIES } from "../vocabulary/labels.ts";
import { ModelPriceSchema } from "../vocabulary/model-price.ts";
import { OUTCOMES } from "../vocabulary/outcome.ts";
import { IDEMPOTENCY_CLASSES, RISK_CLASSES } from "../vocabulary/risk.ts";
import {
  ApprovalIdSchema,
  BodyRefSchema,
  CallIdSchema,
  Count,
  closed,
  HashSchema,
  nullable,
  RunIdSchema,
} from "../vocabulary/schema-primitives.ts";

export const LabelsSchema = Type.Object(
  { integrity: Type.Enum([...INTEGRITIES]), confidentiality: Type.Enum([...CONFIDENTIALITIES]) },
  closed,
);

/** The policy in force now. It can only narrow the contract. */
export const LivePolicySchema = Type.Object(
  { policy: ToolPolicySchema, capabilities: Type.Array(Type.String()) },
  closed,
);
export type LivePolicy = Static<typeof LivePolicySchema>;

/** A run's budget; a child's is carved out of its parent's. */
export const CarvedBudgetSchema = Type.Object({ inferences: Count, tokens: Count, spendMicrousd: Count }, closed);
export type CarvedBudget = Static<typeof CarvedBudgetSchema>;

const UsageSchema = Type.Object(
  {
    inputTokens: Count,
    outputTokens: Count,
    costMicrousd: Count,
    /** The provider reported none: what may have been billed is charged. */
    isEstimate: Type.Optional(Type.Literal(true)),
  },
  closed,
);
export type Usage = Static<typeof UsageSchema>;

/** A budget scope (`all`, `agent:…`, `job:…`, `run:…`) that has less left than an inference needs. */
const RefusedBySchema = Type.Object(
  { scope: Type.String(), unit: Type.Enum(["microusd", "tokens"]), needed: Count, left: Count },
  closed,
);
export type RefusedBy = Static<typeof RefusedBySchema>;

export const ProposedCallSchema = Type.Object(
  { callId: CallIdSchema, tool: Type.String(), argsRef: BodyRefSchema },
  closed,
);
export type ProposedCall = Static<typeof ProposedCallSchema>;

/** An error as a journal may hold it: its message can quote arguments, so it is a body. */
const RecordedErrorSchema = Type.Object(
  {
    code: Type.Enum([...ERROR_CODES]),
    retryable: Type.Boolean(),
    messageRef: nullable(BodyRefSchema),
  },
  closed,
);

/** With the details of the error, if there are any, as a body. */
const ResponseErrorSchema = Type.Object(
  { ...RecordedErrorSchema.properties, detailsRef: Type.Optional(BodyRefSchema) },
  closed,
);

/** A proposed call after planning: parsed once, hashed, and what policy must know of it. */
export const PlannedCallSchema = Type.Object(
  {
    callId: CallIdSchema,
    /** The registered name, aliases resolved. */
    tool: Type.String(),
    argsRef: BodyRefSchema,
    planHash: HashSchema,
    risk: Type.Enum([...RISK_CLASSES]),
    idempotency: Type.Enum([...IDEMPOTENCY_CLASSES]),
    idempotencyKey: nullable(HashSchema),
    /** Repeats of a pollable call are bounded by budgets, not by the cycle ban. */
    pollable: Type.Boolean(),
    egress: Type.Array(Type.String()),
    timeoutMs: Type.Integer({ minimum: 1 }),
    /** Indexes into the contract's required effects that this call would prove. */
    effects: Type.Array(Count),
    /** All five honeypot conditions hold (P-3.3). */
    honeypot: Type.Boolean(),
    /** No rule about its tool allows it outright. Absent otherwise, as it is from journals older than this. */
    asksAlways: Type.Optional(Type.Literal(true)),
    child: nullable(Type.Object({ runId: RunIdSchema, contractHash: HashSchema, budget: CarvedBudgetSchema }, closed)),
    /** Why it cannot be run at all: unknown tool, invalid arguments, a path outside. */
    problem: nullable(RecordedErrorSchema),
  },
  closed,
);
export type PlannedCall = Static<typeof PlannedCallSchema>;

/** A tool's response (O-1.2) as a journal may hold it: the output is a body. */
export const RecordedResponseSchema = Type.Object(
  {
    /** The request it answers; absent from journals older than this, as `finishedAt` is. */
    requestId: Type.Optional(Type.String()),
    runId: Type.Optional(RunIdSchema),
    tool: Type.Optional(Type.String()),
    ok: Type.Boolean(),
    outputRef: nullable(BodyRefSchema),
    /** Equal refs mean equal results: a digest of the output without its tool's volatile fields. Absent: `outputRef`. */
    stableRef: Type.Optional(BodyRefSchema),
    outputBytes: Count,
    truncated: Type.Boolean(),
    error: nullable(ResponseErrorSchema),
    durationMs: Type.Number({ minimum: 0 }),
    finishedAt: Type.Optional(Type.String()),
  },
  closed,
);
export type RecordedResponse = Static<typeof RecordedResponseSchema>;

/** The contract's summarizer was asked about an output over its budget. */
export const OutputSummarySchema = Type.Object(
  {
    /** `provider:model`. */
    model: Type.String(),
    /** Why its text was not used, so that the output is truncated instead; null: the output is its text. */
    problem: nullable(Type.String()),
    /** What truncation leaves of the output, where the summary took its place. */
    truncatedRef: nullable(BodyRefSchema),
    usage: UsageSchema,
    /** The model has no known price. */
    isUnpriced: Type.Optional(Type.Literal(true)),
  },
  closed,
);
export type OutputSummary = Static<typeof OutputSummarySchema>;

/** O-1.2 for the recorded form: success has no error; failure has an error and no output. */
export function isConsistentResponse({ ok, error, outputRef }: RecordedResponse): boolean {
  return ok ? error === null : error !== null && outputRef === null;
}

const answering = { step: Count };
const timed = { ts: Type.String(), elapsedMs: Count };
const event = <const Name extends string, Fields extends Parameters<typeof Type.Object>[0]>(
  type: Name,
  fields: Fields,
) => Type.Object({ type: Type.Literal(type), ...timed, ...fields }, closed);

/** An image of the message: its file is a body, in Base64. */
const Image = Type.Object(
  {
    type: Type.Literal("image"),
    mimeType: Type.String(),
    bytes: Count,
    width: Count,
    height: Count,
    ref: BodyRefSchema,
  },
  closed,
);

export const EventSchemas = {
  "run.accepted": event("run.accepted", {
    messageRef: BodyRefSchema,
    media: Type.Optional(Type.Array(Image)),
    agentId: Type.String(),
    sessionId: Type.String(),
    principal: Type.String(),
    labels: LabelsSchema,
    prompt: Type.Object({ head: HashSchema, tokens: Count, manifest: HashSchema }, closed),
    retrieved: Type.Array(Type.Object({ id: Type.String(), score: Type.Number() }, closed)),
    tools: Type.Object({ digest: HashSchema, names: Type.Array(Type.String()) }, closed),
    profile: Type.Object(
      {
        id: Type.String(),
        adapterVersion: Type.String(),
        supportsTools: Type.Boolean(),
        /** It can be made to call a tool (tool_choice required, a grammar or a mask). */
        holdsRequired: Type.Boolean(),
        grammarProfiles: Type.Array(Type.String()),
      },
      closed,
    ),
    routing: Type.Optional(RoutingSchema),
    /** The price of the model; null if unknown, absent from older journals. */
    price: Type.Optional(nullable(ModelPriceSchema)),
  }),
  "backend.checked": event("backend.checked", { responsive: Type.Boolean(), detail: Type.String() }),
  "model.answered": event("model.answered", {
    attempt: Count,
    rawHash: HashSchema,
    adapter: Type.Object(
      {
        status: Type.Enum(["native", "rejected", "recovered"]),
        failureCode: nullable(Type.String()),
        version: Type.String(),
      },
      closed,
    ),
    messageRef: nullable(BodyRefSchema),
    textRef: nullable(BodyRefSchema),
    /** What the model thought, redacted; absent where it said none, or the run shows none (`thinking_mode`). */
    thoughtsRef: Type.Optional(BodyRefSchema),
    calls: Type.Array(ProposedCallSchema),
    notes: Type.Union([
      Type.Object(
        {
          status: Type.Enum(["applied", "malformed"]),
          ref: nullable(BodyRefSchema),
          actions: Type.Array(Type.Object({ action: Type.String(), status: Type.String() }, closed)),
          /** How many keys of the patch are none of ours; absent: none, or an older journal. */
          unknownKeys: Type.Optional(Count),
        },
        closed,
      ),
      Type.Null(),
    ]),
    usage: UsageSchema,
    tokens: Count,
    stopReason: Type.String(),
    fingerprint: Type.String(),
    stream: Type.Object({ chunks: Count, chars: Count, firstMs: Count, lastMs: Count }, closed),
  }),
  "model.failed": event("model.failed", {
    attempt: Count,
    code: Type.String(),
    /** Before the first byte, and of a kind that may pass. */
    retryable: Type.Boolean(),
    retryAfterMs: Count,
    usage: UsageSchema,
    refusedBy: Type.Optional(RefusedBySchema),
    /** The provider's own words, redacted; absent if it gave none, as from older journals. */
    messageRef: Type.Optional(BodyRefSchema),
  }),
  "context.compacted": event("context.compacted", {
    ...answering,
    succeeded: Type.Boolean(),
    head: HashSchema,
    tokens: Count,
    usage: UsageSchema,
  }),
  "calls.planned": event("calls.planned", {
    ...answering,
    /** 1 for the first plan of a batch, 2 for the one after its last approval. */
    round: Type.Integer({ minimum: 1 }),
    calls: Type.Array(PlannedCallSchema),
  }),
  "approval.decided": event("approval.decided", {
    ...answering,
    approvalId: ApprovalIdSchema,
    callId: CallIdSchema,
    planHash: HashSchema,
    decision: Type.Enum(["allow", "deny", "expired", "unreachable"]),
    by: Type.String(),
  }),
  "tool.finished": event("tool.finished", {
    ...answering,
    callId: CallIdSchema,
    response: RecordedResponseSchema,
    summary: Type.Optional(OutputSummarySchema),
    labels: LabelsSchema,
    tokens: Count,
  }),
  /** The tool's answer is not an envelope. */
  "tool.malformed": event("tool.malformed", { ...answering, callId: CallIdSchema, problem: Type.String() }),
  /** Whether the effect happened cannot be known (crash or end of grace). */
  "effect.unknown": event("effect.unknown", { ...answering, callId: CallIdSchema }),
  "effect.resolved": event("effect.resolved", {
    ...answering,
    callId: CallIdSchema,
    decision: Type.Enum(["done", "retry", "fail", "expired"]),
    by: Type.String(),
    tokens: Count,
  }),
  "child.finished": event("child.finished", {
    ...answering,
    callId: CallIdSchema,
    childRunId: RunIdSchema,
    outcome: Type.Enum([...OUTCOMES]),
    headHash: HashSchema,
    spent: CarvedBudgetSchema,
    /** Part of what it spent has no known price; part of it is an estimate. Absent otherwise. */
    isUnpriced: Type.Optional(Type.Literal(true)),
    isEstimate: Type.Optional(Type.Literal(true)),
    response: RecordedResponseSchema,
    labels: LabelsSchema,
    tokens: Count,
  }),
  /** The home was restored from a backup, and what the run did after the backup was taken is not in the journal. */
  "run.restored": event("run.restored", { restoreId: Type.String() }),
  /** `retry`: go on from the backup. Otherwise the run ends: what it was to do has happened, or is given up. */
  "restore.resolved": event("restore.resolved", {
    ...answering,
    decision: Type.Enum(["done", "retry", "fail", "expired"]),
    by: Type.String(),
  }),
  "policy.narrowed": event("policy.narrowed", { live: LivePolicySchema }),
  "timer.fired": event("timer.fired", { timer: Type.Enum(["tool", "step", "run", "grace"]) }),
  "cancel.requested": event("cancel.requested", { by: Type.String() }),
  /** Our own code failed where it must not; the log has the error under this id. */
  "defect.found": event("defect.found", { errorId: Type.String() }),
};

export type EventType = keyof typeof EventSchemas;
export type EventOf<T extends EventType> = Static<(typeof EventSchemas)[T]>;
export type RunEvent = { [T in EventType]: EventOf<T> }[EventType];

const checks = new Map<string, ReturnType<typeof schemaCheck>>();
/** More than any schema of an event nests. */
const MAX_EVENT_DEPTH = 32;

/** Events come from our own adapters, so an invalid one is a defect; `step()` checks first. */
export function isRunEvent(candidate: RunEvent): boolean {
  const schema = Object.hasOwn(EventSchemas, candidate.type) ? EventSchemas[candidate.type] : undefined;
  if (schema === undefined) return false;
  // Compiled when first met, so that no start waits for it.
  const check = checks.get(candidate.type) ?? schemaCheck(schema);
  checks.set(candidate.type, check);
  // A stated transition must be writable later: canonical JSON has no lone surrogate and no undefined, and sums stay safe.
  return check.accepts(candidate) && jsonProblem(candidate, MAX_EVENT_DEPTH) === null;
}

/** What models were paid for with this event. */
export function usagesOf(event: RunEvent): readonly Usage[] {
  if ("usage" in event) return [event.usage];
  return event.type === "tool.finished" && event.summary !== undefined ? [event.summary.usage] : [];
}
