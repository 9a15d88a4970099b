/**
 * A channel the agent can send messages on.
 *
 * C1. Who is meant, and what kind of recipient that is, the channel says; a model's word about it counts for nothing.
 * C2. `send` resolves when the channel has taken the message over, and rejects with a `ChannelError`, whose code says
 *     whether anything can have gone out.
 * C3. A `keyed` channel sends one message a key, however often it is asked to. An `opaque` one sends each time.
 */
import type { Hash } from "../../kernel/vocabulary/identifiers.ts";

export interface Recipient {
  /** As the channel addresses it; shown to an approver, and what an approval is bound to. */
  readonly address: string;
  /** One of the channel's own words, such as `contact`. */
  readonly type: string;
}

export interface Attachment {
  readonly name: string;
  readonly bytes: Uint8Array;
}

export interface OutboundMessage {
  readonly recipient: Recipient;
  readonly text: string;
  readonly templateId: string | null;
  readonly attachments: readonly Attachment[];
  /** The same for every repeat of one message; null where the channel is `opaque`. */
  readonly idempotencyKey: Hash | null;
}

export interface Channel {
  readonly name: string;
  /** What a recipient looks like: `an e-mail address`. */
  readonly recipientHint: string;
  readonly idempotency: "keyed" | "opaque";
  /** Null when it is no recipient of this channel. Nothing is sent to find out. */
  findRecipient(text: string): Promise<Recipient | null>;
  send(message: OutboundMessage, signal: AbortSignal): Promise<void>;
}

export type ChannelErrorCode =
  /** Nothing went out, and nothing will: the channel does not take this message. */
  | "channel.refused"
  /** Nothing went out; trying again may help. */
  | "channel.unavailable"
  /** It may have gone out. */
  | "channel.unknown";

/** Every way a channel refuses; the message says what to do, and holds neither secrets nor the text. */
export class ChannelError extends Error {
  override readonly name = "ChannelError";
  readonly code: ChannelErrorCode;
  constructor(code: ChannelErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
