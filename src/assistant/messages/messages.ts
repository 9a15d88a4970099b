/** Messages: a home's conversations for a client that stays connected, both ways. */
import type { WsInbound } from "../../kernel/journal/views/websocket-messages.ts";
import type { Caller } from "../../runtime/operations/operation.ts";
import type { EventBus, Handler } from "../events/event-bus.ts";
import { type BroadcasterParts, type Content, type Listener, MessageBroadcaster } from "./message-broadcaster.ts";
import { type ReceiverParts, receiveMessage } from "./receive-message.ts";

/** What a gateway needs of it. */
export interface Conversations {
  /** The answers to this client; what becomes of a run is sent to all who hear of it. */
  receive(message: WsInbound, caller: Caller): Promise<readonly Content[]>;
  /** Returns how to end it. */
  listen(listener: Listener, cursor: string | null): Promise<() => void>;
}

export interface MessagesParts extends BroadcasterParts, Omit<ReceiverParts, "approvals"> {
  readonly events: Pick<EventBus, "on" | "off">;
}

export class Messages implements Conversations {
  readonly broadcaster: MessageBroadcaster;
  readonly #parts: MessagesParts;
  readonly #stop: () => void;

  constructor(parts: MessagesParts) {
    this.#parts = parts;
    const broadcaster = new MessageBroadcaster(parts);
    this.broadcaster = broadcaster;
    const { events } = parts;
    const onCreated: Handler<"session.created"> = ({ sessionId, agentId, channel }) =>
      broadcaster.sendOf(sessionId, ({ senderId }) => ({
        type: "session.created",
        payload: { sessionId, agentId, channel, senderId },
      }));
    const onConfig: Handler<"config.changed"> = ({ paths }) =>
      broadcaster.sendToOperators({ type: "config.updated", payload: { changed: [...paths] } });
    const onGhost: Handler<"shadow.ghost"> = (ghost) =>
      broadcaster.sendToOperators({ type: "shadow.ghost", payload: { ghost: { ...ghost } } });
    events.on("session.created", onCreated);
    events.on("config.changed", onConfig);
    events.on("shadow.ghost", onGhost);
    // The bus outlives this opening of the home.
    this.#stop = () => {
      events.off("session.created", onCreated);
      events.off("config.changed", onConfig);
      events.off("shadow.ghost", onGhost);
    };
  }

  receive(message: WsInbound, caller: Caller): Promise<readonly Content[]> {
    const { approvals } = this.#parts.runtime();
    return receiveMessage({ ...this.#parts, approvals }, message, caller);
  }

  listen(listener: Listener, cursor: string | null): Promise<() => void> {
    return this.broadcaster.listen(listener, cursor);
  }

  close(): void {
    this.#stop();
    this.broadcaster.close();
  }
}
