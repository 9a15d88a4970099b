/**
 * A channel over HTTP for any program that can sign: messages come in as signed requests to `/hooks/{name}` and go out as
 * signed requests to the configured URL (Standard Webhooks).
 *
 * W1. Nothing of a request is believed, or answered in detail, before its signature is right.
 * W2. The id of a request is the message's own id; repeated within the window or later, it is one message.
 * W3. A message goes out under its key as the request's id, so that a receiver can drop repeats.
 */
import { NOT_BELIEVED } from "../../../assistant/delivery/delivery.ts";
import { refuse } from "../../../runtime/operations/operation.ts";
import {
  type Channel,
  ChannelError,
  type HookRequest,
  type TakeMessage,
  type Taken,
} from "../../../runtime/ports/channel.ts";
import type { Clock } from "../../../runtime/ports/clock.ts";
import type { OutboundPost } from "../../../runtime/ports/outbound-post.ts";
import { newId, type RandomBytes } from "../../../runtime/ports/randomness.ts";
import { readMessage } from "./read-message.ts";
import { objectionTo, sign } from "./signature.ts";

export interface WebhookParts extends Pick<Channel, "name" | "channelClass"> {
  readonly key: Buffer;
  /** The receiver takes a repeated id for the same message. */
  readonly deduplicates: boolean;
  /** Whom the operator listed, by address; the value is their type. */
  readonly recipients: Readonly<Record<string, string>>;
  readonly isAccepted: (senderId: string) => Promise<boolean>;
  readonly post: OutboundPost;
  readonly clock: Pick<Clock, "nowMs">;
  readonly random: RandomBytes;
}

const MAX_BODY_BYTES = 1_048_576;
/** Answered before anything was taken. */
const NOT_NOW: readonly number[] = [429, 503];
/** Answered by something on the way, or after a crash of the receiver: it may have been taken. */
const WHO_KNOWS: readonly number[] = [408, 500, 502, 504];

export function webhookChannel(parts: WebhookParts): Channel {
  const { name, channelClass, key, deduplicates, recipients, isAccepted, post, clock, random } = parts;
  let take: TakeMessage = () => Promise.resolve(refuse("store.unavailable", "this channel is not open; retry"));

  const receive = async ({ headers, body }: HookRequest): Promise<Taken> => {
    const { "webhook-id": id = "", "webhook-timestamp": timestamp = "", "webhook-signature": signature = "" } = headers;
    const objection = objectionTo(key, { id, timestamp, signature }, body, clock.nowMs());
    if (objection === "expired") {
      return refuse("auth.forbidden", "webhook-timestamp is more than 5 minutes from now: sign the message again");
    }
    if (objection !== null) return NOT_BELIEVED;
    const read = readMessage(body, name);
    return read.ok ? await take({ messageId: id, ...read.message }) : refuse("invalid.request", read.problem);
  };

  return {
    name,
    channelClass,
    recipientHint: "the id of a sender who was accepted, or a listed recipient",
    idempotency: deduplicates ? "keyed" : "opaque",
    async findRecipient(text) {
      if (Object.hasOwn(recipients, text)) return { address: text, type: recipients[text] ?? "contact" };
      return (await isAccepted(text)) ? { address: text, type: "contact" } : null;
    },
    async send({ recipient, text, templateId, attachments, idempotencyKey }, signal) {
      const id = idempotencyKey ?? newId("msg", random);
      const nowMs = clock.nowMs();
      const payload = {
        channel: name,
        recipientId: recipient.address,
        recipientType: recipient.type,
        text,
        templateId,
        attachments: attachments.map((each) => ({ name: each.name, data: Buffer.from(each.bytes).toString("base64") })),
      };
      const body = JSON.stringify({ id, type: "agent.response", timestamp: nowMs, payload });
      if (Buffer.byteLength(body) > MAX_BODY_BYTES) {
        throw new ChannelError("channel.refused", `The message is larger than ${MAX_BODY_BYTES} bytes: shorten it.`);
      }
      const timestamp = String(Math.floor(nowMs / 1000));
      const { status } = await post({
        body,
        signal,
        headers: {
          "content-type": "application/json",
          "webhook-id": id,
          "webhook-timestamp": timestamp,
          "webhook-signature": sign(key, id, timestamp, body),
        },
      });
      if (status >= 200 && status < 300) return;
      throw new ChannelError(codeOf(status), `The receiver answered HTTP ${status}.`);
    },
    listen: (listener) => {
      take = listener;
    },
    receive,
  };
}

function codeOf(status: number): ChannelError["code"] {
  if (NOT_NOW.includes(status)) return "channel.unavailable";
  return WHO_KNOWS.includes(status) ? "channel.unknown" : "channel.refused";
}
