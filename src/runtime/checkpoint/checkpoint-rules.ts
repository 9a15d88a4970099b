/** When a session's checkpoint may be written: its revision grows by one, and a stale one is refused (S-1.2). */
import { StoreError } from "../ports/store.ts";
import type { StoredCheckpoint } from "../ports/stored-session.ts";
import type { WriteVerdict } from "../ports/write-verdict.ts";

export function checkWriteCheckpoint(stored: StoredCheckpoint | null, next: StoredCheckpoint): WriteVerdict {
  if (next.revision === (stored?.revision ?? 0) + 1) return "write";
  const isRepeat = stored !== null && stored.revision === next.revision && isSame(stored, next);
  return isRepeat ? "skip" : new StoreError("store.conflict", "The session has changed meanwhile: read it again.");
}

function isSame(one: StoredCheckpoint, other: StoredCheckpoint): boolean {
  const { state, summary, condensedThrough } = other;
  return one.state === state && one.summary === summary && one.condensedThrough === condensedThrough;
}
