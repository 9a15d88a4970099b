/** Whether a dispatched call may be repeated after a crash. */
import type { PlannedCall } from "../journal/event.ts";

/** It changes nothing: it may run beside others, be repeated, and be abandoned. */
export function isHarmless({ child, risk, idempotency }: PlannedCall): boolean {
  return child === null && risk === "read_only" && idempotency === "read_only";
}

/** Repeating it has no further effect. A child is found again by its derived id. */
export function isRepeatable(call: PlannedCall): boolean {
  if (call.child !== null || isHarmless(call)) return true;
  return call.idempotency === "own_store" || (call.idempotency === "keyed" && call.idempotencyKey !== null);
}
