/**
 * Turns that were imported: tables, reads, the write. `imports` says which conversations have been taken over, so that none is
 * twice. When they may be written: src/runtime/imports/import-rules.ts.
 */
import type { SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { checkImportTurns } from "../../runtime/imports/import-rules.ts";
import type { RunRange, StoredImportedTurn } from "../../runtime/ports/stored-session.ts";
import type { Prepare, Tables } from "./connection.ts";
import { findSession } from "./sessions.ts";
import { mayWrite, type WriteHandlers } from "./transaction.ts";

export const IMPORT_TABLES: Tables = {
  8: `
  ALTER TABLE sessions ADD COLUMN imported_messages INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE imports (source TEXT PRIMARY KEY, session INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE imported_turns (
    session INTEGER NOT NULL, position INTEGER NOT NULL, turn TEXT NOT NULL, PRIMARY KEY (session, position)
  ) STRICT, WITHOUT ROWID;`,
};

const TURNS = `
  SELECT position, turn FROM imported_turns WHERE session = (SELECT position FROM sessions WHERE id = ?)
    AND position > ? AND position < ? ORDER BY position DESC LIMIT ?`;

export const IMPORT_WRITES: WriteHandlers<"import-turns"> = {
  "import-turns"({ prepare, heads }, { sessionId, source, activeAt, turns, messages }) {
    if (!mayWrite(checkImportTurns(findImport(prepare, source), findSession(prepare, sessionId)))) return;
    const session = heads.session(sessionId);
    prepare("INSERT INTO imports VALUES (?, ?)").run(source, session);
    const insert = prepare("INSERT INTO imported_turns VALUES (?, ?, ?)");
    for (const [at, turn] of turns.entries()) insert.run(session, at - turns.length, turn);
    const touch = prepare("UPDATE sessions SET imported_messages = ?, active_at = ? WHERE position = ?");
    touch.run(messages, activeAt, session);
  },
};

export function findImport(prepare: Prepare, source: string): SessionId | null {
  const found = prepare("SELECT id FROM sessions WHERE position = (SELECT session FROM imports WHERE source = ?)");
  return (found.get(source)?.["id"] ?? null) as SessionId | null;
}

export function importedTurns(
  prepare: Prepare,
  sessionId: SessionId,
  { after, before }: RunRange,
  limit: number,
): readonly StoredImportedTurn[] {
  const rows = prepare(TURNS).all(
    sessionId,
    after === 0 ? -Number.MAX_SAFE_INTEGER : after,
    Math.min(before, 0),
    limit,
  );
  return rows.map((row) => ({ ...row }) as unknown as StoredImportedTurn).reverse();
}
