/**
 * When a job may be added and a slot settled.
 *
 * J1. A slot is settled once: only the job's next slot can be, and settling moves on to the one after.
 * J2. A job that is paused, removed or changed from outside runs nothing, however late that is noticed.
 */
import type { LedgerDraft } from "../../kernel/journal/ledger.ts";
import { timestampOf } from "../../runtime/ports/clock.ts";
import { StoreError } from "../../runtime/ports/store.ts";
import type { JobWrite, SettledSlots, StoredJob } from "../../runtime/ports/stored-job.ts";
import type { WriteVerdict } from "../../runtime/ports/write-verdict.ts";

type Settling = Extract<JobWrite, { type: "settle-slots" }>;

/** Of each job so many rows are kept, the last ones; the ledger keeps all. */
export const KEPT_SLOTS = 1_000;

export function checkAddJob(found: StoredJob | null, count: number, maxJobs: number): WriteVerdict {
  if (found !== null) return new StoreError("store.conflict", "There is a job of this id.");
  return count < maxJobs ? "write" : new StoreError("store.conflict", "There are as many jobs as there may be.");
}

export function checkSettleSlots(
  job: Omit<StoredJob, "isForged"> | null,
  isForged: boolean,
  isAllPaused: boolean,
  { slot, settled }: Settling,
): WriteVerdict {
  if (job === null || job.slot !== slot || job.dueMs === null) {
    return new StoreError("store.conflict", "This slot was settled before.");
  }
  const runs = settled.some(({ status }) => status === "ran");
  if (runs && (isForged || isAllPaused || job.pausedAtMs !== null)) {
    return new StoreError("store.conflict", "The job was paused or changed meanwhile.");
  }
  return "write";
}

export function slotDraft(
  jobId: string,
  { status, reason, runId, count, firstMs, lastMs }: SettledSlots,
  atMs: number,
): LedgerDraft<"slot.settled"> {
  const until = count === 1 ? {} : { slots: count, until: timestampOf(lastMs) };
  const data = { jobId, dueAt: timestampOf(firstMs), status, reason, runId, ...until };
  return { kind: "slot.settled", ts: timestampOf(atMs), actor: "scheduler", data };
}
