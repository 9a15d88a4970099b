/** What a watcher of a run gets, and how it looks as a server-sent event. */
import { type Static, Type } from "typebox";
import { type LifecycleEvent, LifecycleEventSchema } from "../../kernel/journal/views/lifecycle-events.ts";
import { Count } from "../../kernel/vocabulary/schema-primitives.ts";
import type { Frame } from "../../runtime/operations/operation.ts";
import type { ToolOutput } from "../../runtime/tools/release-output.ts";

export type RunUpdate =
  | { readonly kind: "event"; readonly event: LifecycleEvent }
  /** Live only, like all below. A new `attempt` voids the text of earlier ones. */
  | { readonly kind: "delta"; readonly attempt: number; readonly offset: number; readonly text: string }
  | ({ readonly kind: "output" } & ToolOutput)
  /** The provider failed and asked for this pause before the next try. */
  | { readonly kind: "wait"; readonly code: string; readonly waitMs: number };

const DeltaSchema = Type.Object({ attempt: Count, offset: Count, text: Type.String() });
const ToolStreamSchema = Type.Object({
  step: Count,
  call_id: Type.String(),
  stream: Type.Enum(["stdout", "stderr"]),
  offset: Count,
  text: Type.String(),
});
const ModelWaitSchema = Type.Object({ code: Type.String(), wait_ms: Count });

export const LAST_EVENTS = ["run.completed", "run.failed", "run.cancelled"] as const;
const LIFECYCLE_EVENTS = [
  "run.created",
  "run.started",
  "model.requested",
  "tool.call",
  "tool.result",
  ...LAST_EVENTS,
] as const satisfies readonly LifecycleEvent["event_type"][];

export const RUN_EVENT_SCHEMAS = {
  ...Object.fromEntries(LIFECYCLE_EVENTS.map((name) => [name, LifecycleEventSchema])),
  delta: DeltaSchema,
  "tool.stream": ToolStreamSchema,
  "model.wait": ModelWaitSchema,
};

export function encodeUpdate(update: RunUpdate): Frame {
  switch (update.kind) {
    case "event":
      return { event: update.event.event_type, id: update.event.seq, data: update.event };
    case "delta": {
      const { attempt, offset, text } = update;
      return { event: "delta", id: null, data: { attempt, offset, text } };
    }
    case "output": {
      const { step, callId, stream, offset, text } = update;
      return { event: "tool.stream", id: null, data: { step, call_id: callId, stream, offset, text } };
    }
    case "wait":
      return { event: "model.wait", id: null, data: { code: update.code, wait_ms: update.waitMs } };
  }
}

export function decodeUpdate(event: string, data: unknown): RunUpdate {
  switch (event) {
    case "delta":
      return { kind: "delta", ...(data as Static<typeof DeltaSchema>) };
    case "tool.stream": {
      const { call_id: callId, ...rest } = data as Static<typeof ToolStreamSchema>;
      return { kind: "output", callId, ...rest };
    }
    case "model.wait": {
      const { code, wait_ms: waitMs } = data as Static<typeof ModelWaitSchema>;
      return { kind: "wait", code, waitMs };
    }
    default:
      return { kind: "event", event: data as LifecycleEvent };
  }
}
