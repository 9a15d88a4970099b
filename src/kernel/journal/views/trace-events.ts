/**
 * The trace (S-6.1): one line per event, refs and metadata. Every llm_req has its llm_done, whatever ended the wait;
 * every tool_start its tool_done. `llm_stream` is the summary of a stream; deltas are live only.
 */
import { type Static, Type } from "typebox";
import type { CallId } from "../../vocabulary/identifiers.ts";
import { Count, closed, nullable } from "../../vocabulary/schema-primitives.ts";
import { type Entry, type EntryOf, eventsOf } from "../entry.ts";
import type { EventOf } from "../event.ts";
import { abandonedOutcome, type CallOutcome, observedOutcome } from "./call-outcome.ts";
import { acceptedOf } from "./run-timeline.ts";
import { unixMsOf } from "./unix-time.ts";

const Text = Type.String();

const event = <const Kind extends string, Fields extends Parameters<typeof Type.Object>[0]>(kind: Kind, data: Fields) =>
  Type.Object(
    {
      ts: Type.Number(),
      kind: Type.Literal(kind),
      data: Type.Object({ run_id: Text, step_id: Text, ...data }, closed),
    },
    closed,
  );

export const TraceEventSchema = Type.Union([
  event("retrieval", { items: Type.Array(Type.Object({ id: Text, score: Type.Number() }, closed)) }),
  event("llm_req", { attempt: Count, mode: Text, prompt_head: Text, max_output_tokens: Count, constraint_hash: Text }),
  event("llm_stream", { chunks: Count, chars: Count, first_ms: Count, last_ms: Count }),
  event("llm_done", {
    /** The event that ended the wait: `model.answered`, `model.failed`, `timer.fired` … */
    ended_by: Text,
    adapter: nullable(Type.Object({ status: Text, failure_code: nullable(Text), version: Text }, closed)),
    code: nullable(Text),
    message_ref: nullable(Text),
    raw_hash: nullable(Text),
    calls: Count,
    input_tokens: Count,
    output_tokens: Count,
    cost_microusd: Count,
    stop_reason: nullable(Text),
    fingerprint: Text,
  }),
  event("notes_patch", {
    status: Type.Enum(["applied", "malformed"]),
    ref: nullable(Text),
    /** Absent: none. */
    unknown_keys: Type.Optional(Count),
  }),
  event("actions", { actions: Type.Array(Type.Object({ action: Text, status: Text }, closed)) }),
  event("tool_plan", {
    calls: Type.Array(
      Type.Object(
        {
          call_id: Text,
          tool: Text,
          args_ref: Text,
          plan_hash: nullable(Text),
          policy_id: Text,
          decision: Type.Enum(["allow", "deny"]),
          refusal_code: nullable(Text),
        },
        closed,
      ),
    ),
  }),
  event("tool_start", {
    call_id: Text,
    tool: Text,
    args_ref: Text,
    plan_hash: Text,
    idempotency: Text,
    approval_id: nullable(Text),
    shared_by: Type.Array(Text),
    child_run_id: nullable(Text),
  }),
  event("tool_done", {
    call_id: Text,
    tool: Text,
    shared_by: Type.Array(Text),
    ok: Type.Boolean(),
    ended_by: Text,
    code: nullable(Text),
    output_ref: nullable(Text),
    output_bytes: Count,
    truncated: Type.Boolean(),
    duration_ms: Type.Number({ minimum: 0 }),
  }),
]);
export type TraceEvent = Static<typeof TraceEventSchema>;

type DataOf<Kind extends TraceEvent["kind"]> = Omit<Extract<TraceEvent, { kind: Kind }>["data"], "run_id" | "step_id">;

export function traceEvents(entries: readonly Entry[]): readonly TraceEvent[] {
  const running = new Map<CallId, EntryOf<"EXECUTE">>();
  const events: TraceEvent[] = [];
  for (const entry of entries) {
    events.push(...eventsAt(entry, running));
    if (entry.kind === "EXECUTE") running.set(entry.decided.callId, entry);
    if (entry.kind === "OBSERVE") running.delete(entry.decided.callId);
  }
  return events;
}

function eventsAt(entry: Entry, running: ReadonlyMap<CallId, EntryOf<"EXECUTE">>): readonly TraceEvent[] {
  switch (entry.kind) {
    case "run.created":
      return retrieval(entry);
    case "INFER":
      return inference(entry);
    case "VALIDATE_CALLS":
      return entry.decided.calls.length === 0 ? [] : [plan(entry)];
    case "EXECUTE":
      return [start(entry)];
    case "OBSERVE": {
      const execution = running.get(entry.decided.callId);
      return execution === undefined
        ? []
        : [done(entry, execution, observedOutcome(entry.result, entry.decided.error))];
    }
    case "COMMIT":
      return [...running.values()].map((execution) => done(entry, execution, abandonedOutcome()));
    case "TERMINATE":
      return [];
  }
}

