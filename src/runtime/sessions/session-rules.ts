/** Which sessions need an entry in the ledger, and when one may be used. */
import { StoreError } from "../ports/store.ts";
import type { WriteVerdict } from "../ports/write-verdict.ts";

/**
 * A session that one run began has the run's own key: no message is ever led there, so the entry of its run is enough. With a
 * title or settings it needs one of its own.
 */
export function needsRecord(key: string, title: string | null, settings: string): boolean {
  return key.split(":")[4] !== "run" || title !== null || settings !== "{}";
}

/** A row that another program changed is neither led to nor written over. */
export function checkUseSession(isForged: boolean): WriteVerdict {
  if (!isForged) return "write";
  return new StoreError("store.conflict", SESSION_FORGED);
}

export const SESSION_FORGED = "this session was changed outside of surety, so it is not used; run surety verify --home";
