/**
 * Failing tools: recovery mode and its end (O-2.2 to O-2.4). All of it is settled at COMMIT, so recovery begins with
 * the next model turn, and later calls of the same batch cannot hide a failure.
 */
import type { Recovery } from "../journal/entry.ts";

const FAILURES_TO_RECOVER = 2;
const FAILURES_TO_ESCALATE = 3;
const SUCCESSES_TO_CLEAR = 2;

export const CALM: Recovery = { active: false, failuresInARow: 0, failuresInRecovery: 0, successesInARow: 0 };

export function afterResult(recovery: Recovery, ok: boolean): Recovery {
  const { active, failuresInARow, failuresInRecovery, successesInARow } = recovery;
  if (ok) {
    const mustRecover = !active && failuresInARow >= FAILURES_TO_RECOVER;
    return { ...recovery, failuresInARow: mustRecover ? failuresInARow : 0, successesInARow: successesInARow + 1 };
  }
  return {
    active,
    failuresInARow: failuresInARow + 1,
    failuresInRecovery: failuresInRecovery + (active ? 1 : 0),
    successesInARow: 0,
  };
}

export function settleRecovery(recovery: Recovery): Recovery {
  const { active, failuresInARow, successesInARow } = recovery;
  if (hasEscalated(recovery)) return recovery;
  if (active) return successesInARow >= SUCCESSES_TO_CLEAR ? CALM : recovery;
  return failuresInARow >= FAILURES_TO_RECOVER ? { ...recovery, active: true, successesInARow: 0 } : recovery;
}

export function hasEscalated({ active, failuresInRecovery }: Recovery): boolean {
  return active && failuresInRecovery >= FAILURES_TO_ESCALATE;
}
