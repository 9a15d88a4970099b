/**
 * Server-sent events of a subscription.
 *
 * E1. A recorded event carries its id, so that a client resumes by Last-Event-ID; a live one has none.
 * E2. Backpressure: the next update is read once the client has room for it. A client that reads nothing for two
 *     heartbeats is disconnected, after the last event too.
 * E3. A heartbeat comes every 15 s. The stream ends after the last event.
 */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { Frame } from "../../runtime/operations/operation.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import { StoreError } from "../../runtime/ports/store.ts";
import { endWith } from "./write-text.ts";

const HEARTBEAT_MS = 15_000;
const MAX_UNREAD_HEARTBEATS = 2;
const RECONNECT_AFTER_MS = 1_000;

export const EVENT_STREAM_HEADERS: readonly string[] = [
  "Content-Type",
  "text/event-stream; charset=utf-8",
  "X-Accel-Buffering",
  "no",
];

/** Sent last when the gateway stops: the client reconnects instead of taking the run for ended. */
const STOPPING = ": stopping\n\n";

interface EventStream {
  readonly outgoing: ServerResponse;
  readonly updates: AsyncIterable<unknown>;
  readonly encode: (update: never) => Frame;
  /** Aborted when the client disconnects or the gateway stops; the updates end with it. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly onFailure: (error: unknown) => { readonly error: { readonly code: string; readonly message: string } };
}

export async function streamEvents(stream: EventStream): Promise<void> {
  const { outgoing, updates, encode, signal, clock, onFailure } = stream;
  const stopHeartbeat = startHeartbeat(outgoing, clock);
  let isInterrupted = false;
  try {
    outgoing.write(`retry: ${RECONNECT_AFTER_MS}\n\n`);
    for await (const update of updates) {
      if (signal.aborted || outgoing.destroyed) break;
      if (!outgoing.write(textOf(encode(update as never)))) await once(outgoing, "drain", { signal });
    }
  } catch (error) {
    // The run continues after the outage: the client reconnects and gets the rest.
    isInterrupted = error instanceof StoreError && error.code !== "store.corrupt";
    // An aborted subscription may end by throwing.
    if (!signal.aborted && !isInterrupted)
      outgoing.write(`event: error\ndata: ${JSON.stringify(onFailure(error))}\n\n`);
  } finally {
    stopHeartbeat();
    await endWith(outgoing, signal.aborted || isInterrupted ? STOPPING : "", clock);
  }
}

function textOf({ event, id, data }: Frame): string {
  return `event: ${event}\n${id === null ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
}

function startHeartbeat(outgoing: ServerResponse, clock: Clock): () => void {
  let unread = 0;
  const onDrain = (): void => {
    unread = 0;
  };
  const tick = (): void => {
    cancel = clock.wake(HEARTBEAT_MS, tick);
    if (!outgoing.writableNeedDrain) {
      outgoing.write(":\n\n");
      return;
    }
    unread += 1;
    if (unread >= MAX_UNREAD_HEARTBEATS) outgoing.destroy();
  };
  let cancel = clock.wake(HEARTBEAT_MS, tick);
  outgoing.on("drain", onDrain);
  return () => {
    cancel();
    outgoing.off("drain", onDrain);
  };
}
