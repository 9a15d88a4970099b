/** What a watcher of a run gets, and how it looks as a server-sent event. */
import { Type } from "typebox";
import { type LifecycleEvent, LifecycleEventSchema } from "../../kernel/journal/views/lifecycle-events.ts";
import { Count } from "../../kernel/vocabulary/schema-primitives.ts";
import { fromWire, toWire } from "../../kernel/vocabulary/wire-case.ts";
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

const EVENT_OF = { delta: "delta", output: "tool.stream", wait: "model.wait" } as const;

export function encodeUpdate(update: RunUpdate): Frame {
  if (update.kind === "event")
    return { event: update.event.event_type, id: String(update.event.seq), data: update.event };
  const { kind, ...data } = update;
  return { event: EVENT_OF[kind], id: null, data: toWire(data) };
}

export function decodeUpdate(event: string, data: unknown): RunUpdate {
  const live = Object.entries(EVENT_OF).find(([, name]) => name === event);
  if (live === undefined) return { kind: "event", event: data as LifecycleEvent };
  return { kind: live[0], ...fromWire(data as object) } as RunUpdate;
}
