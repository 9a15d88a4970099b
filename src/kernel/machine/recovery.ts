/**
 * Failing tools: recovery mode and its end (O-2.2 to O-2.4).
 *
 * Y1. After 2 failing results in a row the next model turn, not the rest of this one, runs in recovery; a success
 *     later in the same batch does not change that.
 * Y2. 3 more failing results while in recovery escalate to the user.
 * Y3. Recovery ends after 2 successes in a row, never after a single one.
 */
import type { Recovery } from "../journal/entry.ts";

const FAILURES_TO_RECOVER = 2;
const FAILURES_TO_ESCALATE = 3;
const SUCCESSES_TO_CLEAR = 2;

export const CALM: Recovery = { active: false, failuresInARow: 0, failuresInRecovery: 0, successesInARow: 0 };

export function afterResult(recovery: Recovery, ok: boolean): Recovery {
  if (!ok) {
    return {
      active: recovery.active,
      failuresInARow: recovery.failuresInARow + 1,
      failuresInRecovery: recovery.failuresInRecovery + (recovery.active ? 1 : 0),
      successesInARow: 0,
    };
  }
  const successesInARow = recovery.successesInARow + 1;
  if (isFailing(recovery) && successesInARow >= SUCCESSES_TO_CLEAR) return CALM;
  const failuresInARow = recovery.active || !isFailing(recovery) ? 0 : recovery.failuresInARow;
  return { ...recovery, failuresInARow, successesInARow };
}

/** At COMMIT, so that recovery begins with the next turn (Y1). */
export function enterRecoveryIfFailing(recovery: Recovery): Recovery {
  if (recovery.active || !isFailing(recovery)) return recovery;
  return { ...recovery, active: true, failuresInRecovery: 0, successesInARow: 0 };
}

export function hasEscalated(recovery: Recovery): boolean {
  return recovery.active && recovery.failuresInRecovery >= FAILURES_TO_ESCALATE;
}

function isFailing({ active, failuresInARow }: Recovery): boolean {
  return active || failuresInARow >= FAILURES_TO_RECOVER;
}
