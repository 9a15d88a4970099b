/**
 * A run's news over the gateway's event stream.
 *
 * N1. Each event is told once, in order: after a break we come back by Last-Event-ID, and what was told is left out.
 *     Text being written is live only; what fell into a break is not told again.
 * N2. Coming back is tried a bounded number of times without progress, then it is `gateway.unreachable`.
 * N3. Silence is a break too: a living stream has a beat.
 * N4. When the caller calls it off, or stops listening, the connection closes and the news just end.
 */
import { setTimeout as pause } from "node:timers/promises";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { RunUpdate } from "../../assistant/assistant.ts";
import { LifecycleEventSchema } from "../../kernel/journal/views/lifecycle-events.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import { DeltaSchema, decode, ModelWaitSchema, ToolStreamSchema } from "./decode.ts";
import type { Line } from "./exchange.ts";
import { GatewayClientError, unintelligible, unreachable } from "./gateway-client-error.ts";

const TERMINAL: ReadonlySet<string> = new Set(["run.completed", "run.failed", "run.cancelled"]);

export interface Watching {
  readonly line: Line;
  readonly url: string;
  readonly runId: RunId;
  readonly afterSeq: number;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly silenceMs: number;
  readonly reconnectDelaysMs: readonly number[];
}

interface Connection {
  readonly body: AsyncIterable<Uint8Array>;
  hangUp(): void;
}

/** To a run that was heard to its end. */
const ENDED: Connection = { body: nothing(), hangUp: () => {} };

/** Null when there is no such run. */
export async function watchRun(watching: Watching): Promise<AsyncIterable<RunUpdate> | null> {
  try {
    const first = await connect(watching, watching.afterSeq);
    return first === null ? null : follow(watching, first);
  } catch (error) {
    if (watching.signal.aborted) return nothing();
    throw error;
  }
}

async function* nothing(): AsyncGenerator<never, void> {}

async function* follow(watching: Watching, first: Connection): AsyncGenerator<RunUpdate, void> {
  const { url, signal, reconnectDelaysMs } = watching;
  let told = watching.afterSeq;
  let fruitless = 0;
  let connection: Connection | null = first;
  for (;;) {
    let cause: unknown;
    try {
      connection ??= await reconnect(watching, told);
      for await (const news of newsFrom(connection, watching)) {
        if (news.kind === "event") {
          if (news.event.seq <= told) continue;
          told = news.event.seq;
          fruitless = 0;
        }
        yield news;
        if (news.kind === "event" && TERMINAL.has(news.event.event_type)) return;
      }
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof GatewayClientError) || error.code !== "gateway.unreachable") throw error;
      cause = error;
    } finally {
      connection?.hangUp();
      connection = null;
    }
    const delayMs = reconnectDelaysMs[fruitless];
    if (delayMs === undefined)
      throw unreachable(url, "was lost while the run was watched; the run itself goes on", cause);
    fruitless += 1;
    if (!(await waited(delayMs, signal))) return;
  }
}

async function connect(watching: Watching, after: number): Promise<Connection | null> {
  const { line, url, runId, signal, timeoutMs } = watching;
  const own = new AbortController();
  const timer = setTimeout(() => own.abort(), timeoutMs);
  try {
    const path = `/v1/runs/${encodeURIComponent(runId)}/events`;
    const headers = { accept: "text/event-stream", "last-event-id": String(after) };
    const response = await line.open({ path, headers }, AbortSignal.any([signal, own.signal]));
    if (!response.ok) {
      const refusal = await line.refusalIn(response);
      if (refusal.code === "not_found") return null;
      throw unintelligible(url, `refused to be watched: ${refusal.message}`);
    }
    if (response.status === 204) return ENDED;
    if (response.body === null) throw unintelligible(url, "sent no events");
    return { body: response.body, hangUp: () => own.abort() };
  } finally {
    clearTimeout(timer);
  }
}

async function reconnect(watching: Watching, after: number): Promise<Connection> {
  const connection = await connect(watching, after);
  if (connection === null) throw unintelligible(watching.url, "no longer knows the run");
  return connection;
}

async function* newsFrom(connection: Connection, { url, silenceMs }: Watching): AsyncGenerator<RunUpdate, void> {
  const messages: EventSourceMessage[] = [];
  let isStopping = false;
  const parser = createParser({
    onEvent: (message) => messages.push(message),
    onComment: (comment) => {
      isStopping ||= comment.trim() === "stopping";
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of heard(connection, silenceMs, url)) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    for (const message of messages.splice(0)) yield newsOf(message, url);
  }
  if (isStopping) throw unreachable(url, "stopped");
}

/** The bytes as they come; a break, and silence, is `gateway.unreachable`. */
async function* heard(connection: Connection, silenceMs: number, url: string): AsyncGenerator<Uint8Array, void> {
  const listen = (): NodeJS.Timeout => setTimeout(() => connection.hangUp(), silenceMs);
  let timer = listen();
  try {
    for await (const chunk of connection.body) {
      // While the caller is busy with what came, silence is its own.
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

function newsOf({ event, data }: EventSourceMessage, url: string): RunUpdate {
  if (event === "error") throw unreachable(url, "could not go on with its events");
  if (event === "delta") {
    const delta = decode(DeltaSchema, data);
    if (delta !== null) return { kind: "delta", ...delta };
  } else if (event === "tool.stream") {
    const output = decode(ToolStreamSchema, data);
    if (output !== null) {
      const { call_id: callId, ...rest } = output;
      return { kind: "output", callId, ...rest };
    }
  } else if (event === "model.wait") {
    const wait = decode(ModelWaitSchema, data);
    if (wait !== null) return { kind: "wait", code: wait.code, waitMs: wait.wait_ms };
  } else {
    const recorded = decode(LifecycleEventSchema, data);
    if (recorded !== null) return { kind: "event", event: recorded };
  }
  throw unintelligible(url, "sent an event that we do not understand");
}

async function waited(delayMs: number, signal: AbortSignal): Promise<boolean> {
  try {
    await pause(delayMs, undefined, { signal });
    return true;
  } catch {
    return false;
  }
}
