/** Delivery: the channels of a home, with what comes in on them and what goes out. */
import type { Approvals } from "../../runtime/approvals/approvals.ts";
import { refuse } from "../../runtime/operations/operation.ts";
import type { Channel, HookRequest, Taken } from "../../runtime/ports/channel.ts";
import { type Clock, timestampOf } from "../../runtime/ports/clock.ts";
import type { RandomBytes } from "../../runtime/ports/randomness.ts";
import { type Page, type Store, StoreError } from "../../runtime/ports/store.ts";
import type { OutboxRow, OutboxState } from "../../runtime/ports/stored-delivery.ts";
import type { EventBus } from "../events/event-bus.ts";
import type { Chat } from "../sessions/chat.ts";
import type { SenderLimit } from "../sessions/sender-limit.ts";
import { type ChannelPlace, Inbox } from "./inbox.ts";
import { MailApprovals } from "./mail-approvals.ts";
import { Outbox } from "./outbox.ts";
import type { Pairing } from "./pairing.ts";

/** A channel with what the config says of it. */
export interface ConfiguredChannel {
  readonly channel: Channel;
  readonly place: ChannelPlace;
}

export interface DeliveryParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: RandomBytes;
  /** They may be replaced: then `reconfigured` is called. */
  readonly channels: () => readonly ConfiguredChannel[];
  readonly chat: Pick<Chat, "receive">;
  readonly pairing: Pairing;
  readonly limit: SenderLimit;
  readonly approvals: Pick<Approvals, "watch">;
  readonly approvalTimeoutMs: () => number;
  readonly events: Pick<EventBus, "emit">;
  readonly onDefect: (error: unknown) => void;
}

export class Delivery {
  readonly pairing: Pairing;
  readonly #parts: DeliveryParts;
  readonly #inbox: Inbox;
  readonly #outbox: Outbox;
  #isStarted = false;

  constructor(parts: DeliveryParts) {
    const { approvalTimeoutMs: timeoutMs, channels, ...others } = parts;
    this.#parts = parts;
    this.pairing = parts.pairing;
    this.#inbox = new Inbox({ ...others, onOutbound: () => this.wake() });
    this.#outbox = new Outbox({
      ...others,
      channels: () => channels().map(({ channel }) => channel),
      mailApprovals: new MailApprovals({ ...others, timeoutMs }),
      onSent: ({ channel, recipient, runId }) => parts.events.emit("message.outbound", { channel, recipient, runId }),
    });
  }

  /** Settles what an earlier process was sending, and takes messages from now on. */
  async start(): Promise<void> {
    await this.#outbox.start();
    this.#isStarted = true;
    this.#listen();
  }

  /** The channels are others. */
  async reconfigured(): Promise<void> {
    if (!this.#isStarted) return;
    await this.#outbox.start();
    this.#listen();
  }

  #listen(): void {
    for (const { channel, place } of this.#parts.channels()) {
      channel.listen((message) => this.#inbox.take(place, message));
    }
  }

  /** Something may have to go out. */
  wake(): void {
    this.#outbox.wake();
  }

  stop(graceMs: number): Promise<void> {
    return this.#outbox.stop(graceMs);
  }

  /** A request to `/hooks/{name}`. A name that does not exist is answered like a wrong signature. */
  async receiveHook(name: string, request: HookRequest): Promise<Taken> {
    const found = this.#parts.channels().find(({ channel }) => channel.name === name)?.channel;
    return (await found?.receive?.(request)) ?? NOT_BELIEVED;
  }

  messages(state: OutboxState | null, page: Page): Promise<readonly OutboxRow[]> {
    return this.#parts.store.listOutbox({ state }, page);
  }

  /** An operator's word on a message whose fate is open; null when there is none. */
  async settle(id: string, decision: "sent" | "failed" | "retry"): Promise<OutboxState | null> {
    const { store, clock, channels } = this.#parts;
    const row = await store.findDelivery(id);
    if (row === null || !(row.state === "ambiguous" || (row.state === "failed" && decision === "retry"))) return null;
    const isMail = channels().find(({ place }) => place.name === row.channel)?.place.channelClass === "external_email";
    const again = isMail ? "waiting_approval" : "waiting";
    const to = decision === "retry" ? again : decision;
    const nextAtMs = decision === "retry" ? clock.nowMs() : 0;
    try {
      const at = timestampOf(clock.nowMs());
      const move = { type: "move-outbox", id, from: row.state, to, nextAtMs, problem: row.problem, at } as const;
      await store.commit([move], "barrier");
    } catch (error) {
      if (error instanceof StoreError && error.code === "store.conflict") return null;
      throw error;
    }
    this.wake();
    return to;
  }
}

/** The answer to every request that is not signed with the secret of an existing webhook. */
export const NOT_BELIEVED = refuse(
  "auth.forbidden",
  "no webhook of this name is signed like this; docs/conversations.md shows how to sign",
);
