/**
 * Chat takes a message from a channel to its session: answers a command at once, or hands the message on as a run of that
 * session. A message that comes twice under the channel's own id, or under its sender's, is one message.
 */
import { isAgentId } from "../../kernel/vocabulary/agent-id.ts";
import type { RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { ChannelClass } from "../../kernel/vocabulary/risk.ts";
import { type Refusal, refuse, type Scope } from "../../runtime/operations/operation.ts";
import type { RunStatus, Store } from "../../runtime/ports/store.ts";
import type { StoredSession } from "../../runtime/ports/stored-session.ts";
import { SESSION_FORGED } from "../../runtime/sessions/session-rules.ts";
import type { Assistant } from "../runs/open-assistant.ts";
import type { RunRequest } from "../runs/run-request.ts";
import { type ChatCommand, parseChatCommand } from "./chat-command.ts";
import {
  type Activation,
  type Identity,
  type InboundMessage,
  isAddressed,
  type Route,
  routeOf,
} from "./inbound-message.ts";
import { type ChatCommandParts, runChatCommand } from "./run-chat-command.ts";
import { type SenderLimit, tooFast } from "./sender-limit.ts";
import { directKey, sessionKeyParts } from "./session-key.ts";

export interface ChatParts extends ChatCommandParts {
  readonly store: Pick<Store, "findRunByMessage" | "openRunsOf">;
  readonly assistant: Pick<Assistant, "submit" | "cancel">;
  readonly identities: readonly Identity[];
  readonly activation: (channel: string) => Activation;
  readonly channelClass: (channel: string) => ChannelClass;
  readonly limit: SenderLimit;
  /** A new message was taken. */
  readonly onMessage?: (message: Pick<InboundMessage, "channel" | "senderId" | "messageId">) => void;
}

/** Who brought the message, as authenticated by the channel or the token. */
export interface Bearer {
  readonly principal: string;
  readonly source: string;
  /** A sender on a channel has none. */
  readonly scopes: ReadonlySet<Scope>;
}

export type MessageOptions = Partial<
  Pick<
    RunRequest,
    | "thinkingMode"
    | "thinkingLevel"
    | "media"
    | "files"
    | "contract"
    | "approvedTools"
    | "model"
    | "isUnattended"
    | "reply"
  >
>;

export type Received =
  | {
      readonly ok: true;
      readonly kind: "run";
      readonly runId: RunId;
      readonly status: RunStatus;
      readonly sessionId: SessionId;
    }
  | { readonly ok: true; readonly kind: "answered"; readonly response: string; readonly sessionId: string | null }
  /** Said in a group, and not to the assistant. */
  | { readonly ok: true; readonly kind: "ignored" }
  | Refusal;

export class Chat {
  readonly #parts: ChatParts;

  constructor(parts: ChatParts) {
    this.#parts = parts;
  }

  async receive(message: InboundMessage, bearer: Bearer, options: MessageOptions = {}): Promise<Received> {
    const { activation, store, limit, onMessage } = this.#parts;
    const problem = originProblem(message) ?? this.#optionsProblem(message, options);
    if (problem !== null) return refuse("invalid.request", problem);
    const { channel, senderId, messageId } = message;
    if (!isAddressed(message, activation(channel))) return { ok: true, kind: "ignored" };
    const waitS = limit.take(`${channel}:${senderId}`);
    if (waitS > 0) return tooFast(waitS);
    const inbound = inboundOf(message);
    const earlier = inbound === null ? null : await store.findRunByMessage(inbound.channel, inbound.messageId);
    if (earlier !== null && inbound?.key === null) return { ok: true, kind: "run", ...earlier };
    if (earlier !== null && this.#commandIn(message) !== null) return ANOTHER_MESSAGE;
    const received = await this.#route(message, bearer, options);
    if (received.ok) onMessage?.({ channel, senderId, messageId });
    return received;
  }

  /** Senders from outside choose neither the model nor the terms. */
  #optionsProblem({ channel }: InboundMessage, { model, contract, thinkingLevel }: MessageOptions): string | null {
    const isPlain = (model ?? null) === null && thinkingLevel === undefined && Object.keys(contract ?? {}).length === 0;
    if (isPlain || this.#parts.channelClass(channel) === "cli_local") return null;
    return "model, thinking_level and contract are for local channels: leave them out";
  }

  async #route(message: InboundMessage, bearer: Bearer, options: MessageOptions): Promise<Received> {
    const { identities, sessions } = this.#parts;
    const { channel } = message;
    const route = routeOf(message, identities);
    const session = await sessions.findByKey(route.key);
    const command = this.#commandIn(message);
    if (command !== null) {
      const { principal } = bearer;
      const isOperator = this.#parts.channelClass(channel) === "cli_local" && bearer.scopes.has("operate");
      const origin = { ...route, agentId: message.agentId, channel, principal, isOperator, session };
      return { ok: true, kind: "answered", ...(await runChatCommand(this.#parts, command, origin)) };
    }
    return await this.#submit(message, route, session, bearer, options);
  }

  /** A mail is a letter: what it begins with is no command. */
  #commandIn({ channel, text }: InboundMessage): ChatCommand | null {
    return this.#parts.channelClass(channel) === "external_email" ? null : parseChatCommand(text);
  }

  /** To a session that is known by its id: from the operator, or from its sender, who is then no one else by this way. */
  async send(session: StoredSession, text: string, bearer: Bearer, options: MessageOptions = {}): Promise<Received> {
    if (session.isForged) return refuse("conflict", SESSION_FORGED);
    const { agentId, channel, senderId } = session;
    const isOperator = bearer.scopes.has("operate");
    const waitS = isOperator ? 0 : this.#parts.limit.take(`${channel}:${senderId}`);
    if (waitS > 0) return tooFast(waitS);
    const key = directKey(session);
    const command = parseChatCommand(text);
    if (command !== null) {
      const { principal } = bearer;
      const origin = { agentId, channel, key, senderId, principal, isOperator, session };
      return { ok: true, kind: "answered", ...(await runChatCommand(this.#parts, command, origin)) };
    }
    const place = isOperator ? {} : { channelClass: this.#parts.channelClass(channel) };
    return await this.#run(agentId, text, { sessionId: session.sessionId, ...place }, bearer, options);
  }

  #submit(
    message: InboundMessage,
    { key, senderId }: Route,
    session: StoredSession | null,
    bearer: Bearer,
    options: MessageOptions,
  ): Promise<Received> {
    const { agentId, channel, text } = message;
    const place =
      session !== null
        ? { sessionId: session.sessionId }
        : {
            sessionId: null,
            begins: { session: this.#parts.sessions.draft({ agentId, key, channel, senderId }), isRouted: true },
          };
    const known = inboundOf(message);
    const inbound =
      known === null
        ? {}
        : { inbound: { channel: known.channel, messageId: known.messageId }, idempotencyKey: known.key };
    const channelClass = this.#parts.channelClass(channel);
    return this.#run(agentId, text, { ...place, ...inbound, channelClass }, bearer, options);
  }

  async #run(
    agentId: string,
    message: string,
    place: Pick<RunRequest, "sessionId" | "begins" | "inbound" | "channelClass"> &
      Partial<Pick<RunRequest, "idempotencyKey">>,
    { principal, source }: Bearer,
    options: MessageOptions,
  ): Promise<Received> {
    const request: RunRequest = {
      ...{ agentId, message, source, principal, idempotencyKey: null, contract: {}, approvedTools: [] },
      ...{ thinkingMode: null, model: null },
      ...place,
      ...options,
    };
    const submitted = await this.#parts.assistant.submit(request);
    if (submitted.ok) {
      const { runId, status, sessionId } = submitted;
      return { ok: true, kind: "run", runId, status, sessionId };
    }
    const { inbound, idempotencyKey } = request;
    if (idempotencyKey !== null) return submitted.code === "conflict" ? ANOTHER_MESSAGE : submitted;
    // The same message at the same time: the other one won.
    const twin =
      inbound === undefined || submitted.code !== "conflict"
        ? null
        : await this.#parts.store.findRunByMessage(inbound.channel, inbound.messageId);
    return twin === null ? submitted : { ok: true, kind: "run", ...twin };
  }
}

const ANOTHER_MESSAGE = refuse("conflict", "this message_id was used for another message of this sender or room");

/** What makes a message one message. `key`: the id is its sender's, so with another text it is refused; null: the channel's. */
function inboundOf({ channel, senderId, group, messageId, isSendersId }: InboundMessage) {
  if (messageId === null) return null;
  if (isSendersId !== true) return { channel, messageId, key: null };
  const place = sessionKeyParts(group === null ? ["dm", senderId] : [group.kind, group.id, senderId]);
  // No header can hold a line break: a key of POST /v1/runs is never one of these.
  return { channel, messageId: `${place}:${messageId}`, key: `chat\n${channel}\n${place}:${messageId}` };
}

/** The seeds' agent ids, channels and senders are words and numbers; what cannot be one is refused before it is stored. */
const CHANNEL = /^[a-z][a-z0-9_-]{0,31}$/;
const MAX_ID_CHARS = 512;

export function originProblem({
  agentId,
  channel,
  accountId = "default",
  senderId,
  group,
}: Omit<InboundMessage, "text" | "messageId">): string | null {
  if (!isAgentId(agentId)) return "agent_id must consist of lower-case letters, digits, - and _";
  if (!CHANNEL.test(channel)) return "channel must consist of lower-case letters, digits, - and _";
  const ids = [accountId, senderId, ...(group === null ? [] : [group.id])];
  const isBad = (id: string): boolean =>
    id.trim() === "" || id.length > MAX_ID_CHARS || /\p{Cc}/u.test(id) || !id.isWellFormed();
  return ids.some(isBad) ? `an id must have 1 to ${MAX_ID_CHARS} characters and no control characters` : null;
}
