/** Audit events (O-3.1): the lifecycle events with their actor, one JSON line each, one file per agent and UTC day. */
import { type Static, Type } from "typebox";
import type { JsonValue } from "../../vocabulary/parse-json.ts";
import { closed } from "../../vocabulary/schema-primitives.ts";
import type { Entry } from "../entry.ts";
import { lifecycleEvent } from "./lifecycle-events.ts";
import { runTimeline } from "./run-timeline.ts";

export const AuditEventSchema = Type.Object(
  {
    event_id: Type.String(),
    event_type: Type.String(),
    ts: Type.String(),
    run_id: Type.String(),
    agent_id: Type.String(),
    actor: Type.String(),
    seq: Type.Integer({ minimum: 1 }),
    /** The lifecycle event's payload, unless redaction changed it. */
    payload: Type.Record(Type.String(), Type.Unknown()),
    redactions: Type.Array(Type.String()),
  },
  closed,
);
export type AuditEvent = Static<typeof AuditEventSchema>;

/** Replaces what is sensitive; `paths` are the places it replaced, from the payload on (`approval.by`). */
export type RedactPayload = (payload: JsonValue) => { readonly value: JsonValue; readonly paths: readonly string[] };

export function auditEvents(entries: readonly Entry[], redact: RedactPayload = redactNothing): readonly AuditEvent[] {
  return runTimeline(entries).map((moment) => {
    const event = lifecycleEvent(moment);
    const { value, paths } = redact(event.payload);
    const redactions = paths.map((path) => `payload.${path}`);
    return { ...event, actor: moment.entry.actor, payload: value as AuditEvent["payload"], redactions };
  });
}

/** Where an audit line belongs, relative to the home. `ts` is RFC 3339 in UTC, so its date is the UTC day. */
export function auditFileOf(agentId: string, ts: string): string {
  return `agents/${agentId}/audit/${ts.slice(0, "YYYY-MM-DD".length)}.jsonl`;
}

function redactNothing(payload: JsonValue): ReturnType<RedactPayload> {
  return { value: payload, paths: [] };
}
