/**
 * Audit events (O-3.1): the lifecycle events with their actor, one JSON line each, one file per agent and UTC day. Where
 * bodies can be looked up, a `tool.call` carries its input as well, at most 2 kB of it. Everything in a journal was
 * redacted before it was recorded; `redactions` lists the paths of what stands in its place (O-3.2).
 */
import { type Static, Type } from "typebox";
import { markerPaths } from "../../redaction/redaction-marker.ts";
import type { JsonValue } from "../../vocabulary/parse-json.ts";
import { closed } from "../../vocabulary/schema-primitives.ts";
import type { Entry } from "../entry.ts";
import { argsOf, type Lookup } from "./body-content.ts";
import { lifecycleEvent } from "./lifecycle-events.ts";
import { runTimeline, type TimelineItem } from "./run-timeline.ts";

export const AuditEventSchema = Type.Object(
  {
    event_id: Type.String(),
    event_type: Type.String(),
    ts: Type.String(),
    run_id: Type.String(),
    agent_id: Type.String(),
    actor: Type.String(),
    seq: Type.Integer({ minimum: 1 }),
    /** The lifecycle event's payload; with `input` for a call whose arguments can be looked up. */
    payload: Type.Record(Type.String(), Type.Unknown()),
    redactions: Type.Array(Type.String()),
  },
  closed,
);
export type AuditEvent = Static<typeof AuditEventSchema>;

const MAX_INPUT_BYTES = 2_048;
/** Long strings are cut to the first of these lengths that fits. */
const STRING_CHARS = [1_000, 250, 60, 15] as const;
const CUT = "[cut]";

export function auditEvents(entries: readonly Entry[], lookup: Lookup | null = null): readonly AuditEvent[] {
  return runTimeline(entries).map((item) => {
    const event = lifecycleEvent(item);
    const payload = { ...event.payload, ...inputOf(item, lookup) };
    const redactions = markerPaths(payload as unknown as JsonValue, "payload");
    return { ...event, actor: item.entry.actor, payload, redactions: [...redactions] };
  });
}

/** Where an audit line belongs, relative to the home. `ts` is RFC 3339 in UTC, so its date is the UTC day. */
export function auditFileOf(agentId: string, ts: string): string {
  return `agents/${agentId}/audit/${ts.slice(0, "YYYY-MM-DD".length)}.jsonl`;
}

/** Arguments that were erased are left out: their ref stays. */
function inputOf(item: TimelineItem, lookup: Lookup | null): { readonly input?: JsonValue } {
  if (item.kind !== "called" || lookup === null || lookup(item.call.argsRef) === null) return {};
  const whole = argsOf(item.call.argsRef, lookup) as JsonValue;
  const candidates = [whole, ...STRING_CHARS.map((chars) => withCutStrings(whole, chars))];
  return { input: candidates.find(fits) ?? { [CUT]: true } };
}

function fits(input: JsonValue): boolean {
  const text = JSON.stringify(input);
  return text.length <= MAX_INPUT_BYTES && new TextEncoder().encode(text).length <= MAX_INPUT_BYTES;
}

function withCutStrings(value: JsonValue, chars: number): JsonValue {
  if (typeof value === "string") {
    return value.length <= chars ? value : `${value.slice(0, chars).toWellFormed()}… ${CUT}`;
  }
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((item: JsonValue) => withCutStrings(item, chars));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withCutStrings(item, chars)]));
}
