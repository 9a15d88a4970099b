/**
 * A tick of the scheduler with ten thousand jobs beside one with ten: in both the same ten are due, and are settled as skipped,
 * so that no run is measured.
 */
import { openSqliteStore } from "../../src/adapters/store-sqlite/open-sqlite-store.ts";
import { Scheduler } from "../../src/assistant/schedule/scheduler.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { USER_LABELS } from "../../src/kernel/vocabulary/labels.ts";
import { refuse } from "../../src/runtime/operations/operation.ts";
import type { Clock } from "../../src/runtime/ports/clock.ts";
import { timestampOf } from "../../src/runtime/ports/clock.ts";
import type { Write } from "../../src/runtime/ports/store.ts";
import { elapsedMs, measureBlocks, ratioOf } from "../blocks.ts";
import type { BenchWorld, Figure } from "../figure.ts";
import type { Row } from "../row.ts";
import { makeHome, removeDirectory, temporaryDirectory } from "../scene.ts";

const DUE = 10;
const MANY = 10_000;
const AT_ONCE = 1_000;
const EVERY_MS = 10_000;
const TICKS = 20;
const START_MS = Date.parse("2026-01-01T00:00:00Z");

export const schedule: Figure = { name: "schedule", measure };

async function measure({ blocks }: BenchWorld): Promise<readonly Row[]> {
  const many = await openTicking(MANY);
  const few = await openTicking(DUE);
  try {
    return [
      {
        name: `a tick with ${MANY.toLocaleString("en")} jobs ÷ with ${DUE}`,
        ...ratioOf(await measureBlocks(blocks, many.tickMs, few.tickMs)),
        unit: "",
        bound: { is: "at most", must: 2 },
        note: `${DUE} slots are settled in each`,
      },
    ];
  } finally {
    await many.close();
    await few.close();
  }
}

async function openTicking(count: number) {
  const directory = await temporaryDirectory();
  await makeHome(directory);
  const store = await openSqliteStore({ home: directory, clock: systemClock, random: systemRandomness });
  for (let from = 0; from < count; from += AT_ONCE) {
    const numbers = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, at) => from + at);
    await store.commit(numbers.map(jobOf), "barrier");
  }
  let nowMs = START_MS;
  let onArmed = (): void => {};
  const clock: Clock = {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    wake: () => {
      onArmed();
      return () => {};
    },
    afterThisTurn: systemClock.afterThisTurn,
  };
  const scheduler = new Scheduler({
    ...{ store, clock, assistant: { submit: async () => refuse("queue.full", "no run is measured") } },
    sessions: { find: async () => null, findByKey: async () => null, draft: () => Promise.reject() as never },
    isAccepted: async () => true,
    onDefect: (error) => {
      throw error;
    },
  });
  const checked = (begin: () => void): Promise<void> =>
    new Promise((resolve) => {
      onArmed = resolve;
      begin();
    });
  await checked(() => scheduler.start());
  const tickMs = async (): Promise<number> => {
    let totalMs = 0;
    for (let tick = 0; tick < TICKS; tick += 1) {
      nowMs += EVERY_MS;
      totalMs += await elapsedMs(() => checked(() => scheduler.changed()));
    }
    const job = await store.findJob("job_0");
    if (job === null || job.counts.skipped === 0) throw new Error("nothing was settled");
    return totalMs / TICKS;
  };
  const close = async (): Promise<void> => {
    await scheduler.stop();
    await store.close();
    await removeDirectory(directory);
  };
  return { tickMs, close };
}

function jobOf(number: number): Write {
  const isDue = number < DUE;
  const everyMs = isDue ? EVERY_MS : 366 * 86_400_000;
  const schedule = isDue ? "@every 10s" : "@every 8784h";
  // Without a message its slots are skipped.
  const record = { id: `job_${number}`, agentID: "main", schedule, message: null, enabled: true, lastRun: null };
  const terms = {
    ...({
      createdAt: timestampOf(START_MS),
      principal: "operator",
      channel: "cli",
      channelClass: "cli_local",
    } as const),
    ...{ labels: USER_LABELS, runId: null, sessionId: null, reply: null, isUnattended: null, maxSpendUsd: null },
  };
  return { type: "add-job", job: { record, terms, dueMs: START_MS + everyMs, everyMs }, maxJobs: MANY };
}
