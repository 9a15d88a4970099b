/**
 * The event bus (T-6): what happens, for handlers in this process. Events tell; nothing waits for a handler, and what
 * must not be lost is in the store.
 *
 * E1. Handlers are called after the emitter has gone on, in the order of events; a handler is not waited for.
 * E2. A handler that throws or rejects is reported as a defect; the others are called all the same.
 */
import type { RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { Recipient } from "../../runtime/ports/channel.ts";
import type { WireGhost } from "../shadow/wire-ghost.ts";

interface OfRun {
  readonly runId: RunId;
  readonly sessionId: SessionId;
}

interface OfCall extends OfRun {
  readonly callId: string;
  readonly tool: string;
}

export interface EventMap {
  "message.inbound": { readonly channel: string; readonly senderId: string; readonly messageId: string | null };
  "message.outbound": { readonly channel: string; readonly recipient: Recipient; readonly runId: RunId | null };
  "tool.execute": OfCall;
  "tool.complete": OfCall & { readonly ok: boolean };
  "session.created": { readonly sessionId: SessionId; readonly agentId: string; readonly channel: string };
  "session.idle": { readonly sessionId: SessionId };
  /** No paths: only the environment has changed. */
  "config.changed": { readonly file: string; readonly paths: readonly string[] };
  "agent.thinking": OfRun;
  /** Something was noticed; whether it becomes a ghost is open. */
  "shadow.event": { readonly detector: string; readonly subject: string };
  "shadow.ghost": WireGhost;
}

export type EventName = keyof EventMap;
export type Handler<Name extends EventName> = (data: EventMap[Name]) => unknown;

type AnyHandler = (data: never) => unknown;

export class EventBus {
  readonly #handlers = new Map<EventName, readonly { readonly handler: AnyHandler; readonly isOnce: boolean }[]>();
  readonly #onDefect: (error: unknown) => void;

  constructor(onDefect: (error: unknown) => void) {
    this.#onDefect = onDefect;
  }

  emit<Name extends EventName>(event: Name, data: EventMap[Name]): void {
    const listening = this.#handlers.get(event) ?? [];
    if (listening.length === 0) return;
    if (listening.some(({ isOnce }) => isOnce)) this.#keep(event, ({ isOnce }) => !isOnce);
    for (const { handler } of listening) {
      Promise.resolve(data as never)
        .then(handler)
        .catch(this.#onDefect);
    }
  }

  on<Name extends EventName>(event: Name, handler: Handler<Name>): void {
    this.#add(event, handler, false);
  }

  once<Name extends EventName>(event: Name, handler: Handler<Name>): void {
    this.#add(event, handler, true);
  }

  off<Name extends EventName>(event: Name, handler: Handler<Name>): void {
    this.#keep(event, (each) => each.handler !== handler);
  }

  hasHandlers(event: EventName): boolean {
    return (this.#handlers.get(event) ?? []).length > 0;
  }

  #add(event: EventName, handler: AnyHandler, isOnce: boolean): void {
    this.#handlers.set(event, [...(this.#handlers.get(event) ?? []), { handler, isOnce }]);
  }

  #keep(event: EventName, isKept: (each: { readonly handler: AnyHandler; readonly isOnce: boolean }) => boolean): void {
    this.#handlers.set(event, (this.#handlers.get(event) ?? []).filter(isKept));
  }
}
