/** When turns may be imported: a conversation once, and into a session in which nothing was said here. */
import type { SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { StoreError } from "../ports/store.ts";
import type { StoredSession } from "../ports/stored-session.ts";
import type { WriteVerdict } from "../ports/write-verdict.ts";

export function checkImportTurns(importedTo: SessionId | null, session: StoredSession | null): WriteVerdict {
  if (importedTo !== null) return new StoreError("store.conflict", "This conversation has been imported before.");
  if (session === null) return new StoreError("store.conflict", "There is no such session.");
  const isNew = session.runs === 0 && session.importedMessages === 0;
  return isNew ? "write" : new StoreError("store.conflict", "Only a new session takes imported turns.");
}
