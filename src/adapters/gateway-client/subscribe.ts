/**
 * A stream operation through the gateway's server-sent events.
 *
 * N1. Each event is delivered once, in order: after a break the stream is resumed by Last-Event-ID. Live updates that fell
 *     into the break are lost.
 * N2. Resuming is tried a bounded number of times without progress, then it is `gateway.lost`. The caller hears when the
 *     first attempt failed, and when one succeeded.
 * N3. Silence counts as a break: a living stream has a heartbeat.
 * N4. When the caller aborts or stops reading, the connection closes and the updates end.
 */
import { setTimeout as pause } from "node:timers/promises";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { SubscribableOperation } from "../../assistant/operations.ts";
import type { Refusal, Subscription } from "../../runtime/operations/operation.ts";
import { StoreError } from "../../runtime/ports/store.ts";
import { decode, type Exchange } from "./exchange.ts";
import {
  GatewayClientError,
  type GatewayClientErrorCode,
  lost,
  unintelligible,
  unreachable,
} from "./gateway-client-error.ts";

export interface Watching<Update> {
  readonly exchange: Exchange;
  readonly onConnection: (state: "lost" | "back") => void;
  readonly operation: SubscribableOperation<Update>;
  readonly path: string;
  readonly after: string | null;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly silenceMs: number;
  readonly reconnectDelaysMs: readonly number[];
}

interface Connection {
  readonly body: AsyncIterable<Uint8Array>;
  /** The gateway said that nothing follows. */
  readonly isOver: boolean;
  hangUp(): void;
}

const NOTHING_MORE: Connection = { body: nothing(), isOver: true, hangUp: () => {} };

export async function subscribe<Update>(watching: Watching<Update>): Promise<Subscription<Update>> {
  try {
    const first = await connect(watching, watching.after);
    if ("code" in first) return first;
    return { ok: true, updates: follow(watching, first), isOver: first.isOver };
  } catch (error) {
    if (watching.signal.aborted) return { ok: true, updates: nothing(), isOver: false };
    throw error;
  }
}

async function* nothing(): AsyncGenerator<never, void> {}

async function* follow<Update>(watching: Watching<Update>, first: Connection): AsyncGenerator<Update, void> {
  const { signal, operation, reconnectDelaysMs, onConnection } = watching;
  let lastId = watching.after;
  let fruitless = 0;
  let isLost = false;
  let connection: Connection | null = first;
  for (;;) {
    let cause: unknown;
    try {
      connection ??= await reconnect(watching, lastId);
      if (isLost) onConnection("back");
      isLost = false;
      for await (const message of messagesFrom(connection, watching)) {
        if (message.id !== undefined) {
          if (isHeard(message.id, lastId)) continue;
          lastId = message.id;
          fruitless = 0;
        }
        yield updateIn(message, watching);
        if (operation.lastEvents.includes(message.event ?? "")) return;
      }
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (!isBreak(error)) throw error;
      // The first attempt to resume follows at once.
      if (fruitless === 1 && !isLost) {
        isLost = true;
        onConnection("lost");
      }
      cause = error;
    } finally {
      connection?.hangUp();
      connection = null;
    }
    const delayMs = reconnectDelaysMs[fruitless];
    if (delayMs === undefined) throw lost(cause);
    fruitless += 1;
    await pause(delayMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
  }
}

/** Numbered frames may be sent again from an earlier one on. */
function isHeard(id: string, lastId: string | null): boolean {
  if (lastId === null || !/^\d+$/.test(id)) return id === lastId;
  return Number(id) <= Number(lastId);
}

/** It may be stopped, restarted, or wait for its disk; or another program has its port for now. */
function isBreak(error: unknown): boolean {
  if (error instanceof StoreError) return error.code === "store.unavailable";
  return error instanceof GatewayClientError && BREAKS.has(error.code);
}

const BREAKS: ReadonlySet<GatewayClientErrorCode> = new Set(["gateway.unreachable", "gateway.unproven"]);

async function connect<Update>(watching: Watching<Update>, after: string | null): Promise<Connection | Refusal> {
  const { exchange, path, signal, timeoutMs } = watching;
  const own = new AbortController();
  const timer = setTimeout(() => own.abort(), timeoutMs);
  try {
    const headers = { accept: "text/event-stream", ...(after === null ? {} : { "last-event-id": after }) };
    const response = await exchange.open({ path, headers }, AbortSignal.any([signal, own.signal]));
    if (!response.ok) return await exchange.refusalIn(response);
    if (response.status === 204) return NOTHING_MORE;
    if (response.body === null) throw unintelligible(exchange.url, "sent no events");
    return { body: response.body, isOver: false, hangUp: () => own.abort() };
  } finally {
    clearTimeout(timer);
  }
}

async function reconnect<Update>(watching: Watching<Update>, after: string | null): Promise<Connection> {
  const connection = await connect(watching, after);
  if ("code" in connection) throw unintelligible(watching.exchange.url, `refused to resume: ${connection.message}`);
  return connection;
}

async function* messagesFrom<Update>(
  connection: Connection,
  { exchange: { url }, silenceMs }: Watching<Update>,
): AsyncGenerator<EventSourceMessage, void> {
  const messages: EventSourceMessage[] = [];
  let isStopping = false;
  const parser = createParser({
    onEvent: (message) => messages.push(message),
    onComment: (comment) => {
      isStopping ||= comment.trim() === "stopping";
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of chunksFrom(connection, silenceMs, url)) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    yield* messages.splice(0);
  }
  if (isStopping) throw unreachable(url, "stopped");
}

/** A break, and silence, is `gateway.unreachable`. */
async function* chunksFrom(connection: Connection, silenceMs: number, url: string): AsyncGenerator<Uint8Array, void> {
  const listen = (): NodeJS.Timeout => setTimeout(() => connection.hangUp(), silenceMs);
  let timer = listen();
  try {
    for await (const chunk of connection.body) {
      // The caller's own time with a chunk is not the gateway's silence.
      clearTimeout(timer);
      yield chunk;
      timer = listen();
    }
  } catch (error) {
    throw unreachable(url, "broke off its events", error);
  } finally {
    clearTimeout(timer);
  }
}

function updateIn<Update>(
  { event = "", data, id = "" }: EventSourceMessage,
  { exchange: { url }, operation }: Watching<Update>,
): Update {
  if (event === "error") throw unreachable(url, "could not continue its events");
  const schema = operation.events[event];
  const value = schema === undefined ? null : decode(schema, data);
  if (value !== null) return operation.decode(event, value, id);
  throw unintelligible(url, "sent an event that we do not understand");
}
