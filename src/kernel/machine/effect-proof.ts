/**
 * Proof of required effects: a run cannot succeed without it (M-C, X-1). Denied and rejected calls prove nothing, but the
 * model did try: only a run that proposed no call ends as one without tools.
 */
import type { FailureReason } from "../vocabulary/failures.ts";
import { hasChange } from "./changes.ts";
import type { RunState } from "./state.ts";

/** Why a text-only answer must not count as success, or null when everything required is proven. */
export function missingProof({ contract, budget, effects, failedAttempts }: RunState): FailureReason | null {
  if (contract.toolPolicy === "required") {
    const hasTried =
      budget.performed > 0 || (hasChange(contract, "proof.refused-calls-were-tried") && failedAttempts.length > 0);
    if (!hasTried) return "protocol.no-tool-call";
    if (budget.succeeded === 0) return "tool.all-failed";
  }
  const unproven = contract.requiredEffects.findIndex((_, index) => !effects.proven.includes(index));
  if (unproven === -1) return null;
  return effects.attempted.includes(unproven) ? "effect.failed" : "effect.missing";
}
