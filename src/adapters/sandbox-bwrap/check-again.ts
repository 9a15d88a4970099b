/**
 * Believes for good that every property holds, and for a while that one does not: the machine may have been short of
 * something for a moment, or may have been put in order since. Callers at the same time share one check.
 */
import type { Clock } from "../../runtime/ports/clock.ts";

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;

type Check = () => Promise<readonly string[]>;

export function checkAgain(check: Check, clock: Pick<Clock, "monotonicMs">): Check {
  let latest: Promise<readonly string[]> | null = null;
  let waitMs = FIRST_WAIT_MS;
  let againAtMs = Number.POSITIVE_INFINITY;
  const believeForAWhile = (): void => {
    againAtMs = clock.monotonicMs() + waitMs;
    waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
  };
  return () => {
    if (latest !== null && clock.monotonicMs() < againAtMs) return latest;
    againAtMs = Number.POSITIVE_INFINITY;
    latest = check();
    latest.then((missing) => missing.length > 0 && believeForAWhile(), believeForAWhile);
    return latest;
  };
}
