/**
 * Inbox takes what comes in on channels.
 *
 * I1. What is acknowledged is durable, and known by the channel's own id: as a run, as an answered command, as a stranger's
 *     message, or as one that was not for the assistant. A refused message leaves nothing and may come again.
 * I2. A stranger reaches no session and no model.
 * I3. Messages of one sender are taken one after the other, so a message that comes twice at once is one message.
 */
import { refuse, type Scope } from "../../runtime/operations/operation.ts";
import type { ChannelMessage, ReplyAddress, Taken } from "../../runtime/ports/channel.ts";
import { type Clock, timestampOf } from "../../runtime/ports/clock.ts";
import { type Store, StoreError } from "../../runtime/ports/store.ts";
import type { DeliveryWrite, InboxRow } from "../../runtime/ports/stored-delivery.ts";
import { type Chat, originProblem } from "../sessions/chat.ts";
import { type Activation, type InboundMessage, isAddressed } from "../sessions/inbound-message.ts";
import { type SenderLimit, tooFast } from "../sessions/sender-limit.ts";
import type { Pairing } from "./pairing.ts";

/** A channel as configured. */
export interface ChannelPlace {
  readonly name: string;
  readonly channelClass: ReplyAddress["channelClass"];
  readonly agentId: string;
  readonly activation: Activation;
}

export interface InboxParts {
  readonly store: Pick<Store, "commit" | "findInbound">;
  readonly clock: Pick<Clock, "nowMs">;
  readonly chat: Pick<Chat, "receive">;
  readonly pairing: Pairing;
  readonly limit: SenderLimit;
  /** Something waits in the outbox. */
  readonly onOutbound: () => void;
}

const NO_SCOPES: ReadonlySet<Scope> = new Set();
const MAX_MESSAGE_ID_CHARS = 256;

export class Inbox {
  readonly #parts: InboxParts;
  /** By sender, the end of its last message. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(parts: InboxParts) {
    this.#parts = parts;
  }

  take(place: ChannelPlace, message: ChannelMessage): Promise<Taken> {
    const key = `${place.name}:${message.senderId}`;
    const turn = (this.#turns.get(key) ?? Promise.resolve()).then(() => this.#take(place, message));
    const ended = turn
      .catch(() => {})
      .then(() => {
        if (this.#turns.get(key) === ended) this.#turns.delete(key);
      });
    this.#turns.set(key, ended);
    return turn;
  }

  async #take(place: ChannelPlace, message: ChannelMessage): Promise<Taken> {
    const { store, pairing } = this.#parts;
    const { messageId, senderId } = message;
    if (messageId.trim() === "" || messageId.length > MAX_MESSAGE_ID_CHARS || !messageId.isWellFormed()) {
      return refuse("invalid.request", "a message needs an id of at most 256 characters");
    }
    const inbound = inboundOf(place, message);
    // Before anything is looked up: an id that cannot be one is no sender's, accepted or not.
    const problem = originProblem(inbound);
    if (problem !== null) return refuse("invalid.request", problem);
    if ((await store.findInbound(place.name, messageId)) !== null) return TAKEN;
    if (await pairing.isAccepted(place.name, senderId)) return await this.#receive(place, message, inbound);
    if (!isAddressed(inbound, place.activation)) return await this.#note(place, message, "ignored");
    return await this.#meet(place, message);
  }

  async #receive(place: ChannelPlace, message: ChannelMessage, inbound: InboundMessage): Promise<Taken> {
    const { senderId, group, messageId } = message;
    const { name: channel, channelClass } = place;
    const recipient = group === null ? { address: senderId, type: "contact" } : { address: group.id, type: "group" };
    const reply = { channel, channelClass, recipient };
    const bearer = { principal: `${channel}:${senderId}`, source: channel, scopes: NO_SCOPES };
    const received = await this.#parts.chat.receive(inbound, bearer, { reply });
    if (!received.ok) return received;
    if (received.kind === "run") return TAKEN;
    if (received.kind === "ignored") return await this.#note(place, message, "ignored");
    const text = received.response;
    return await this.#note(place, message, "answered", [this.#answer(place, messageId, recipient, text)]);
  }

  /** A stranger gets a code, once; what was said is not kept. */
  async #meet(place: ChannelPlace, message: ChannelMessage): Promise<Taken> {
    const { pairing, limit } = this.#parts;
    const { senderId, senderName, messageId } = message;
    const waitS = limit.take(`${place.name}:${senderId}`);
    if (waitS > 0) return tooFast(waitS);
    const asked = await pairing.request({ channel: place.name, senderId }, senderName);
    if (asked === null) return await this.#note(place, message, "unpaired");
    // Mail goes out by a person's decision, and the operator sees the code in the list.
    const isTold = place.channelClass !== "external_email";
    const recipient = { address: senderId, type: "contact" };
    const told = isTold ? [this.#answer(place, messageId, recipient, asked.answer)] : [];
    try {
      return await this.#note(place, message, "unpaired", [asked.write, ...told]);
    } catch (error) {
      if (!(error instanceof StoreError && error.code === "store.conflict")) throw error;
      // As many as may are waiting already.
      return await this.#note(place, message, "unpaired");
    }
  }

  #answer({ name: channel }: ChannelPlace, messageId: string, recipient: ReplyAddress["recipient"], text: string) {
    const createdAt = timestampOf(this.#parts.clock.nowMs());
    const delivery = { id: `answer_${channel}_${messageId}`, channel, recipient, text, runId: null, createdAt };
    return { type: "insert-outbox", delivery: { ...delivery, state: "waiting" } } as const;
  }

  async #note(
    { name: channel }: ChannelPlace,
    { messageId }: ChannelMessage,
    state: Exclude<InboxRow["state"], "run">,
    more: readonly DeliveryWrite[] = [],
  ): Promise<Taken> {
    const { store, clock, onOutbound } = this.#parts;
    const receivedAt = timestampOf(clock.nowMs());
    await store.commit(
      [{ type: "insert-inbox", message: { channel, messageId, state, receivedAt } }, ...more],
      "barrier",
    );
    if (more.length > 0) onOutbound();
    return TAKEN;
  }
}

const TAKEN: Taken = { ok: true };

function inboundOf(
  { name, agentId }: ChannelPlace,
  { messageId, senderId, text, group }: ChannelMessage,
): InboundMessage {
  return {
    ...{ agentId, channel: name, senderId, text, messageId },
    group: group === null ? null : { kind: "group", id: group.id, mentioned: group.mentioned },
  };
}
