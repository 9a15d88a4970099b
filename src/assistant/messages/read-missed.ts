/** What a reader missed since its cursor, in order: of each run in that of its journal, among runs in that of time. */
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { PlacedRun, Store } from "../../runtime/ports/store.ts";
import type { Progress } from "./progress.ts";
import { type RecordedMessage, type RunMessageParts, recordedMessages } from "./run-messages.ts";

/** A client that missed more reads the lists instead. */
const MAX_RUNS = 1_000;
const PAGE = 100;

export interface MissedMessage extends RecordedMessage {
  readonly run: PlacedRun;
  readonly atMs: number;
}

/** Null when it is too much. */
export async function readMissed(parts: RunMessageParts, progress: Progress): Promise<readonly MissedMessage[] | null> {
  const runs = await runsMissed(parts.store, progress);
  if (runs === null) return null;
  const missed: MissedMessage[] = [];
  for (const run of runs) {
    let atMs = 0;
    for (const recorded of await recordedMessages(parts, run)) {
      // A clock that was set back must not change the order within a run.
      atMs = Math.max(atMs, recorded.message.timestamp);
      if (!progress.isBehind(run.runId, recorded.place)) continue;
      missed.push({ run, atMs, ...recorded });
    }
  }
  // Stable: equal times keep the order of their journal.
  return missed.sort((a, b) => a.atMs - b.atMs);
}

async function runsMissed(store: Store, progress: Progress): Promise<readonly PlacedRun[] | null> {
  const runs = new Map<RunId, PlacedRun>();
  for (const runId of progress.begun.keys()) {
    const run = await store.findRun(runId);
    if (run !== null) runs.set(runId, run);
  }
  for (const [from, to] of [...progress.waiting, [progress.last + 1, Number.MAX_SAFE_INTEGER] as const]) {
    for (let after = from - 1; after < to; ) {
      const page = await store.runsAfter(after, PAGE);
      for (const run of page) if (run.position <= to) runs.set(run.runId, run);
      if (runs.size > MAX_RUNS) return null;
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) break;
      after = last.position;
    }
  }
  return [...runs.values()];
}
