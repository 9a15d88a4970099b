/**
 * Follows a run: what its journal holds first, then what happens, without a gap and without a repeat.
 *
 * W1. It subscribes before it reads the journal; duplicates are dropped by seq. Before the first publish there is nothing
 *     to read: the subscription gets everything.
 * W2. It ends after the terminal entry, or when the signal aborts, and then unsubscribes. It throws when the store fails:
 *     the run's fate is decided at the next start. It throws also where the journal is damaged, after what can be read.
 * W3. A provider's pause is announced while it lasts.
 * W4. Text of an attempt comes after the entries before that attempt and before its own: a fast model writes before the
 *     last step is durable.
 */
import type { Entry } from "../../kernel/journal/entry.ts";
import type { Lookup } from "../../kernel/journal/views/body-content.ts";
import { readEntry, TIMELINE_START, type TimelineItem } from "../../kernel/journal/views/run-timeline.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import { type Store, StoreError } from "../../runtime/ports/store.ts";
import { type Journal, readWholeJournal } from "../../runtime/run/read-run.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { RunUpdate } from "./run-updates.ts";

const MAX_WAITING = 1_000;

export type RunHappening =
  /** `textOf` finds bodies that are in memory still. */
  | {
      readonly kind: "recorded";
      readonly entry: Entry;
      readonly items: readonly TimelineItem[];
      readonly textOf: Lookup;
    }
  | Exclude<RunUpdate, { readonly kind: "event" }>;

type Received =
  | { readonly kind: "entries"; readonly entries: readonly Entry[]; readonly textOf: Lookup }
  | { readonly kind: "broken"; readonly error: unknown }
  | Exclude<RunUpdate, { readonly kind: "event" }>;

type Delta = Extract<RunUpdate, { readonly kind: "delta" }>;
type Wait = Extract<RunUpdate, { readonly kind: "wait" }>;

export async function* followRun(
  store: Pick<Store, "readEntries">,
  runtime: Pick<Runtime, "watch" | "isUnpublished">,
  runId: RunId,
  signal: AbortSignal,
): AsyncGenerator<RunHappening> {
  let received: Received[] = [];
  let held: Delta[] = [];
  let wakeUp = (): void => {};
  const put = (item: Received): void => {
    received.push(item);
    wakeUp();
  };
  // A watcher slower than the model misses text, which is live only, but no entry.
  const hasRoom = (): boolean => received.length + held.length < MAX_WAITING;
  const stopWatching = runtime.watch(runId, {
    entries: (entries, textOf) => put({ kind: "entries", entries, textOf }),
    delta: (delta) => hasRoom() && put({ kind: "delta", ...delta }),
    output: (output) => hasRoom() && put({ kind: "output", ...output }),
    broken: (error) => put({ kind: "broken", error }),
  });
  const onAbort = (): void => wakeUp();
  signal.addEventListener("abort", onAbort);
  try {
    let last: Entry | undefined;
    let wait: Wait | null = null;
    let reading = TIMELINE_START;
    let dueAttempt = 0;
    const release = (): readonly Delta[] => {
      const due = held.filter(({ attempt }) => attempt <= dueAttempt);
      if (due.length > 0) held = held.filter(({ attempt }) => attempt > dueAttempt);
      return due;
    };
    const journal: Journal = runtime.isUnpublished(runId)
      ? { ok: true, entries: [] }
      : await readWholeJournal(store, runId);
    let items: readonly Received[] = [{ kind: "entries", entries: journal.entries, textOf: () => null }];
    if (!journal.ok) items = [...items, { kind: "broken", error: damagedAt(runId, journal.badEntry) }];
    for (;;) {
      for (const item of items) {
        if (item.kind === "broken") throw item.error;
        if (item.kind === "delta" && item.attempt > dueAttempt) held.push(item);
        else if (item.kind !== "entries") yield item;
        else {
          for (const entry of item.entries) {
            if (entry.seq <= (last?.seq ?? 0)) continue;
            dueAttempt = dueAfter(entry, dueAttempt);
            if (entry.kind === "INFER") yield* release();
            const { now, next } = readEntry(reading, entry);
            wait = waitBetween(last, entry);
            last = entry;
            reading = next;
            yield { kind: "recorded", entry, items: now, textOf: item.textOf };
            yield* release();
          }
        }
      }
      if (last?.kind === "TERMINATE" || signal.aborted) return;
      if (wait !== null) yield wait;
      wait = null;
      while (received.length === 0 && !signal.aborted) {
        await new Promise<void>((resolve) => {
          wakeUp = resolve;
        });
      }
      items = received;
      received = [];
    }
  } finally {
    stopWatching();
    signal.removeEventListener("abort", onAbort);
  }
}

function damagedAt(runId: RunId, entry: number): StoreError {
  return new StoreError(
    "store.corrupt",
    `Entry ${entry} of the journal of ${runId} is damaged: see surety verify ${runId}.`,
  );
}

/** The latest attempt whose text may follow the entry: its own, or the next one where it leads to another inference. */
function dueAfter(entry: Entry, dueAttempt: number): number {
  if (entry.kind === "INFER") return entry.decided.attempt;
  const leadsToInference = entry.kind === "run.created" || (entry.kind === "COMMIT" && entry.decided.next === "INFER");
  return leadsToInference ? dueAttempt + 1 : dueAttempt;
}

function waitBetween(before: Entry | undefined, entry: Entry): Wait | null {
  if (entry.kind !== "COMMIT" || entry.decided.next !== "INFER") return null;
  if (before?.kind !== "INFER" || before.result?.type !== "model.failed") return null;
  const { code, retryAfterMs } = before.result;
  return retryAfterMs > 0 ? { kind: "wait", code, waitMs: retryAfterMs } : null;
}
