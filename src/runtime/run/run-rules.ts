/**
 * When a run and its journal may be written.
 *
 * R1. An append continues the head under the epoch its writer knows, or repeats what is recorded there; anything else
 *     is fenced.
 * R2. An epoch only grows. A run that has ended keeps its status and outcome, and can no longer be cancelled.
 */
import type { Hash } from "../../kernel/vocabulary/identifiers.ts";
import type { Outcome } from "../../kernel/vocabulary/outcome.ts";
import { type RunStatus, StoreError } from "../ports/store.ts";
import type { WriteVerdict } from "../ports/write-verdict.ts";

/** The source of a run that condenses its session: no turn of the conversation, and no message of anyone. */
export const COMPACTION_SOURCE = "compaction";

export interface JournalHead {
  readonly epoch: number;
  readonly seq: number;
  readonly hash: Hash;
}

export interface Append {
  readonly epoch: number;
  readonly after: { readonly seq: number; readonly hash: Hash };
  /** How many entries are appended, and the hash of the last. */
  readonly count: number;
  readonly head: Hash;
}

const ENDED: ReadonlySet<RunStatus> = new Set(["completed", "failed", "cancelled"]);

/** `recorded`: the hash of the journal's entry `after.seq + count`; null when the journal is shorter. */
export function checkAppend(head: JournalHead, append: Append, recorded: Hash | null): WriteVerdict {
  const { epoch, after, count } = append;
  if (head.epoch !== epoch) return fenced();
  if (head.seq === after.seq && head.hash === after.hash) return count > 0 ? "write" : "skip";
  // A hash covers everything before it: equal hashes mean equal journals.
  return count > 0 && recorded === append.head ? "skip" : fenced();
}

/** Once a run has begun, its journal holds what it was accepted with. */
export function checkCompleteAcceptance({ seq }: Pick<JournalHead, "seq">): WriteVerdict {
  return seq === 0 ? "write" : conflict("The run has begun, so what it was accepted with cannot change.");
}

export function checkClaim({ epoch }: { readonly epoch: number }, claimed: number): WriteVerdict {
  return claimed > epoch ? "write" : fenced();
}

export function checkSetStatus(current: RunStatus, next: RunStatus): WriteVerdict {
  if (current === next) return "skip";
  return ENDED.has(current) ? conflict("The run has ended, so its status cannot change.") : "write";
}

/** `sealed`: the outcome of a run that has ended. */
export function checkSeal(current: RunStatus, sealed: Outcome | null, outcome: Outcome): WriteVerdict {
  if (!ENDED.has(current)) return "write";
  return sealed === outcome ? "skip" : conflict("The run has already ended with another outcome.");
}

export function checkCancel(current: RunStatus, cancelledBy: string | null): WriteVerdict {
  return cancelledBy !== null || ENDED.has(current) ? "skip" : "write";
}

function fenced(): StoreError {
  return new StoreError("store.fenced", "Another writer has continued this run. Read the run again before writing.");
}

function conflict(message: string): StoreError {
  return new StoreError("store.conflict", message);
}
