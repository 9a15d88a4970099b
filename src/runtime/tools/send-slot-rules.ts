/**
 * Slots for sends that need no approval (P-3.3).
 *
 * L1. At most `limit` slots are taken in the window that began at `sinceMs`. None is given back.
 * L2. A slot taken in the window stays as it is when it is asked for again; one taken earlier counts again.
 * L3. Slots are kept a day longer than they count, so that setting the clock forward and back frees none.
 */
import { StoreError } from "../ports/store.ts";
import type { WriteVerdict } from "../ports/write-verdict.ts";

export const SEND_SLOT_RETENTION_MS = 24 * 3_600_000;

/** `takenAtMs`: when this slot was last taken; `taken`: how many slots are taken in the window. */
export function checkTakeSendSlot(
  takenAtMs: number | null,
  taken: number,
  { sinceMs, limit }: { readonly sinceMs: number; readonly limit: number },
): WriteVerdict {
  if (takenAtMs !== null && takenAtMs > sinceMs) return "skip";
  // Asked this way round, a limit that is not a number refuses.
  if (taken < limit) return "write";
  return new StoreError("store.conflict", `All ${limit} sends without approval of this hour are used.`);
}
