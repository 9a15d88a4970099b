/**
 * A year of the scheduler over the real store, out of a seed (F5): restarts in the middle of a check, a full queue, pauses of one
 * job and of all, and a clock that jumps by hours, days, to 1970 and ten years ahead. Ends with what was violated.
 *
 * The count of due slots is worked out here a second time, from what was planned when each settlement was written.
 */
import type { SqliteStore } from "../../../src/adapters/store-sqlite/open-sqlite-store.ts";
import type { Assistant } from "../../../src/assistant/runs/open-assistant.ts";
import { Jobs, type JobsParts } from "../../../src/assistant/schedule/jobs.ts";
import { Scheduler } from "../../../src/assistant/schedule/scheduler.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import { parseSchedule } from "../../../src/kernel/schedule/parse-schedule.ts";
import { asRunId, asSessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { USER_LABELS } from "../../../src/kernel/vocabulary/labels.ts";
import { refuse } from "../../../src/runtime/operations/operation.ts";
import type { Clock } from "../../../src/runtime/ports/clock.ts";
import type { Store, Write } from "../../../src/runtime/ports/store.ts";
import { temporaryHome } from "../../adapters/store-sqlite/temporary-home.ts";
import { derive } from "../../simulate/random.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;
const START = Date.parse("2026-01-01T00:00:00Z");
const JUMPS = [-HOUR, HOUR, -DAY, DAY, -START, 10 * YEAR] as const;
const PAGE = { limit: 500, offset: 0 } as const;

/** Wall and monotonic time, moved by hand; timers fire in their order. */
class JumpingClock implements Clock {
  #monotonicMs = 0;
  #wallMs = START;
  #timers: { readonly dueMs: number; readonly callback: () => void }[] = [];

  nowMs = (): number => this.#wallMs + this.#monotonicMs;
  monotonicMs = (): number => this.#monotonicMs;
  afterThisTurn = systemClock.afterThisTurn;

  wake = (delayMs: number, callback: () => void): (() => void) => {
    const timer = { dueMs: this.#monotonicMs + delayMs, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((each) => each !== timer);
    };
  };

  get armed(): number {
    return this.#timers.length;
  }

  jump(byMs: number): void {
    this.#wallMs += byMs;
  }

  /** No process runs: no timer fires. */
  sleep(ms: number): void {
    this.#monotonicMs += ms;
    this.#timers = [];
  }

  /** To the next timer, or by `mostMs`; says how far. */
  step(mostMs: number): number {
    const next = this.#timers.toSorted((a, b) => a.dueMs - b.dueMs)[0];
    const byMs = next === undefined ? mostMs : Math.min(mostMs, Math.max(0, next.dueMs - this.#monotonicMs));
    this.#monotonicMs += byMs;
    if (next !== undefined && next.dueMs <= this.#monotonicMs) {
      this.#timers = this.#timers.filter((each) => each !== next);
      next.callback();
    }
    return byMs;
  }
}

export interface SimulatedSchedule {
  readonly violations: readonly string[];
  readonly slots: Readonly<Record<"ran" | "skipped" | "missed", number>>;
  readonly restarts: number;
  readonly jumps: number;
}

export async function simulateSchedule(seed: number, days: number): Promise<SimulatedSchedule> {
  const random = derive(seed, "schedule");
  const home = temporaryHome();
  const clock = new JumpingClock();
  const violations: string[] = [];
  /** Runs that were accepted, by job, as an outside ledger counts them. */
  const accepted = new Map<string, string[]>();
  let restarts = 0;
  let jumps = 0;
  let runs = 0;
  let processes = 0;

  /** Counts what each settlement settles against what was due. */
  const watching = (store: Store): Store => ({
    ...store,
    commit: async (writes, urgency) => {
      for (const write of writes) if (write.type === "settle-slots") await checkSettlement(store, write);
      return await store.commit(writes, urgency);
    },
  });

  async function checkSettlement(store: Store, write: Extract<Write, { type: "settle-slots" }>): Promise<void> {
    const job = await store.findJob(write.jobId);
    const parsed = job === null ? null : parseSchedule(job.record.schedule);
    if (job === null || parsed?.ok !== true || job.dueMs === null || job.slot !== write.slot) return;
    const { schedule } = parsed;
    const due =
      job.dueMs > write.atMs
        ? 0
        : schedule.kind === "once"
          ? 1
          : Math.floor((write.atMs - job.dueMs) / schedule.everyMs) + 1;
    const settled = write.settled.reduce((sum, { count }) => sum + count, 0);
    if (settled !== due) violations.push(`${write.jobId} slot ${write.slot}: ${due} were due, ${settled} were settled`);
    const ran = write.settled.filter(({ status }) => status === "ran");
    if (ran.length > 1 || ran.some(({ count }) => count !== 1)) violations.push(`${write.jobId}: a burst at one check`);
  }

  function openProcess(real: SqliteStore) {
    processes += 1;
    const store = watching(real);
    const chance = derive(seed, "process", processes);
    /** After a kill nothing of this process is heard any more. */
    let isDead = false;
    let isIdle = false;
    const never = new Promise<never>(() => {});
    const submit: Assistant["submit"] = async (request, also) => {
      if (isDead) return await never;
      if (chance.chance(3)) return refuse("queue.full", "full");
      if (chance.chance(1)) {
        isDead = true;
        return await never;
      }
      runs += 1;
      const runId = asRunId(`run_${runs}`);
      const jobId = request.source.slice("job:".length);
      try {
        await store.commit(also?.(runId) ?? [], "barrier");
      } catch {
        return refuse("conflict", "settled meanwhile");
      }
      accepted.set(jobId, [...(accepted.get(jobId) ?? []), runId]);
      if (chance.chance(1)) {
        isDead = true;
        return await never;
      }
      return { ok: true, runId, sessionId: asSessionId("s"), status: "queued", isRepeat: false };
    };
    const sessions = {
      find: async () => null,
      findByKey: async () => null,
      draft: (origin: object) => ({ sessionId: "s", ...origin }),
    };
    const scheduler = new Scheduler({
      store: {
        ...store,
        schedulePausedAtMs: async () => {
          const pausedAtMs = await store.schedulePausedAtMs();
          isIdle = pausedAtMs !== null;
          return pausedAtMs;
        },
        nextDueMs: async () => {
          const dueMs = await store.nextDueMs();
          isIdle = dueMs === null;
          return dueMs;
        },
      },
      ...{ clock, assistant: { submit }, sessions: sessions as never, isAccepted: async () => true },
      onDefect: (error) => violations.push(`a defect: ${error}`),
    });
    const jobs = new Jobs({
      ...{ store, clock, redactor: { redactText: (text: string) => ({ text }) } as JobsParts["redactor"] },
      ...{
        random: (count: number) => new Uint8Array(count).map(() => chance.below(256)),
        maxJobs: () => 100,
        timeZone: () => "UTC",
      },
      onChange: () => {
        isIdle = false;
        scheduler.changed();
      },
    });
    scheduler.start();
    return { scheduler, jobs, isDead: () => isDead, isIdle: () => isIdle };
  }

  let store = await home.open();
  let running = openProcess(store);
  /** Until the check under way has ended: it has set the timer, or found nothing to wait for. */
  const settle = async (): Promise<void> => {
    while (clock.armed === 0 && !running.isIdle() && !running.isDead()) {
      await new Promise<void>((resolve) => systemClock.afterThisTurn(resolve));
    }
  };
  const restart = async (): Promise<void> => {
    restarts += 1;
    // A killed process stops nothing.
    if (!running.isDead()) await running.scheduler.stop();
    await store.close();
    clock.sleep(random.between(0, 3 * DAY));
    store = await home.open();
    running = openProcess(store);
  };

  const origin = {
    ...({
      principal: "operator",
      channel: "cli",
      channelClass: "cli_local",
      labels: USER_LABELS,
      runId: null,
    } as const),
    ...{ sessionId: null, reply: null, isUnattended: null, maxSpendUsd: null },
  };
  const schedules = ["@every 48h", "@every 61h", "@every 168h", "@every 744h", "@every 8784h"];
  const times = Array.from({ length: 8 }, (_, at) =>
    new Date(START + (at - 1) * 40 * DAY + random.below(DAY)).toISOString(),
  );
  for (const [at, schedule] of [...schedules, ...times].entries()) {
    const added = await running.jobs.add(
      { id: `job_${at}`, agentId: "main", schedule, message: "x", enabled: true },
      origin,
    );
    if (!added.ok) violations.push(added.message);
  }

  for (let left = days * DAY; left > 0; ) {
    const rest = random.between(2 * DAY, 8 * DAY);
    await pass(rest);
    left -= rest;
    const act = random.weigh({ nothing: 50, restart: 8, jump: 16, pause: 12, pauseJob: 14 });
    if (act === "restart") await restart();
    if (act === "jump") {
      jumps += 1;
      const byMs = random.pick(JUMPS);
      clock.jump(byMs);
      await pass(2 * HOUR);
      if (Math.abs(byMs) > DAY) clock.jump(-byMs);
    }
    if (act === "pause" || act === "pauseJob") {
      const id = act === "pause" ? null : `job_${random.below(schedules.length + times.length)}`;
      await settle();
      await running.jobs.pause(id, "operator");
      await settle();
      await pass(random.between(HOUR, 5 * DAY));
      if (random.chance(30)) await restart();
      await running.jobs.resume(id, "operator");
    }
  }

  async function pass(ms: number): Promise<void> {
    for (let moved = 0; moved < ms; ) {
      if (running.isDead()) await restart();
      moved += clock.step(ms - moved);
      if (clock.armed === 0) await settle();
    }
  }

  if (running.isDead()) await restart();
  await pass(DAY);
  await running.jobs.resume(null, "operator");
  for (const [at] of [...schedules, ...times].entries()) await running.jobs.resume(`job_${at}`, "operator");
  await pass(DAY);
  await pass(DAY);

  const slots = { ran: 0, skipped: 0, missed: 0 };
  const jobs = await store.listJobs(PAGE);
  for (const { record, slot, counts, dueMs } of jobs) {
    const rows = (await store.listSlots(record.id, PAGE)).toReversed();
    let next = 1;
    const runIds: string[] = [];
    const counted = { ran: 0, skipped: 0, missed: 0 };
    for (const row of rows) {
      if (row.slot !== next) violations.push(`${record.id}: slot ${next} has ${row.slot < next ? "two ends" : "none"}`);
      next = row.slot + row.count;
      counted[row.status] += row.count;
      if (row.runId !== null) runIds.push(row.runId);
    }
    if (next !== slot) violations.push(`${record.id}: ${slot - 1} slots were due, ${next - 1} have an end`);
    if (JSON.stringify(counted) !== JSON.stringify(counts))
      violations.push(`${record.id}: its counts are not its slots'`);
    const outside = accepted.get(record.id) ?? [];
    if (JSON.stringify(runIds) !== JSON.stringify(outside)) {
      violations.push(`${record.id}: ${outside.length} runs were accepted, ${runIds.length} slots ran`);
    }
    if (!record.schedule.startsWith("@") && (counts.ran !== 1 || dueMs !== null || record.enabled)) {
      if (Date.parse(record.schedule) <= clock.nowMs())
        violations.push(`${record.id}: a one-shot ran ${counts.ran} times`);
    }
    for (const status of ["ran", "skipped", "missed"] as const) slots[status] += counts[status];
  }
  await running.scheduler.stop();
  await home.dispose();
  return { violations, slots, restarts, jumps };
}
