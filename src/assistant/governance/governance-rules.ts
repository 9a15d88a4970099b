/**
 * When governance may write (M-P4d).
 *
 * R1. A tier moves on from what is stored, one version at a time: of two that read the same, one writes.
 * R2. A change that a run triggers is written only after that run has ended and its vector is stored.
 */

import { StoreError } from "../../runtime/ports/store.ts";
import type { StoredPolicyChange, StoredTier } from "../../runtime/ports/stored-governance.ts";
import type { WriteVerdict } from "../../runtime/ports/write-verdict.ts";

export function checkAdvanceTier(
  { version }: StoredTier,
  /** 0: nothing is stored. */
  storedVersion: number,
  change: StoredPolicyChange | null,
  /** Whether the change's run has a stored vector. */
  isMeasured: boolean,
): WriteVerdict {
  if (version !== storedVersion + 1) return conflict("Governance was changed by another writer; read it again.");
  if (change !== null && change.runId !== null && !isMeasured) {
    return conflict("The run that triggers this change has no stored measurement.");
  }
  return "write";
}

function conflict(message: string): StoreError {
  return new StoreError("store.conflict", message);
}
