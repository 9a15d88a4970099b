/**
 * The feed: doorbells from the gateway. A ring says which record changed, never what is in it; records.ts reads it again.
 *
 * F1. One connection, resumed by an opaque cursor. A cursor that is too old brings `reset`: all that is shown is read again.
 * F2. After a failure it dials again within 0.5 to 15 s, with jitter, and at once when the page is shown or the network is back.
 * F3. Silence of three heartbeats counts as a failure.
 */
import { createParser } from "eventsource-parser";
import { asCallError, openStream } from "./client.ts";
import { signedIn, signIn } from "./sign-in.ts";
import { createSignal } from "./signal.ts";

export interface Ring {
  readonly record: string;
  /** Null: any of them. */
  readonly id: string | null;
}

export interface Connection {
  /** `connecting`: for the first time. */
  readonly state: "connecting" | "live" | "lost";
  /** When what is shown was last known to be current. */
  readonly asOf: number | null;
}

const FEED = "/api/feed";
const LEAST_WAIT_MS = 500;
const MOST_WAIT_MS = 15_000;
const SILENCE_MS = 45_000;

export const connection = createSignal<Connection>({ state: "connecting", asOf: null });

type Listener = (ring: Ring | "everything") => void;
const listeners = new Set<Listener>();
let cursor: string | null = null;
let failures = 0;
let dialAgain: (() => void) | null = null;

export function onRing(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Runs for as long as the page lives. */
export async function followFeed(): Promise<never> {
  addEventListener("online", () => dialAgain?.());
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && dialAgain?.());
  for (;;) {
    try {
      await listen();
    } catch (error) {
      if (asCallError(error).status === 401) cursor = null;
    }
    lose();
    await pause();
  }
}

async function listen(): Promise<void> {
  const ending = new AbortController();
  const body = await openStream(FEED, cursor, ending.signal);
  if (body === null) return;
  signedIn();
  failures = 0;
  connection.set({ state: "live", asOf: Date.now() });
  const parser = createParser({
    onEvent({ event, id, data }) {
      if (id !== undefined) cursor = id;
      if (event === "reset") ring("everything");
      else if (event === "changed") ring(JSON.parse(data) as Ring);
    },
  });
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let silence = 0;
  const expectMore = (): void => {
    clearTimeout(silence);
    silence = setTimeout(() => ending.abort(), SILENCE_MS) as unknown as number;
  };
  try {
    for (;;) {
      expectMore();
      const { done, value } = await reader.read();
      if (done) return;
      parser.feed(value);
    }
  } finally {
    clearTimeout(silence);
    ending.abort();
  }
}

function ring(what: Ring | "everything"): void {
  for (const listener of [...listeners]) listener(what);
}

function lose(): void {
  const { state, asOf } = connection.get();
  const isFirst = state === "connecting" && failures < 2;
  connection.set({ state: isFirst ? "connecting" : "lost", asOf: state === "live" ? Date.now() : asOf });
}

function pause(): Promise<void> {
  const isOut = signIn.get() === "out";
  const most = isOut ? MOST_WAIT_MS : Math.min(MOST_WAIT_MS, LEAST_WAIT_MS * 2 ** failures);
  failures += 1;
  return new Promise((resolve) => {
    const timer = setTimeout(go, LEAST_WAIT_MS / 2 + Math.random() * (most - LEAST_WAIT_MS / 2));
    function go(): void {
      clearTimeout(timer);
      dialAgain = null;
      resolve();
    }
    dialAgain = go;
  });
}
