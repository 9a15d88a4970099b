/**
 * Journal entries: one per transition, what was decided and what the world answered, as refs and metadata. An entry
 * holds the events that led to it: earlier ones in `decided.heard`, the one that ended the wait as `result`. So
 * `eventsOf` over all entries gives back the run's history, and folding it gives the same bytes.
 */
import { type Static, Type } from "typebox";
import { PREFLIGHT_CHECKS } from "../contract/preflight.ts";
import { OUTCOMES } from "../vocabulary/outcome.ts";
import { IDEMPOTENCY_CLASSES } from "../vocabulary/risk.ts";
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
import { STATE_OF } from "./entry-encoding.ts";
import { type EventOf, EventSchemas, type EventType, LabelsSchema, PlannedCallSchema, type RunEvent } from "./event.ts";

export const STATES = ["PRECHECK", "INFER", "VALIDATE_CALLS", "EXECUTE", "OBSERVE", "COMMIT", "TERMINATE"] as const;
export type MachineState = (typeof STATES)[number];

/**
 * How the model is asked: as usual, to repair a malformed answer, to recover from failing tools, to wrap up, or to review its
 * own draft.
 */
export const INFER_MODES = ["normal", "repair", "recovery", "synthesis", "critique"] as const;
export type InferMode = (typeof INFER_MODES)[number];

const AnyEvent = Type.Union(Object.values(EventSchemas));
const heard = { heard: Type.Unsafe<readonly RunEvent[]>(Type.Array(AnyEvent)) };

export const BudgetSchema = Type.Object(
  {
    inferences: Count,
    formatRetries: Count,
    tokens: Count,
    toolOutputBytes: Count,
    spendMicrousd: Count,
    /** Calls performed, failed ones too. */
    performed: Count,
    succeeded: Count,
  },
  closed,
);
export type Budget = Static<typeof BudgetSchema>;
export const NOTHING_SPENT: Budget = {
  inferences: 0,
  formatRetries: 0,
  tokens: 0,
  toolOutputBytes: 0,
  spendMicrousd: 0,
  performed: 0,
  succeeded: 0,
};

export const RecoverySchema = Type.Object(
  { active: Type.Boolean(), failuresInARow: Count, failuresInRecovery: Count, successesInARow: Count },
  closed,
);
export type Recovery = Static<typeof RecoverySchema>;

const DecidedCall = Type.Object(
  {
    callId: CallIdSchema,
    tool: Type.String(),
    argsRef: BodyRefSchema,
    planHash: nullable(HashSchema),
    policyId: Type.String(),
    decision: Type.Enum(["allow", "deny"]),
    approvalId: nullable(ApprovalIdSchema),
    /** The error the model gets when the call is denied. */
    refusal: nullable(
      Type.Object({ code: Type.String(), message: Type.String(), messageRef: nullable(BodyRefSchema) }, closed),
    ),
  },
  closed,
);
export type DecidedCall = Static<typeof DecidedCall>;

const Verdict = Type.Object(
  { check: Type.Enum([...PREFLIGHT_CHECKS]), failure: nullable(Type.String()), detail: Type.String() },
  closed,
);

/** The error (O-1.3) of an effect whose result is never learned. */
const UnknownEffectSchema = Type.Object(
  {
    code: Type.Literal("internal.error"),
    retryable: Type.Literal(false),
    details: Type.Object({ outcome: Type.Literal("unknown") }, closed),
  },
  closed,
);
export type UnknownEffect = Static<typeof UnknownEffectSchema>;
export const UNKNOWN_EFFECT: UnknownEffect = {
  code: "internal.error",
  retryable: false,
  details: { outcome: "unknown" },
};

