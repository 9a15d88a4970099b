/** What a dispatched call promises about being done again (security: what tools promise after a crash). */
import type { PlannedCall } from "../journal/event.ts";

/** It changes nothing: it may overlap with its like, be repeated, and need not be waited for. */
export function isHarmless({ child, risk, idempotency }: PlannedCall): boolean {
  return child === null && risk === "read_only" && idempotency === "read_only";
}

/** Doing it again does no more than doing it once. A child is found again by its derived id. */
export function isRepeatable(call: PlannedCall): boolean {
  if (call.child !== null || isHarmless(call)) return true;
  return call.idempotency === "own_store" || (call.idempotency === "keyed" && call.idempotencyKey !== null);
}