function retrieval(entry: EntryOf<"run.created">): readonly TraceEvent[] {
  const accepted = acceptedOf([entry]);
  if (accepted === null) return [];
  return [at({ ...entry, ts: accepted.ts }, "retrieval", { items: accepted.retrieved })];
}

function inference(entry: EntryOf<"INFER">): readonly TraceEvent[] {
  const { attempt, mode, promptHead, maxOutputTokens, constraintHash } = entry.decided;
  const request = at(entry, "llm_req", {
    attempt,
    mode,
    prompt_head: promptHead,
    max_output_tokens: maxOutputTokens,
    constraint_hash: constraintHash,
  });
  const answer = eventsOf(entry).find((heard) => heard.type === "model.answered");
  return answer === undefined ? [request, unanswered(entry)] : [request, ...answered(entry, answer)];
}

function answered(entry: EntryOf<"INFER">, answer: EventOf<"model.answered">): readonly TraceEvent[] {
  const { stream, adapter, usage, notes } = answer;
  const events = [
    at(entry, "llm_stream", {
      chunks: stream.chunks,
      chars: stream.chars,
      first_ms: stream.firstMs,
      last_ms: stream.lastMs,
    }),
    at(entry, "llm_done", {
      ended_by: answer.type,
      adapter: { status: adapter.status, failure_code: adapter.failureCode, version: adapter.version },
      code: null,
      message_ref: answer.messageRef,
      raw_hash: answer.rawHash,
      calls: answer.calls.length,
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
      cost_microusd: usage.costMicrousd,
      stop_reason: answer.stopReason,
      fingerprint: answer.fingerprint,
    }),
  ];
  if (notes === null) return events;
  const { status, ref, unknownKeys } = notes;
  const unknown = unknownKeys === undefined ? {} : { unknown_keys: unknownKeys };
  events.push(at(entry, "notes_patch", { status, ref, ...unknown }));
  if (notes.actions.length > 0) events.push(at(entry, "actions", { actions: notes.actions }));
  return events;
}

/** The provider failed, or something else ended the wait: a timer, a cancellation, a context that could not be made to fit. */
function unanswered(entry: EntryOf<"INFER">): TraceEvent {
  const { result } = entry;
  const usage = result?.type === "model.failed" || result?.type === "context.compacted" ? result.usage : null;
  return at(entry, "llm_done", {
    ended_by: result?.type ?? "",
    adapter: null,
    code: result?.type === "model.failed" ? result.code : null,
    message_ref: null,
    raw_hash: null,
    calls: 0,
    input_tokens: usage?.inputTokens ?? 0,
    output_tokens: usage?.outputTokens ?? 0,
    cost_microusd: usage?.costMicrousd ?? 0,
    stop_reason: null,
    fingerprint: "",
  });
}

function plan(entry: EntryOf<"VALIDATE_CALLS">): TraceEvent {
  return at(entry, "tool_plan", {
    calls: entry.decided.calls.map((call) => ({
      call_id: call.callId,
      tool: call.tool,
      args_ref: call.argsRef,
      plan_hash: call.planHash,
      policy_id: call.policyId,
      decision: call.decision,
      refusal_code: call.refusal?.code ?? null,
    })),
  });
}

function start(entry: EntryOf<"EXECUTE">): TraceEvent {
  const { callId, tool, argsRef, planHash, idempotency, approvalId, sharedBy, child } = entry.decided;
  return at(entry, "tool_start", {
    call_id: callId,
    tool,
    args_ref: argsRef,
    plan_hash: planHash,
    idempotency,
    approval_id: approvalId,
    shared_by: sharedBy,
    child_run_id: child?.runId ?? null,
  });
}

function done(entry: Entry, { decided }: EntryOf<"EXECUTE">, outcome: CallOutcome): TraceEvent {
  return at(entry, "tool_done", {
    call_id: decided.callId,
    tool: decided.tool,
    shared_by: decided.sharedBy,
    ok: outcome.ok,
    ended_by: outcome.endedBy,
    code: outcome.error?.code ?? null,
    output_ref: outcome.outputRef,
    output_bytes: outcome.outputBytes,
    truncated: outcome.truncated,
    duration_ms: outcome.durationMs,
  });
}

function at<Kind extends TraceEvent["kind"]>(
  { ts, runId, stepId }: Pick<Entry, "ts" | "runId" | "stepId">,
  kind: Kind,
  data: DataOf<Kind>,
): TraceEvent {
  return {
    ts: (unixMsOf(ts) ?? 0) / 1000,
    kind,
    data: { run_id: runId, step_id: stepId, ...data },
  } as unknown as TraceEvent;
}
