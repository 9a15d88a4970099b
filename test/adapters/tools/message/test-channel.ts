/** A channel that remembers what it was given to send. A recipient is `type:name`; `nobody` is none. */
import { type Channel, ChannelError, type OutboundMessage } from "../../../../src/runtime/ports/channel.ts";

export interface TestChannel extends Channel {
  readonly sent: readonly OutboundMessage[];
  /** What becomes of the next messages. */
  conduct: (message: OutboundMessage, signal: AbortSignal) => Promise<void>;
}

export function testChannel(given: Partial<Pick<Channel, "name" | "idempotency">> = {}): TestChannel {
  const sent: OutboundMessage[] = [];
  const keys = new Set<string>();
  const channel: TestChannel = {
    name: "post",
    channelClass: "external_message",
    recipientHint: "type:name",
    idempotency: "opaque",
    sent,
    conduct: () => Promise.resolve(),
    findRecipient: (text) => {
      const [type = "", name = ""] = text.split(":");
      return Promise.resolve(name === "" || name === "nobody" ? null : { address: name, type });
    },
    async send(message, signal) {
      await channel.conduct(message, signal);
      const { idempotencyKey } = message;
      if (idempotencyKey !== null && keys.has(idempotencyKey)) return;
      if (idempotencyKey !== null) keys.add(idempotencyKey);
      sent.push(message);
    },
    listen: () => {},
    ...given,
  };
  return channel;
}

export function failing(code: ChannelError["code"]): TestChannel["conduct"] {
  return () => Promise.reject(new ChannelError(code, "The post office is closed."));
}
