/** The payload of a `channel.message` (T-1), by itself or in its envelope. What it does not know it ignores. */
import { type JsonValue, parseJson } from "../../../kernel/vocabulary/parse-json.ts";
import type { ChannelMessage } from "../../../runtime/ports/channel.ts";

export type ReadMessage =
  | { readonly ok: true; readonly message: Omit<ChannelMessage, "messageId"> }
  | { readonly ok: false; readonly problem: string };

type Fields = Readonly<Record<string, JsonValue | undefined>>;

export function readMessage(body: string, channel: string): ReadMessage {
  const parsed = parseJson(body);
  if (!parsed.ok) return refused(`the body is not valid JSON: ${parsed.problem} (at character ${parsed.at})`);
  const outer = fieldsOf(parsed.value);
  if (outer === null) return refused("the body must be a JSON object");
  const isEnvelope = outer["payload"] !== undefined;
  if (isEnvelope && outer["type"] !== "channel.message") return refused("type must be channel.message");
  const payload = isEnvelope ? fieldsOf(outer["payload"]) : outer;
  if (payload === null) return refused("payload must be an object");
  return readPayload(payload, channel);
}

function readPayload(payload: Fields, channel: string): ReadMessage {
  const { senderId, senderName = null, text, groupId = null, isGroup = groupId !== null, mentioned = false } = payload;
  if ((payload["channel"] ?? channel) !== channel) return refused(`channel must be ${channel}, or be left out`);
  if (typeof senderId !== "string") return refused("senderId must be a string");
  if (typeof text !== "string") return refused("text must be a string");
  if (senderName !== null && typeof senderName !== "string") return refused("senderName must be a string or null");
  if (typeof isGroup !== "boolean" || typeof mentioned !== "boolean")
    return refused("isGroup and mentioned must be booleans");
  if ((payload["media"] ?? null) !== null) return refused("media is not taken on this channel: send text");
  const sender = { senderId, senderName, text };
  if (!isGroup) return { ok: true, message: { ...sender, group: null } };
  if (typeof groupId !== "string") return refused("groupId must be a string when isGroup is true");
  return { ok: true, message: { ...sender, group: { id: groupId, mentioned } } };
}

function fieldsOf(value: JsonValue | undefined): Fields | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

function refused(problem: string): ReadMessage {
  return { ok: false, problem };
}
