/** Jobs of the scheduler and what became of their slots (O-4, X-11), as every store holds them. */
import type { SlotRange } from "../../kernel/schedule/due-slots.ts";
import type { RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import type { ChannelClass } from "../../kernel/vocabulary/risk.ts";
import type { ReplyAddress } from "./channel.ts";
import type { Page } from "./page.ts";

/** The seed's record (O-4.1), kept as JSON. */
export interface JobRecord {
  readonly id: string;
  /** Without an agent or a message its slots are skipped. */
  readonly agentID: string | null;
  readonly schedule: string;
  readonly message: string | null;
  readonly enabled: boolean;
  readonly lastRun: string | null;
}

/** What its runs may do and where their answers go; fixed when the job is made. */
export interface JobTerms {
  readonly createdAt: string;
  readonly principal: string;
  /** Where it was made: `cli`, `http`, a channel. */
  readonly channel: string;
  /** Its maker's. */
  readonly channelClass: ChannelClass;
  /** Of the context that made it; its message carries them. */
  readonly labels: Labels;
  /** The run that made it; null: an operator did. */
  readonly runId: RunId | null;
  /** The conversation it answers into; null: one of its own. */
  readonly sessionId: SessionId | null;
  /** Where answers are sent; null: nowhere. */
  readonly reply: ReplyAddress | null;
  /** Null: an operator is asked; otherwise calls that need an approval are denied. */
  readonly isUnattended: true | null;
  /** Of each of its runs; null: as configured. */
  readonly maxSpendUsd: number | null;
}

export interface NewJob {
  readonly record: JobRecord;
  readonly terms: JobTerms;
  readonly dueMs: number;
  /** Null: once. */
  readonly everyMs: number | null;
}

export interface SlotCounts {
  readonly ran: number;
  readonly skipped: number;
  readonly missed: number;
}

export interface StoredJob extends Omit<NewJob, "dueMs" | "everyMs"> {
  /** When its next slot is due; null: it has none left. */
  readonly dueMs: number | null;
  /** The number of its next slot, from 1. */
  readonly slot: number;
  /** Since when it is paused; null: it is not. */
  readonly pausedAtMs: number | null;
  /** Null: it has not run. */
  readonly lastRunId: RunId | null;
  readonly counts: SlotCounts;
  /** The row is not what the ledger recorded: another program changed it, and it does not run. */
  readonly isForged: boolean;
}

export const SLOT_STATUSES = ["ran", "skipped", "missed"] as const;
export type SlotStatus = (typeof SLOT_STATUSES)[number];

/** What became of slots in a row: of one, unless they were missed or skipped together. */
export interface SettledSlots extends SlotRange {
  readonly status: SlotStatus;
  /** Why it was skipped or missed; null: it ran. */
  readonly reason: string | null;
  readonly runId: RunId | null;
}

export interface StoredSlots extends SettledSlots {
  readonly jobId: string;
  /** The number of the first. */
  readonly slot: number;
  readonly settledAtMs: number;
}

/** Each with its ledger entry. */
export type JobWrite =
  /** `store.conflict` when there is a job of this id, or `maxJobs` of them. */
  | { readonly type: "add-job"; readonly job: NewJob; readonly maxJobs: number }
  /** Changes nothing when repeated. */
  | { readonly type: "remove-job"; readonly jobId: string; readonly by: string; readonly atMs: number }
  /** Pauses a job, or lets it go on. Changes nothing when repeated. */
  | {
      readonly type: "pause-job";
      readonly jobId: string;
      readonly isPaused: boolean;
      readonly by: string;
      readonly atMs: number;
    }
  /** The same for all. */
  | { readonly type: "pause-schedule"; readonly isPaused: boolean; readonly by: string; readonly atMs: number }
  /**
   * Settles slots from number `slot` on, and plans the next. With nothing to settle it plans that slot again.
   * `store.conflict` unless `slot` is the job's next; for a slot that ran, also when the job is paused.
   */
  | {
      readonly type: "settle-slots";
      readonly jobId: string;
      readonly slot: number;
      readonly settled: readonly SettledSlots[];
      /** Null: there is no next one, and the job is disabled. */
      readonly nextMs: number | null;
      readonly atMs: number;
    }
  /** An operator ran it by hand; no slot of its schedule. */
  | { readonly type: "note-job-run"; readonly jobId: string; readonly runId: RunId; readonly atMs: number };

export interface JobReads {
  findJob(id: string): Promise<StoredJob | null>;
  /** By their ids. */
  listJobs(page: Page): Promise<readonly StoredJob[]>;
  /** Not paused, with a slot due by then, the one due first leading. */
  dueJobs(byMs: number, limit: number): Promise<readonly StoredJob[]>;
  /** Not paused, with a next slot further away than their interval: a clock that went back planned it. */
  misplannedJobs(nowMs: number, limit: number): Promise<readonly StoredJob[]>;
  /** When the next slot of a job that is not paused is due; null: there is none. */
  nextDueMs(): Promise<number | null>;
  /** Since when all of them are paused; null: they are not. */
  schedulePausedAtMs(): Promise<number | null>;
  /** Of one job or of all, the last settled first. */
  listSlots(jobId: string | null, page: Page): Promise<readonly StoredSlots[]>;
}
