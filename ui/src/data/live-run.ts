/**
 * A run as it is being written: text and calls from its events. Only this is drawn from events, until the record has it.
 *
 * L1. Text is tagged with attempt and offset: another attempt drops it, and so does another text at its beginning.
 * L2. A stream that breaks is opened again after the last event that was recorded, and catches up by itself.
 */
import { createParser } from "eventsource-parser";
import { useEffect, useState } from "react";
import type { LifecycleEvent } from "../../../src/kernel/journal/views/lifecycle-events.ts";
import { addressOf, asCallError, type CallError, openStream } from "./client.ts";

type Of<Type extends LifecycleEvent["event_type"]> = Extract<LifecycleEvent, { readonly event_type: Type }>["payload"];

export interface LiveCall {
  readonly callId: string;
  readonly stepId: string;
  readonly tool: string;
  /** Tool and arguments in one line. */
  readonly shown: string;
  readonly startedAt: string;
  /** A person was asked. */
  readonly approval: Of<"tool.call">["approval"];
  /** Null: under way. */
  readonly result: Of<"tool.result"> | null;
  /** What a command has written so far. */
  readonly output: string;
}

export interface LiveRun {
  readonly attempt: number;
  /** Of the attempt under way. */
  readonly text: string;
  readonly calls: readonly LiveCall[];
  /** The provider asked for a pause. */
  readonly wait: { readonly code: string; readonly waitMs: number } | null;
  readonly isOver: boolean;
  /** Why it cannot be followed. */
  readonly error: CallError | null;
}

const NOTHING: LiveRun = { attempt: 0, text: "", calls: [], wait: null, isOver: false, error: null };
const ENDINGS: ReadonlySet<string> = new Set(["run.completed", "run.failed", "run.cancelled"]);
const MAX_OUTPUT_CHARS = 20_000;
const AGAIN_MS = 1_000;

/** Null: follow nothing. */
export function useLiveRun(runId: string | null): LiveRun {
  const [followed, setFollowed] = useState<{ readonly runId: string | null; readonly run: LiveRun }>({
    runId,
    run: NOTHING,
  });
  useEffect(() => {
    if (runId === null) return;
    const ending = new AbortController();
    follow(runId, (run) => setFollowed({ runId, run }), ending.signal);
    return () => ending.abort();
  }, [runId]);
  return followed.runId === runId ? followed.run : NOTHING;
}

/** Follows a run until it is over or the signal aborts. */
export async function follow(runId: string, show: (run: LiveRun) => void, signal: AbortSignal): Promise<void> {
  let run = NOTHING;
  let lastId: string | null = null;
  const frames = perFrame(() => show(run));
  const parser = createParser({
    onEvent({ event = "", id, data }) {
      if (id !== undefined) lastId = id;
      run = applied(run, event, JSON.parse(data));
      frames.ask();
    },
  });
  while (!run.isOver && !signal.aborted) {
    try {
      const body = await openStream(addressOf("runs.events", { id: runId }), lastId, signal);
      if (run.error !== null) run = { ...run, error: null };
      if (body === null) run = { ...run, isOver: true };
      else await readAll(body, (text) => parser.feed(text));
    } catch (error) {
      if (signal.aborted) break;
      const failure = asCallError(error);
      run = { ...run, error: failure, isOver: failure.status === 404 };
    }
    parser.reset();
    frames.ask();
    if (!run.isOver) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
  frames.now();
  if (signal.aborted) frames.stop();
}

async function readAll(body: ReadableStream<Uint8Array>, take: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  for (const reader = body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    take(decoder.decode(value, { stream: true }));
  }
}

/** A fast model writes more often than a screen is drawn. */
function perFrame(draw: () => void) {
  let asked = 0;
  let isStopped = false;
  const now = (): void => {
    cancelAnimationFrame(asked);
    asked = 0;
    if (!isStopped) draw();
  };
  return {
    now,
    ask() {
      if (document.visibilityState === "hidden") now();
      else if (asked === 0) asked = requestAnimationFrame(now);
    },
    stop() {
      isStopped = true;
      cancelAnimationFrame(asked);
    },
  };
}

function applied(run: LiveRun, event: string, data: unknown): LiveRun {
  if (event === "delta") return withText(run, data as { attempt: number; offset: number; text: string });
  if (event === "tool.stream") return withOutput(run, data as { call_id: string; text: string });
  if (event === "model.wait") {
    const { code, wait_ms: waitMs } = data as { code: string; wait_ms: number };
    return { ...run, wait: { code, waitMs } };
  }
  const { event_type: type, payload, ts } = data as LifecycleEvent;
  if (type === "tool.call") {
    const { call_id: callId, step_id: stepId, tool, shown = tool, approval } = payload as Of<"tool.call">;
    const call: LiveCall = { callId, stepId, tool, shown, startedAt: ts, approval, result: null, output: "" };
    return { ...run, wait: null, calls: [...run.calls, call] };
  }
  if (type === "tool.result") {
    const result = payload as Of<"tool.result">;
    const isMeant = ({ callId, stepId }: LiveCall) => callId === result.call_id && stepId === result.step_id;
    return { ...run, calls: run.calls.map((call) => (isMeant(call) ? { ...call, result } : call)) };
  }
  if (type === "model.requested") return { ...run, wait: null };
  return ENDINGS.has(type) ? { ...run, wait: null, isOver: true } : run;
}

function withText(run: LiveRun, { attempt, offset, text }: { attempt: number; offset: number; text: string }): LiveRun {
  if (attempt < run.attempt) return run;
  const before = attempt === run.attempt ? run.text : "";
  // A gap cannot be filled by guessing; the record has the whole text.
  if (offset > before.length) return { ...run, attempt, wait: null };
  return { ...run, attempt, wait: null, text: before.slice(0, offset) + text };
}

function withOutput(run: LiveRun, { call_id, text }: { call_id: string; text: string }): LiveRun {
  const calls = run.calls.map((call) =>
    call.callId === call_id && call.result === null
      ? { ...call, output: (call.output + text).slice(-MAX_OUTPUT_CHARS) }
      : call,
  );
  return { ...run, calls };
}
