/** When content may be removed: nothing that is still at work may lose what it works on. */
import { StoreError } from "../ports/store.ts";
import type { WriteVerdict } from "../ports/write-verdict.ts";

export function checkEraseContent(hasOpenRun: boolean, isSending: boolean): WriteVerdict {
  if (hasOpenRun) return new StoreError("store.conflict", "A run of this conversation has not ended.");
  return isSending ? new StoreError("store.conflict", "An answer is being sent at this moment: try again.") : "write";
}
