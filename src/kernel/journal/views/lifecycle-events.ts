/**
 * Lifecycle events (O-2.1): what a run goes through, for streams, audit logs and run bundles, as refs and metadata.
 * `seq` counts from 1 without gaps, and a journal that grew only appends events: a stream resumes by seq.
 */
import { type Static, Type } from "typebox";
import { terminalStatus } from "../../vocabulary/outcome.ts";
import { Count, closed, nullable } from "../../vocabulary/schema-primitives.ts";
import type { Entry, EntryOf } from "../entry.ts";
import { LabelsSchema } from "../event.ts";
import type { Lookup } from "./body-content.ts";
import { callInWords, explainCall } from "./call-explanation.ts";
import { thoughtsRefOf } from "./run-record.ts";
import { runTimeline, type TimelineItem } from "./run-timeline.ts";

const Text = Type.String();

const event = <const Name extends string, Fields extends Parameters<typeof Type.Object>[0]>(
  name: Name,
  payload: Fields,
) =>
  Type.Object(
    {
      event_id: Text,
      event_type: Type.Literal(name),
      ts: Text,
      run_id: Text,
      agent_id: Text,
      seq: Type.Integer({ minimum: 1 }),
      payload: Type.Object(payload, closed),
    },
    closed,
  );

const terminal = { outcome: Text, reason: nullable(Text), answer_ref: nullable(Text), head_hash: Text };

export const LifecycleEventSchema = Type.Union([
  event("run.created", { session_id: Text, principal: Text, message_ref: nullable(Text), contract_hash: Text }),
  event("run.started", {
    checks: Type.Array(Type.Object({ check: Text, failure: nullable(Text) }, closed)),
  }),
  event("model.requested", {
    step_id: Text,
    attempt: Count,
    mode: Text,
    prompt_head: Text,
    max_output_tokens: Count,
    constraint_hash: Text,
    /** What the model thought, where content may be shown and the run's `thinking_mode` is `always`. */
    thoughts: Type.Optional(Text),
  }),
  event("tool.call", {
    step_id: Text,
    call_id: Text,
    tool: Text,
    args_ref: Text,
    plan_hash: nullable(Text),
    policy_id: Text,
    decision: Type.Enum(["allow", "deny"]),
    approval: nullable(Type.Object({ id: Text, decision: Text, by: Text }, closed)),
    /** Tool and arguments in one line, where content may be shown: not in audit logs. */
    shown: Type.Optional(Text),
  }),
  event("tool.result", {
    step_id: Text,
    call_id: Text,
    tool: Text,
    ok: Type.Boolean(),
    /** What ended the call: the tool's own answer, a refusal, a timer … */
    ended_by: Text,
    output_ref: nullable(Text),
    output_bytes: Count,
    truncated: Type.Boolean(),
    /** Of the output, where content may be shown. */
    labels: Type.Optional(LabelsSchema),
    duration_ms: Type.Number({ minimum: 0 }),
    /** Where content may be shown, the message says why and what to do. */
    error: nullable(
      Type.Object(
        {
          ...{ code: Text, message: Text, message_ref: nullable(Text), retryable: Type.Boolean() },
          /** Outcome `unknown`: the call may have taken effect. The tool's own details are behind the ref. */
          details: Type.Object({ outcome: Type.Optional(Type.Literal("unknown")) }, closed),
          details_ref: nullable(Text),
        },
        closed,
      ),
    ),
    child: nullable(Type.Object({ run_id: Text, outcome: Text, head_hash: Text }, closed)),
  }),
  event("run.completed", terminal),
  event("run.failed", terminal),
  event("run.cancelled", terminal),
]);
export type LifecycleEvent = Static<typeof LifecycleEventSchema>;

export function lifecycleEvents(entries: readonly Entry[]): readonly LifecycleEvent[] {
  return runTimeline(entries).map((item) => lifecycleEvent(item));
}

/** With a lookup, for those who may see content: what was called and why it failed, in words. */
export function lifecycleEvent(item: TimelineItem, lookup: Lookup | null = null): LifecycleEvent {
  const { runId, ts } = item.entry;
  const { seq, agentId } = item;
  return { event_id: `evt_${runId}_${seq}`, ts, run_id: runId, agent_id: agentId, seq, ...whatHappened(item, lookup) };
}

type WhatHappened<Event = LifecycleEvent> = Event extends LifecycleEvent
  ? Pick<Event, "event_type" | "payload">
  : never;

function whatHappened(item: TimelineItem, lookup: Lookup | null): WhatHappened {
  const { stepId } = item.entry;
  switch (item.kind) {
    case "created": {
      const { principal, messageRef, contractHash } = item.entry.decided;
      return {
        event_type: "run.created",
        payload: { session_id: item.sessionId, principal, message_ref: messageRef, contract_hash: contractHash },
      };
    }
    case "started": {
      const checks = item.entry.decided.verdicts.map(({ check, failure }) => ({ check, failure }));
      return { event_type: "run.started", payload: { checks } };
    }
    case "asked": {
      const { attempt, mode, promptHead, maxOutputTokens, constraintHash } = item.entry.decided;
      const thoughtsRef = thoughtsRefOf(item.entry);
      const thoughts = thoughtsRef === null ? null : (lookup?.(thoughtsRef) ?? null);
      return {
        event_type: "model.requested",
        payload: {
          step_id: stepId,
          attempt,
          mode,
          prompt_head: promptHead,
          max_output_tokens: maxOutputTokens,
          constraint_hash: constraintHash,
          ...(thoughts === null ? {} : { thoughts }),
        },
      };
    }
    case "called": {
      const { callId, tool, argsRef, planHash, policyId, decision } = item.call;
      const { approval } = item;
      return {
        event_type: "tool.call",
        payload: {
          step_id: stepId,
          call_id: callId,
          tool,
          args_ref: argsRef,
          plan_hash: planHash,
          policy_id: policyId,
          decision,
          approval: approval && { id: approval.approvalId, decision: approval.decision, by: approval.by },
          ...(lookup === null ? {} : { shown: callInWords(item.call, lookup) }),
        },
      };
    }
    case "call-ended": {
      const { ok, endedBy, outputRef, outputBytes, truncated, labels, durationMs, error, child } = item.outcome;
      const message = (lookup && explainCall(item, lookup)?.message) ?? error?.message ?? "";
      return {
        event_type: "tool.result",
        payload: {
          step_id: stepId,
          call_id: item.call.callId,
          tool: item.call.tool,
          ok,
          ended_by: endedBy,
          output_ref: outputRef,
          output_bytes: outputBytes,
          truncated,
          ...(lookup === null || labels === undefined ? {} : { labels }),
          duration_ms: durationMs,
          error: error && {
            ...{ code: error.code, message, message_ref: error.messageRef },
            ...{ retryable: error.retryable, details: error.details, details_ref: error.detailsRef },
          },
          child: child && { run_id: child.runId, outcome: child.outcome, head_hash: child.headHash },
        },
      };
    }
    case "ended":
      return ending(item.entry);
  }
}

function ending({ decided, result, hash }: EntryOf<"TERMINATE">): WhatHappened {
  const { outcome, reason } = decided;
  const answerRef = result?.type === "run.answered" ? result.ref : null;
  return {
    event_type: `run.${terminalStatus(outcome)}`,
    payload: { outcome, reason, answer_ref: answerRef, head_hash: hash },
  };
}
