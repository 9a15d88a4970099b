/**
 * Which slots of a job are due, and when the next one is (O-4.3, X-11). Time comes in as arguments; it may jump.
 *
 * D1. Of the slots that are due at a check one has its turn, the latest; the earlier ones were missed. So a job runs at most
 *     once per check, and a gap costs one calculation however long it was.
 * D2. After a late run the next slot is one interval after that run; after one on time, one interval after its slot, so that
 *     the lateness of timers does not add up.
 * D3. A slot further away than the interval was planned by a clock that went back since: it is planned again. It was never
 *     due, so it is the same slot.
 * D4. A one-shot keeps its time: due once, also long after it, and also after a pause.
 */
import type { Schedule } from "./parse-schedule.ts";

/** Slots in a row. */
export interface SlotRange {
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

export interface DueSlots {
  readonly missed: SlotRange | null;
  /** The slot that runs, or is skipped for a reason; null when none is due. */
  readonly turnMs: number | null;
  /** Null: there is none. */
  readonly nextMs: number | null;
}

/** A timer that fires this late was on time. */
const ON_TIME_MS = 1_000;

export function firstSlot(schedule: Schedule, nowMs: number): number {
  return schedule.kind === "once" ? schedule.atMs : nowMs + schedule.everyMs;
}

export function dueSlots(schedule: Schedule, dueMs: number, nowMs: number): DueSlots {
  if (schedule.kind === "once") {
    return dueMs <= nowMs
      ? { missed: null, turnMs: dueMs, nextMs: null }
      : { missed: null, turnMs: null, nextMs: dueMs };
  }
  const { everyMs } = schedule;
  if (dueMs > nowMs) return { missed: null, turnMs: null, nextMs: Math.min(dueMs, nowMs + everyMs) };
  const count = slotsUpTo(dueMs, everyMs, nowMs);
  const turnMs = dueMs + (count - 1) * everyMs;
  const isOnTime = count === 1 && nowMs - turnMs <= ON_TIME_MS;
  return {
    missed: rangeOf(dueMs, everyMs, count - 1),
    turnMs,
    nextMs: (isOnTime ? turnMs : nowMs) + everyMs,
  };
}

export interface HeldSlots {
  /** Due before the pause began. */
  readonly missed: SlotRange | null;
  /** Due during the pause. */
  readonly skipped: SlotRange | null;
  readonly nextMs: number;
}

/** What a pause since `heldSinceMs` has come to. An interval keeps its rhythm; a one-shot waits for its turn (D4). */
export function heldSlots(schedule: Schedule, dueMs: number, heldSinceMs: number, nowMs: number): HeldSlots {
  if (schedule.kind === "once") return { missed: null, skipped: null, nextMs: dueMs };
  const { everyMs } = schedule;
  if (dueMs > nowMs) return { missed: null, skipped: null, nextMs: Math.min(dueMs, nowMs + everyMs) };
  const count = slotsUpTo(dueMs, everyMs, nowMs);
  const before = Math.min(count, slotsUpTo(dueMs, everyMs, heldSinceMs));
  return {
    missed: rangeOf(dueMs, everyMs, before),
    skipped: rangeOf(dueMs + before * everyMs, everyMs, count - before),
    nextMs: dueMs + count * everyMs,
  };
}

function slotsUpTo(dueMs: number, everyMs: number, nowMs: number): number {
  return nowMs < dueMs ? 0 : Math.floor((nowMs - dueMs) / everyMs) + 1;
}

function rangeOf(firstMs: number, everyMs: number, count: number): SlotRange | null {
  return count === 0 ? null : { count, firstMs, lastMs: firstMs + (count - 1) * everyMs };
}
