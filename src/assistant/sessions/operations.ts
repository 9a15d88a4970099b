/** Operations on conversations (O-5.6, O-6.2, T-1.2). */
import { type Static, Type } from "typebox";
import { AGENT_ID_PATTERN } from "../../kernel/vocabulary/agent-id.ts";
import { asSessionId, type SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { Count, closed, nullable, RunIdSchema } from "../../kernel/vocabulary/schema-primitives.ts";
import { Name, pageFields, pageOf, RunIdInput, Text } from "../../runtime/operations/input-schemas.ts";
import { type Caller, operationsOver, type Result, refuse, type Sender } from "../../runtime/operations/operation.ts";
import { RUN_STATUSES } from "../../runtime/ports/store.ts";
import type { StoredSession } from "../../runtime/ports/stored-session.ts";
import { SESSION_FORGED } from "../../runtime/sessions/session-rules.ts";
import type { Media } from "../media/media.ts";
import { RunInputSchema, type RunRequest, runRequestOf } from "../runs/run-request.ts";
import { agentIdOf } from "./agent-id-of.ts";
import type { Chat, MessageOptions, Received } from "./chat.ts";
import type { Compaction } from "./compaction.ts";
import { maySee, maySpeak, ownerOf } from "./session-owner.ts";
import { type MessageSchema, SessionIdSchema, SessionRowSchema, SessionSchema } from "./session-view.ts";
import { MAX_TITLE_CHARS, type Sessions } from "./sessions.ts";

export interface SessionServices {
  readonly sessions: Sessions;
  readonly chat: Chat;
  readonly compaction: Compaction;
  readonly media: Media;
}

const optional = Type.Optional;
const AgentId = Type.String({ pattern: AGENT_ID_PATTERN });
const SessionIdInput = Type.Unsafe<SessionId>(Type.String({ pattern: "^[\\w-]{1,128}$" }));
const ById = Type.Object({ id: SessionIdInput }, closed);
const NOT_FOR_THIS_SENDER = refuse("auth.forbidden", "your token speaks for its owner, in its own sessions only");
const OPERATOR_CHOOSES = refuse("auth.forbidden", "model and contract need a token with the scope operate");
const NO_SUCH_SESSION = refuse("not_found", "no such session");
/** Where nothing else is said: a client of the HTTP interface. */
const DEFAULT_CHANNEL = "http";

const Status = Type.Enum([...RUN_STATUSES]);
const QueuedSchema = Type.Object({ id: RunIdSchema, status: Status, session_id: SessionIdSchema });
const ResponseSchema = Type.Object({ response: Type.String(), session_id: optional(Type.String()) });
const CompactedSchema = Type.Union([Type.Object({ ...QueuedSchema.properties, turns: Count }), ResponseSchema]);
const ReceivedSchema = Type.Union([QueuedSchema, ResponseSchema]);
export type WireReceived = Static<typeof ReceivedSchema>;

/** Turns of a session's history that are shown at once, unless `limit` says otherwise. */
const SHOWN_TURNS = 100;
const MAX_SHOWN_TURNS = 500;
/** `before` is the id of a message: what was said before its turn. */
const Turns = Type.Object(
  {
    id: SessionIdInput,
    before: optional(Type.String({ pattern: "^[\\w-]{1,200}$" })),
    limit: optional(Type.Integer({ minimum: 1, maximum: MAX_SHOWN_TURNS, default: SHOWN_TURNS })),
  },
  closed,
);
const NO_SUCH_MESSAGE = refuse("not_found", "there is no such message in this session");

/** As for a run. */
const { thinking_mode, thinking_level, media, model, contract, unattended } = RunInputSchema.properties;
const MessageOptionFields = { thinking_mode, thinking_level, media, model, contract, unattended };

function messageOptionsOf(request: RunRequest): MessageOptions {
  const { thinkingMode, thinkingLevel, media, files, model, contract, isUnattended } = request;
  return {
    ...{ thinkingMode, model, contract },
    ...(thinkingLevel === undefined ? {} : { thinkingLevel }),
    ...(media === undefined ? {} : { media }),
    ...(files === undefined ? {} : { files }),
    ...(isUnattended === undefined ? {} : { isUnattended }),
  };
}

const { json } = operationsOver<SessionServices>();

export const sessionOperations = [
  json({
    name: "chat.send",
    method: "POST",
    path: "/v1/chat/messages",
    scope: "chat",
    summary: "takes a message to its sender's or room's session: a queued run, or 200 with the answer to a command",
    status: 202,
    input: Type.Object(
      {
        user_id: Name,
        room_id: optional(Name),
        agent_id: optional(AgentId),
        message: Text,
        channel: optional(Type.String({ pattern: "^[a-z][a-z0-9_-]{0,31}$" })),
        message_id: optional(Name),
        ...MessageOptionFields,
      },
      closed,
    ),
    output: ReceivedSchema,
    async call({ chat, media: uploads }, input, caller) {
      const { sender } = caller;
      const { user_id, room_id, agent_id, message, message_id, channel: named, media, ...options } = input;
      const channel = named ?? sender?.channel ?? DEFAULT_CHANNEL;
      const isOperators = options.model !== undefined || options.contract !== undefined;
      if (isOperators && !caller.scopes.has("operate")) return OPERATOR_CHOOSES;
      if (!maySpeak(sender, { channel, senderId: user_id }, room_id !== undefined)) return NOT_FOR_THIS_SENDER;
      const agentId = agentIdOf(agent_id);
      const inbound = {
        agentId,
        channel,
        senderId: user_id,
        text: message,
        // A client that posts here speaks to the assistant.
        group: room_id === undefined ? null : ({ kind: "room", id: room_id, mentioned: true } as const),
        messageId: message_id ?? null,
        isSendersId: true as const,
      };
      const carried = await uploads.carriedBy(media, caller);
      if (!carried.ok) return carried;
      const asked = runRequestOf({ agent_id: agentId, message, ...options }, caller, carried);
      return wireReceived(await chat.receive(inbound, caller, messageOptionsOf(asked)));
    },
  }),
  json({
    name: "sessions.list",
    method: "GET",
    path: "/api/sessions",
    scope: "chat",
    summary:
      "lists sessions, the one with the latest message first; `?q=` a part of title, sender, channel or key, `?limit=`, `?offset=`",
    hasEtag: true,
    input: Type.Object({ q: optional(Name), ...pageFields }, closed),
    output: Type.Object({ sessions: Type.Array(SessionRowSchema), total: Count }),
    async call({ sessions }, { q, ...page }, { sender }) {
      const filter = { ...(q === undefined ? {} : { text: q }), ...(sender === null ? {} : { owner: sender }) };
      const { sessions: rows, total } = await sessions.list(filter, pageOf(page));
      return { ok: true, value: { sessions: [...rows], total } };
    },
  }),
  json({
    name: "sessions.create",
    method: "POST",
    path: "/api/sessions",
    scope: "operate",
    summary: "begins a session of the person at this machine; messages on its channel go to it from now on",
    input: Type.Object(
      { agent_id: optional(AgentId), channel: optional(Type.Enum(["cli", "web"])), title: optional(TitleSchema()) },
      closed,
    ),
    output: SessionRowSchema,
    async call({ sessions }, { agent_id, channel = "web", title }) {
      const id = await sessions.createLocal(agentIdOf(agent_id), channel, title ?? null);
      return await withSession(sessions, id, null, (session) => sessions.row(session));
    },
  }),
  json({
    name: "sessions.get",
    method: "GET",
    path: "/api/sessions/{id}",
    scope: "chat",
    summary:
      "shows a session with its checkpoint and its messages: of the last 100 turns, or of `?limit=` turns before the message `?before=`",
    hasEtag: true,
    input: Turns,
    output: SessionSchema,
    async call({ sessions }, { id, before, limit = SHOWN_TURNS }, { sender }) {
      const session = await sessions.find(id);
      if (session === null || !maySee(sender, ownerOf(session))) return NO_SUCH_SESSION;
      const end = await sessions.positionOf(session, before);
      return end === null ? NO_SUCH_MESSAGE : { ok: true, value: await sessions.show(session, end, limit) };
    },
  }),
  json({
    name: "sessions.rename",
    method: "POST",
    path: "/api/sessions/{id}/rename",
    scope: "chat",
    summary: "gives a session a title; null takes it away",
    input: Type.Object({ id: SessionIdInput, title: nullable(TitleSchema()) }, closed),
    output: SessionRowSchema,
    call: ({ sessions }, { id, title }, { sender }) =>
      withSession(sessions, id, sender, async (session) => {
        await sessions.change(session, { title });
        return sessions.row({ ...session, title });
      }),
  }),
  json({
    name: "sessions.compact",
    method: "POST",
    path: "/api/sessions/{id}/compact",
    scope: "operate",
    summary: "condenses a session's earlier turns: a queued run, or 200 when there is nothing to condense",
    status: 202,
    input: ById,
    output: CompactedSchema,
    async call({ compaction }, { id }, { principal }: Caller) {
      const begun = await compaction.begin(asSessionId(id), principal);
      if (begun.ok) {
        const { runId, status, sessionId: session_id, turns } = begun;
        return { ok: true, value: { id: runId, status, session_id, turns } };
      }
      const { code, message: response } = begun;
      if (code === "idle") return { ok: true, status: 200, value: { response, session_id: id } };
      return refuse(code, response);
    },
  }),
  json({
    name: "sessions.send",
    method: "POST",
    path: "/api/sessions/{id}/send",
    scope: "chat",
    summary: "sends a message to a session: a queued run, or 200 with the answer to a command",
    status: 202,
    input: Type.Object(
      { id: SessionIdInput, text: Text, media, media_of: optional(RunIdInput), unattended: optional(Type.Boolean()) },
      closed,
    ),
    output: ReceivedSchema,
    async call({ sessions, chat, media: uploads }, { id, text, media: given, media_of, unattended }, caller: Caller) {
      const session = await sessions.find(id);
      // The same for one that is not there: which ids exist is not this caller's to learn.
      if (!maySee(caller.sender, session === null ? null : ownerOf(session))) return NOT_FOR_THIS_SENDER;
      if (session === null) return NO_SUCH_SESSION;
      const carried = await uploads.carriedInto(session.sessionId, { media: given, mediaOf: media_of }, caller);
      if (!carried.ok) return carried;
      const { ok: _ok, ...options } = carried;
      return wireReceived(
        await chat.send(session, text, caller, unattended === true ? { ...options, isUnattended: true } : options),
      );
    },
  }),
  json({
    name: "admin.sessions",
    method: "GET",
    path: "/api/admin/chat/sessions",
    scope: "admin",
    summary: "lists sessions by `?agent_id=`, `?user_id=`, `?room_id=` and `?channel=`; `?limit=`, `?offset=`",
    input: Type.Object(
      {
        agent_id: optional(AgentId),
        user_id: optional(Name),
        room_id: optional(Name),
        channel: optional(Name),
        ...pageFields,
      },
      closed,
    ),
    output: Type.Object({ sessions: Type.Array(SessionRowSchema), total: Count, limit: Count, offset: Count }),
    async call({ sessions }, { agent_id, user_id, room_id, channel, ...page }) {
      const filter = {
        ...(agent_id === undefined ? {} : { agentId: agentIdOf(agent_id) }),
        ...(user_id === undefined ? {} : { senderId: user_id }),
        ...(room_id === undefined ? {} : { roomId: room_id }),
        ...(channel === undefined ? {} : { channel }),
      };
      const { sessions: rows, total } = await sessions.list(filter, pageOf(page));
      return { ok: true, value: { sessions: [...rows], total, ...pageOf(page) } };
    },
  }),
  json({
    name: "admin.messages",
    method: "GET",
    path: "/api/admin/chat/sessions/{id}/messages",
    scope: "admin",
    summary:
      "shows a session's messages in order, those of tools with tool_name, tool_call_id and run_id; `?before=`, `?limit=` as above",
    input: Turns,
    output: Type.Object({ session_id: SessionIdSchema, messages: Type.Array(AdminMessageSchema()) }),
    async call({ sessions }, { id, before, limit = SHOWN_TURNS }) {
      const session = await sessions.find(id);
      if (session === null) return NO_SUCH_SESSION;
      const end = await sessions.positionOf(session, before);
      if (end === null) return NO_SUCH_MESSAGE;
      const messages = await sessions.messages(session, { after: 0, before: end }, limit);
      return { ok: true, value: { session_id: id, messages: messages.map(adminMessage) } };
    },
  }),
] as const;

function TitleSchema() {
  return Type.String({ pattern: "\\S", maxLength: MAX_TITLE_CHARS });
}

function AdminMessageSchema() {
  return Type.Object({
    id: Type.String(),
    role: Type.String(),
    content: Type.String(),
    ts: Type.String(),
    run_id: optional(RunIdSchema),
    tool_name: optional(Type.String()),
    tool_call_id: optional(Type.String()),
  });
}

function adminMessage({ id, role, content, timestamp, runId, toolResults }: Static<typeof MessageSchema>) {
  const result = toolResults?.[0];
  const tool = result === undefined ? {} : { tool_name: result.tool, tool_call_id: result.id };
  return {
    id,
    role,
    content,
    ts: new Date(timestamp).toISOString(),
    ...(runId === undefined ? {} : { run_id: runId }),
    ...tool,
  };
}

async function withSession<Value>(
  sessions: Sessions,
  id: SessionId,
  sender: Sender | null,
  use: (session: StoredSession) => Value | Promise<Value>,
): Promise<Result<Value>> {
  const session = await sessions.find(asSessionId(id));
  if (session === null || !maySee(sender, ownerOf(session))) return NO_SUCH_SESSION;
  return session.isForged ? refuse("conflict", SESSION_FORGED) : { ok: true, value: await use(session) };
}

function wireReceived(received: Received): Result<WireReceived> {
  if (!received.ok) return received;
  switch (received.kind) {
    case "run": {
      const { runId: id, status, sessionId: session_id } = received;
      return { ok: true, value: { id, status, session_id } };
    }
    case "answered": {
      const { response, sessionId } = received;
      return { ok: true, status: 200, value: { response, ...(sessionId === null ? {} : { session_id: sessionId }) } };
    }
    case "ignored":
      return { ok: true, status: 200, value: { response: "" } };
  }
}