export const DecidedSchemas = {
  "run.created": Type.Object(
    {
      messageRef: nullable(BodyRefSchema),
      principal: Type.String(),
      contractHash: HashSchema,
      verdicts: Type.Array(Verdict),
      ...heard,
    },
    closed,
  ),
  INFER: Type.Object(
    {
      promptHead: HashSchema,
      attempt: Count,
      mode: Type.Enum([...INFER_MODES]),
      maxOutputTokens: Count,
      constraintHash: HashSchema,
      ...heard,
    },
    closed,
  ),
  VALIDATE_CALLS: Type.Object({ calls: Type.Array(DecidedCall), ...heard }, closed),
  EXECUTE: Type.Object(
    {
      callId: CallIdSchema,
      tool: Type.String(),
      argsRef: BodyRefSchema,
      planHash: HashSchema,
      idempotency: Type.Enum([...IDEMPOTENCY_CLASSES]),
      idempotencyKey: nullable(HashSchema),
      approvalId: nullable(ApprovalIdSchema),
      /** Identical read-only calls of the batch that this one execution answers too. */
      sharedBy: Type.Array(CallIdSchema),
      child: PlannedCallSchema.properties.child,
    },
    closed,
  ),
  OBSERVE: Type.Object(
    {
      callId: CallIdSchema,
      planHash: HashSchema,
      sharedBy: Type.Array(CallIdSchema),
      /** Present if the call may have taken effect, and no one will learn whether it did. */
      error: Type.Optional(UnknownEffectSchema),
      ...heard,
    },
    closed,
  ),
  COMMIT: Type.Object(
    {
      budget: BudgetSchema,
      recovery: RecoverySchema,
      /** How often the newest call or pair of calls has repeated itself with the same result. */
      cycle: Count,
      promptTokens: Count,
      /** Validated calls that were not performed, with the rule that refused them; null if the turn ended early. */
      skipped: Type.Array(Type.Object({ callId: CallIdSchema, policyId: nullable(Type.String()) }, closed)),
      next: Type.Enum(["INFER", "TERMINATE"]),
      ...heard,
    },
    closed,
  ),
  TERMINATE: Type.Object(
    {
      outcome: Type.Enum([...OUTCOMES]),
      reason: nullable(Type.String()),
      /** The failing calls an escalation reports (O-2.3). */
      attempts: Type.Array(
        Type.Object(
          {
            tool: Type.String(),
            argsRef: BodyRefSchema,
            code: nullable(Type.String()),
            messageRef: nullable(BodyRefSchema),
            outputRef: nullable(BodyRefSchema),
          },
          closed,
        ),
      ),
    },
    closed,
  ),
};
export type EntryKind = keyof typeof DecidedSchemas;
export type DecidedOf<K extends EntryKind> = Static<(typeof DecidedSchemas)[K]>;

const { approvalId, callId, decision, by } = EventSchemas["approval.decided"].properties;

/** The conclusion of an entry that no single event states. */
const ConclusionSchemas = {
  "approvals.given": Type.Object(
    {
      type: Type.Literal("approvals.given"),
      approvals: Type.Array(Type.Object({ approvalId, callId, decision, by }, closed)),
    },
    closed,
  ),
  "call.abandoned": Type.Object({ type: Type.Literal("call.abandoned") }, closed),
  "run.answered": Type.Object({ type: Type.Literal("run.answered"), ref: BodyRefSchema }, closed),
};
export type Conclusion = Static<(typeof ConclusionSchemas)[keyof typeof ConclusionSchemas]>;

/** An event as a result: its time is the entry's. */
export type Answer = { [T in EventType]: Omit<EventOf<T>, "ts" | "elapsedMs"> }[EventType];
export type Result = Answer | Conclusion | null;

const AnswerSchemas = Object.values(EventSchemas).map(({ properties: { ts: _ts, elapsedMs: _elapsedMs, ...answer } }) =>
  Type.Object(answer, closed),
);
const ResultSchema = Type.Unsafe<Result>(
  Type.Union([Type.Null(), ...Object.values(ConclusionSchemas), ...AnswerSchemas]),
);

const frame = {
  runId: RunIdSchema,
  seq: Type.Integer({ minimum: 1 }),
  ts: Type.String(),
  elapsedMs: Count,
  stepId: Type.String(),
  actor: Type.String(),
  labels: LabelsSchema,
  result: ResultSchema,
  actionHash: HashSchema,
  resultHash: HashSchema,
  contractHash: HashSchema,
  adapterVersion: Type.String(),
  modelProfileId: Type.String(),
  modelFingerprint: Type.String(),
  prev: HashSchema,
  hash: HashSchema,
};
type EntryFrame = Static<ReturnType<typeof Type.Object<typeof frame>>>;

export function entrySchemaOf(kind: EntryKind) {
  const state = Type.Literal(STATE_OF[kind]);
  return Type.Object({ ...frame, state, kind: Type.Literal(kind), decided: DecidedSchemas[kind] }, closed);
}

export type EntryOf<K extends EntryKind> = Readonly<EntryFrame> & {
  readonly kind: K;
  readonly state: (typeof STATE_OF)[K];
  readonly decided: DecidedOf<K>;
};
export type Entry = { [K in EntryKind]: EntryOf<K> }[EntryKind];

export function eventsOf(entry: Entry): readonly RunEvent[] {
  const earlier = "heard" in entry.decided ? entry.decided.heard : [];
  const { result } = entry;
  if (result === null || !isAnswer(result)) return earlier;
  return [...earlier, { ...result, ts: entry.ts, elapsedMs: entry.elapsedMs } as RunEvent];
}

function isAnswer(result: Answer | Conclusion): result is Answer {
  return Object.hasOwn(EventSchemas, result.type);
}
