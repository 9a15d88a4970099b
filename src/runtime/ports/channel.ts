/**
 * A channel the agent can send messages on.
 *
 * The channel resolves a recipient and its type; a model's claim about either is ignored. `send` resolves when the channel
 * has taken over the message, and rejects with a `ChannelError` whose code says whether anything may have been sent. A
 * `keyed` channel sends one message per key, however often it is asked; an `opaque` one sends every time.
 */
import type { Hash } from "../../kernel/vocabulary/identifiers.ts";

export interface Recipient {
  /** In the channel's form; shown to the approver and covered by the approval. */
  readonly address: string;
  /** A word of the channel, such as `contact`. */
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
  /** The same for every repeat of one message; null on an `opaque` channel. */
  readonly idempotencyKey: Hash | null;
}

export interface Channel {
  readonly name: string;
  /** The form of a recipient: `an e-mail address`. */
  readonly recipientHint: string;
  readonly idempotency: "keyed" | "opaque";
  /** Null when the text names no recipient of this channel. Sends nothing. */
  findRecipient(text: string): Promise<Recipient | null>;
  send(message: OutboundMessage, signal: AbortSignal): Promise<void>;
}

export type ChannelErrorCode =
  /** Nothing was sent: the channel does not accept this message. */
  | "channel.refused"
  /** Nothing was sent; a retry may help. */
  | "channel.unavailable"
  /** It may have been sent. */
  | "channel.unknown";

/** The message says what to do; it holds neither secrets nor the text of the message. */
export class ChannelError extends Error {
  override readonly name = "ChannelError";
  readonly code: ChannelErrorCode;
  constructor(code: ChannelErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
