/**
 * Takes what a client says over the WebSocket to where it belongs: a message to its conversation, an answer to its question.
 *
 * R1. Who speaks follows from the connection. A message that names another sender is refused, not corrected.
 * R2. The holder of the home's own token speaks for the person at this machine, and relays senders of other channels that
 *     were accepted there, by their exact id. A name that is shown counts for nothing.
 * R3. The same message sent again is the same message: by id, time and sender.
 */
import type { WsInbound } from "../../kernel/journal/views/websocket-messages.ts";
import { asApprovalId, asHash } from "../../kernel/vocabulary/identifiers.ts";
import type { ChannelClass } from "../../kernel/vocabulary/risk.ts";
import type { Approvals } from "../../runtime/approvals/approvals.ts";
import { approvalOperations } from "../../runtime/approvals/operations.ts";
import { type Caller, type Refusal, refuse, type Sender } from "../../runtime/operations/operation.ts";
import type { Pairing } from "../delivery/pairing.ts";
import type { Media } from "../media/media.ts";
import { agentIdOf } from "../sessions/agent-id-of.ts";
import type { Chat, Received } from "../sessions/chat.ts";
import { sessionKeyParts } from "../sessions/session-key.ts";
import { maySpeak } from "../sessions/session-owner.ts";
import type { Content } from "./message-broadcaster.ts";

export interface ReceiverParts {
  readonly chat: Pick<Chat, "receive">;
  readonly approvals: Pick<Approvals, "decide">;
  readonly media: Pick<Media, "take">;
  readonly pairing: Pick<Pairing, "isAccepted">;
  readonly channelClass: (channel: string) => ChannelClass;
}

type Payload = WsInbound["payload"];

const DEFAULT_CHANNEL = "web";
/** Where the person at this machine is not named. */
const DEFAULT_SENDER = "operator";

/** What is answered to the client itself; what becomes of a run is broadcast. */
export async function receiveMessage(
  parts: ReceiverParts,
  { id, timestamp, payload }: WsInbound,
  caller: Caller,
): Promise<readonly Content[]> {
  const { action } = payload;
  const answer =
    action === null || action === undefined
      ? await converse(parts, payload, `${id}@${timestamp}`, caller)
      : await decide(parts, action, caller);
  if (answer === null) return [];
  if (answer.ok) return answersTo(answer, id);
  const { code, message, retryAfterSeconds } = answer;
  const wait = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  return [{ type: "error", payload: { code, message, messageId: id, ...wait } }];
}

async function converse(parts: ReceiverParts, payload: Payload, key: string, caller: Caller): Promise<Received> {
  const sender = await senderOf(parts, payload, caller);
  if (sender === null) {
    return refuse("auth.forbidden", "this connection may not speak for this sender: see docs/http.md, WebSocket");
  }
  const { text, agentId, isGroup, groupId } = payload;
  if (!maySpeak(caller.sender, sender, isGroup === true)) {
    return refuse("auth.forbidden", "this token speaks for its owner alone, and in no group");
  }
  if (typeof text !== "string" || text.trim() === "") return refuse("invalid.request", "payload.text is required");
  if (isGroup === true && typeof groupId !== "string") {
    return refuse("invalid.request", "payload.groupId is required in a group");
  }
  const inbound = {
    agentId: agentIdOf(agentId ?? undefined),
    ...sender,
    text,
    // A client that sends this speaks to the assistant.
    group: isGroup === true ? ({ kind: "group", id: groupId ?? "", mentioned: true } as const) : null,
    // No other sender's message has the same one.
    messageId: sessionKeyParts([sender.senderId, key]),
  };
  const taken = await parts.media.take(payload.media, caller);
  if (!taken.ok) return taken;
  const { ok: _ok, ...media } = taken;
  return await parts.chat.receive(inbound, { ...caller, source: "websocket" }, media);
}

/** Null: the connection may not speak for the sender that the message names. */
async function senderOf(
  { pairing, channelClass }: ReceiverParts,
  { channel, senderId }: Payload,
  { sender }: Caller,
): Promise<Sender | null> {
  if (sender !== null) {
    const isSame = (channel ?? sender.channel) === sender.channel && (senderId ?? sender.senderId) === sender.senderId;
    return isSame ? sender : null;
  }
  const named = { channel: channel ?? DEFAULT_CHANNEL, senderId: senderId ?? DEFAULT_SENDER };
  if (named.senderId === "") return null;
  const isHere = channelClass(named.channel) === "cli_local";
  return isHere || (await pairing.isAccepted(named.channel, named.senderId)) ? named : null;
}

const [{ scope: SCOPE_TO_DECIDE }] = approvalOperations.filter(({ name }) => name === "approvals.decide") as [
  (typeof approvalOperations)[number],
];

async function decide(
  { approvals }: ReceiverParts,
  { approval_id, plan_hash, decision }: NonNullable<Payload["action"]>,
  { scopes, principal }: Caller,
): Promise<Refusal | null> {
  if (!scopes.has(SCOPE_TO_DECIDE)) {
    return refuse("auth.forbidden", `this connection lacks the scope ${SCOPE_TO_DECIDE}`);
  }
  const verdict = { id: asApprovalId(approval_id), planHash: asHash(plan_hash), decision, principal };
  const decided = await approvals.decide(verdict);
  return decided.ok ? null : decided;
}

function answersTo(received: Extract<Received, { readonly ok: true }>, messageId: string): readonly Content[] {
  switch (received.kind) {
    case "run": {
      const { sessionId, runId } = received;
      return [{ type: "session.resumed", payload: { sessionId, runId, messageId } }];
    }
    case "answered": {
      const { sessionId, response: content } = received;
      const none = { sessionId, runId: null };
      return [
        { type: "agent.response", payload: { ...none, content } },
        { type: "agent.response.end", payload: { ...none, outcome: null, digest: null, receipt: null } },
      ];
    }
    case "ignored":
      return [];
  }
}
