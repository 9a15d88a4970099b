/**
 * A channel: messages come in on it, and the agent can send on it.
 *
 * Inbound, the channel proves where a message comes from and gives it the channel's own id. It acknowledges a message when
 * the listener has taken it, and not before: what was not taken comes again.
 *
 * Outbound, the channel resolves a recipient and its type; a model's claim about either is ignored. `send` resolves when the channel
 * has taken over the message, and rejects with a `ChannelError` whose code says whether anything may have been sent. A
 * `keyed` channel sends one message per key, however often it is asked; an `opaque` one sends every time.
 */
import type { ChannelClass } from "../../kernel/vocabulary/risk.ts";
import type { Refusal } from "../operations/operation.ts";

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
  /** The same for every repeat of one message; null where it is sent once. */
  readonly idempotencyKey: string | null;
}

/** A message as it came in. */
export interface ChannelMessage {
  /** The channel's own id: the same whenever the message comes again. */
  readonly messageId: string;
  readonly senderId: string;
  readonly senderName: string | null;
  readonly text: string;
  /** Null: a direct message. */
  readonly group: { readonly id: string; readonly mentioned: boolean } | null;
}

/** A refused message is not acknowledged. */
export type Taken = { readonly ok: true } | Refusal;
export type TakeMessage = (message: ChannelMessage) => Promise<Taken>;

/** An HTTP request as it came; nothing about it is proven. */
export interface HookRequest {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

export interface Channel {
  readonly name: string;
  readonly channelClass: Exclude<ChannelClass, "cli_local">;
  /** The form of a recipient: `an e-mail address`. */
  readonly recipientHint: string;
  readonly idempotency: "keyed" | "opaque";
  /** Null when the text names no recipient of this channel. Sends nothing. */
  findRecipient(text: string): Promise<Recipient | null>;
  send(message: OutboundMessage, signal: AbortSignal): Promise<void>;
  /** Hands every message to `take` from now on. */
  listen(take: TakeMessage): void;
  /** Its messages come as HTTP requests to `/hooks/{name}`: proves one, and takes its message. */
  readonly receive?: (request: HookRequest) => Promise<Taken>;
}

/** Where the answer of a run is delivered. */
export interface ReplyAddress {
  readonly channel: string;
  readonly channelClass: ChannelClass;
  readonly recipient: Recipient;
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
