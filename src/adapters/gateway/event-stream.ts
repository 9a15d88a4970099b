/**
 * A run's news as server-sent events.
 *
 * E1. A recorded event carries its seq as id, so that a client comes back by Last-Event-ID; text being written (`delta`),
 *     what a tool prints (`tool.stream`) and that a provider is waited for (`model.wait`) have no id: they are live only.
 * E2. Nothing is taken from the run that the client has not had room for: memory stays bounded, and a client that reads
 *     nothing for two beats is cut off.
 * E3. A beat a quarter of a minute shows that the stream lives. The stream ends after the last event.
 */
import type { ServerResponse } from "node:http";
import type { RunUpdate } from "../../assistant/assistant.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import { StoreError } from "../../runtime/ports/store.ts";
import { PROTECTIVE_HEADERS } from "./reply.ts";

const BEAT_MS = 15_000;
const BEATS_WITHOUT_READING = 2;
const RECONNECT_AFTER_MS = 1_000;

export const EVENT_STREAM_HEADERS: readonly string[] = [
  "Content-Type",
  "text/event-stream; charset=utf-8",
  "X-Accel-Buffering",
  "no",
  ...PROTECTIVE_HEADERS,
];

/** What a client hears last when we stop, so that it knows the run goes on without it. */
const STOPPING = ": stopping\n\n";

interface EventStream {
  readonly outgoing: ServerResponse;
  readonly news: AsyncIterable<RunUpdate>;
  /** Aborted when the client is gone or the gateway stops; the news end with it. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly onFailure: (error: unknown) => { readonly error: { readonly code: string; readonly message: string } };
}

export async function streamEvents({ outgoing, news, signal, clock, onFailure }: EventStream): Promise<void> {
  const stopBeats = beat(outgoing, clock);
  let goesOn = false;
  try {
    outgoing.write(`retry: ${RECONNECT_AFTER_MS}\n\n`);
    for await (const item of news) {
      if (signal.aborted || outgoing.destroyed) break;
      if (!outgoing.write(frameOf(item))) await roomIn(outgoing);
    }
  } catch (error) {
    // The run goes on, or will: the client comes back and hears the rest.
    goesOn = error instanceof StoreError;
    // RunBroadcaster that were called off may end by saying so.
    if (!signal.aborted && !goesOn) outgoing.write(`event: error\ndata: ${JSON.stringify(onFailure(error))}\n\n`);
  } finally {
    stopBeats();
    outgoing.end(signal.aborted || goesOn ? STOPPING : "");
  }
}

function frameOf(news: RunUpdate): string {
  if (news.kind === "event") {
    const { event } = news;
    return `event: ${event.event_type}\nid: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`;
  }
  if (news.kind === "output") {
    const { step, callId, stream, offset, text } = news;
    return `event: tool.stream\ndata: ${JSON.stringify({ step, call_id: callId, stream, offset, text })}\n\n`;
  }
  if (news.kind === "wait") {
    return `event: model.wait\ndata: ${JSON.stringify({ code: news.code, wait_ms: news.waitMs })}\n\n`;
  }
  const { attempt, offset, text } = news;
  return `event: delta\ndata: ${JSON.stringify({ attempt, offset, text })}\n\n`;
}

/** Resolves when the client has read, or is gone. */
function roomIn(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (outgoing.destroyed || !outgoing.writableNeedDrain) {
      resolve();
      return;
    }
    const go = (): void => {
      outgoing.off("drain", go).off("close", go);
      resolve();
    };
    outgoing.on("drain", go).on("close", go);
  });
}

function beat(outgoing: ServerResponse, clock: Clock): () => void {
  let unread = 0;
  const onDrain = (): void => {
    unread = 0;
  };
  const tick = (): void => {
    cancel = clock.wake(BEAT_MS, tick);
    if (!outgoing.writableNeedDrain) {
      outgoing.write(":\n\n");
      return;
    }
    unread += 1;
    if (unread >= BEATS_WITHOUT_READING) outgoing.destroy();
  };
  let cancel = clock.wake(BEAT_MS, tick);
  outgoing.on("drain", onDrain);
  return () => {
    cancel();
    outgoing.off("drain", onDrain);
  };
}
