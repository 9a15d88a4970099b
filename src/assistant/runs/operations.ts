/** Operations on runs (O-5; design §7, HTTP and WebSocket). */
import { Type } from "typebox";
import { STATES } from "../../kernel/journal/entry.ts";
import { RunRecordSchema } from "../../kernel/journal/views/run-record.ts";
import type { RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { Count, closed, nullable, RunIdSchema } from "../../kernel/vocabulary/schema-primitives.ts";
import { Name, pageFields, pageOf, RunIdInput } from "../../runtime/operations/input-schemas.ts";
import { operationsOver, refuse } from "../../runtime/operations/operation.ts";
import { RUN_STATUSES } from "../../runtime/ports/store.ts";
import type { Media } from "../media/media.ts";
import type { Assistant } from "./open-assistant.ts";
import { ManifestSchema } from "./prompt-manifest.ts";
import { RunInputSchema, runRequestOf } from "./run-request.ts";
import { decodeUpdate, encodeUpdate, LAST_EVENTS, RUN_EVENT_SCHEMAS } from "./run-updates.ts";

export interface RunServices {
  readonly assistant: Assistant;
  readonly media: Media;
}

const Status = Type.Enum([...RUN_STATUSES]);
const NO_SUCH_RUN = refuse("not_found", "no such run");
const ById = Type.Object({ id: RunIdInput }, closed);

/** The record, and what a list shows beside it. */
const RunRowSchema = Type.Object(
  {
    ...RunRecordSchema.properties,
    created_at: Type.String(),
    prompt: nullable(Type.String()),
    state: Type.Enum([...STATES]),
  },
  closed,
);

/** As `surety verify` reads it; kernel/journal/bundle.ts checks every part. */
const BundleSchema = Type.Object({
  format: Type.String(),
  contract: Type.Object({}),
  entries: Type.Array(Type.Object({})),
  bodies: Type.Unknown(),
  public_key: Type.String(),
  signature: Type.String(),
});

const { json, document, stream } = operationsOver<RunServices>();

export const runOperations = [
  json({
    name: "runs.list",
    method: "GET",
    path: "/v1/runs",
    scope: "operate",
    summary:
      "lists runs, newest first; `?status=`, `?agent=`, `?session=`, `?text=` (in the message or the id), `?limit=` (50, at most 500), `?offset=`",
    hasEtag: true,
    input: Type.Object(
      {
        status: Type.Optional(Status),
        agent: Type.Optional(Name),
        session: Type.Optional(Type.Unsafe<SessionId>(Name)),
        text: Type.Optional(Name),
        ...pageFields,
      },
      closed,
    ),
    output: Type.Object({ runs: Type.Array(RunRowSchema), total: Count, limit: Count, offset: Count }),
    async call({ assistant }, input) {
      const page = pageOf(input);
      const { status, agent, session, text } = input;
      const { runs, total } = await assistant.runs({
        ...page,
        ...(status === undefined ? {} : { status }),
        ...(agent === undefined ? {} : { agentId: agent }),
        ...(session === undefined ? {} : { sessionId: session }),
        ...(text === undefined ? {} : { text }),
      });
      return { ok: true, value: { runs: [...runs], total, ...page } };
    },
  }),
  json({
    name: "runs.create",
    method: "POST",
    path: "/v1/runs",
    scope: "operate",
    summary: "accepts a run and answers once it is durable",
    status: 202,
    takesIdempotencyKey: true,
    input: RunInputSchema,
    output: Type.Object({ id: RunIdSchema, status: Status, session_id: Type.Unsafe<SessionId>(Type.String()) }),
    async call({ assistant, media: uploads }, { media, ...input }, caller) {
      const carried = await uploads.carriedBy(media, caller);
      if (!carried.ok) return carried;
      const submitted = await assistant.submit(runRequestOf(input, caller, carried));
      if (!submitted.ok) return submitted;
      const { runId: id, status, sessionId: session_id, isRepeat: isReplay } = submitted;
      return { ok: true, value: { id, status, session_id }, isReplay };
    },
  }),
  json({
    name: "runs.get",
    method: "GET",
    path: "/v1/runs/{id}",
    scope: "chat",
    summary: "shows a run's record with its trace, its answer and, once it has ended, a signed receipt",
    hasEtag: true,
    input: ById,
    output: RunRecordSchema,
    async call({ assistant }, { id }, { sender }) {
      const record = await assistant.run(id, sender);
      return record === null ? NO_SUCH_RUN : { ok: true, value: record };
    },
  }),
  json({
    name: "runs.manifest",
    method: "GET",
    path: "/v1/runs/{id}/manifest",
    scope: "operate",
    summary:
      "shows what a run's model is sent: layers in their order with ids, hashes and token counts, and what was left out",
    input: ById,
    output: ManifestSchema,
    async call({ assistant }, { id }) {
      const read = await assistant.manifest(id);
      return read.ok ? { ok: true, value: read.manifest } : read;
    },
  }),
  stream({
    name: "runs.events",
    method: "GET",
    path: "/v1/runs/{id}/events",
    scope: "chat",
    summary: "streams a run as server-sent events (below)",
    input: ById,
    events: RUN_EVENT_SCHEMAS,
    lastEvents: LAST_EVENTS,
    async open({ assistant }, { id }, after, signal, { sender }) {
      if (sender !== null && (await assistant.run(id, sender)) === null) return NO_SUCH_RUN;
      if (after !== null && !/^[0-9]{1,15}$/.test(after)) {
        return refuse("invalid.request", "Last-Event-ID must be the number of an event");
      }
      const afterSeq = Number(after ?? 0);
      const isOver = afterSeq > 0 && (await hasNothingAfter(assistant, id, afterSeq));
      const updates = await assistant.watch(id, afterSeq, isOver ? AbortSignal.abort() : signal);
      return updates === null ? NO_SUCH_RUN : { ok: true, updates, isOver };
    },
    encode: encodeUpdate,
    decode: decodeUpdate,
  }),
  json({
    name: "runs.cancel",
    method: "POST",
    path: "/v1/runs/{id}/cancel",
    scope: "chat",
    summary: "asks a run to stop: it ends INTERRUPTED, a queued one at once; an ended run keeps its outcome",
    status: 202,
    input: ById,
    output: Type.Object({ id: RunIdSchema, status: Status }),
    async call({ assistant }, { id }, { principal, sender }) {
      if (sender !== null && (await assistant.run(id, sender)) === null) return NO_SUCH_RUN;
      const cancelled = await assistant.cancel(id, principal);
      return cancelled.ok ? { ok: true, value: { id, status: cancelled.status } } : cancelled;
    },
  }),
  document({
    name: "runs.bundle",
    method: "GET",
    path: "/v1/runs/{id}/bundle",
    scope: "operate",
    summary: "exports an ended run as one signed document, for `surety verify`",
    input: ById,
    output: BundleSchema,
    async call({ assistant }, { id }) {
      const bundle = await assistant.bundle(id);
      return bundle.ok ? { ok: true, value: bundle.text } : bundle;
    },
  }),
] as const;

/** After an empty stream a browser reconnects forever; after a 204 it does not. */
async function hasNothingAfter(assistant: Assistant, id: RunId, seq: number): Promise<boolean> {
  const record = await assistant.run(id);
  if (record === null || record.outcome === null) return false;
  for await (const _ of (await assistant.watch(id, seq, new AbortController().signal)) ?? []) return false;
  return true;
}
