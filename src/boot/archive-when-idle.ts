/**
 * When ended runs are compressed: some time after their end, while nothing is at work, a few at a time. What is not due
 * yet is looked at again once, so a home in which nothing happens has no timer.
 */
import { type Clock, timestampOf } from "../runtime/ports/clock.ts";
import { type Store, StoreError } from "../runtime/ports/store.ts";

interface ArchiveParts {
  readonly store: Pick<Store, "archive">;
  readonly clock: Pick<Clock, "nowMs" | "wake">;
  readonly isBusy: () => boolean;
  readonly onError: (error: unknown) => void;
}

/** A conversation that goes on reads its last turns often. */
const AFTER_MS = 600_000;
const RUNS_AT_ONCE = 20;
/** Between two batches the writer is free for others. */
const PAUSE_MS = 50;

export function archiveWhenIdle({ store, clock, isBusy, onError }: ArchiveParts) {
  let cancel: (() => void) | null = null;
  let isClosed = false;

  const wakeIn = (ms: number, isLast: boolean): void => {
    if (isClosed) return;
    cancel?.();
    cancel = clock.wake(ms, () => {
      cancel = null;
      archive(isLast).catch((error: unknown) => {
        const isAway = error instanceof StoreError && ["store.closed", "store.unavailable"].includes(error.code);
        if (!isAway) onError(error);
      });
    });
  };

  const archive = async (isLast: boolean): Promise<void> => {
    if (isBusy()) return wakeIn(AFTER_MS, isLast);
    const isMore = await store.archive(timestampOf(clock.nowMs() - AFTER_MS), RUNS_AT_ONCE);
    if (isMore) wakeIn(PAUSE_MS, isLast);
    else if (!isLast) wakeIn(AFTER_MS, true);
  };

  return {
    /** Runs have ended, or the home was opened. */
    wake: (): void => wakeIn(PAUSE_MS, false),
    close: (): void => {
      isClosed = true;
      cancel?.();
    },
  };
}
