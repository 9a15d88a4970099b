/**
 * Removes content for good: the table of what is left to do in files, reads and writes. When it may be removed:
 * src/runtime/erasure/erasure-rules.ts. Entries, contracts and the ledger stay: they hold refs, and a ref says nothing without
 * its salt. SQLite overwrites what is deleted (connection.ts, C5); the log is emptied by `purge`.
 */
import type { BodyRef, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { checkEraseContent } from "../../runtime/erasure/erasure-rules.ts";
import type { ErasedRun, PendingErasure, SessionMedia } from "../../runtime/ports/stored-erasure.ts";
import { type Prepare, type Tables, toBytes, toHex } from "./connection.ts";
import { eraseBodiesOf } from "./journal.ts";
import { forgetMemoriesOf } from "./memories.ts";
import { record } from "./recorded-rows.ts";
import { FIRST_ENDED_STATUS, runPosition, sessionPosition } from "./runs.ts";
import { mayWrite, type Transaction, type WriteHandlers } from "./transaction.ts";

/** `run` is 0 for what a session held beside its runs. */
export const ERASURE_TABLES: Tables = {
  16: `
  ALTER TABLE run_states ADD COLUMN erased_at TEXT;
  ALTER TABLE sessions ADD COLUMN erased_at TEXT;
  CREATE TABLE erasures (
    session INTEGER NOT NULL, run INTEGER NOT NULL, PRIMARY KEY (session, run)
  ) STRICT, WITHOUT ROWID;`,
};

/** An entry of the ledger with more refs than these would be long to read. */
const REFS_PER_ENTRY = 1_000;

const OPEN_RUN = `SELECT 1 FROM run_states WHERE session = ? AND status < ${FIRST_ENDED_STATUS} LIMIT 1`;
const DELIVERY = "SELECT id, state FROM outbox WHERE run_id = ?";
const WITHHOLD = `
  UPDATE outbox SET text = NULL, problem = CASE WHEN state LIKE 'waiting%' THEN 'It was forgotten before it was sent.' ELSE problem END,
    state = CASE WHEN state LIKE 'waiting%' THEN 'failed' ELSE state END WHERE id = ?`;

export const ERASURE_WRITES: WriteHandlers<"erase-content" | "finish-erasure"> = {
  "erase-content"(transaction, { sessionId, runs, copies, isWhole, at, actor }) {
    const { prepare, heads, appendLedger } = transaction;
    const session = heads.session(sessionId);
    const hasOpenRun = prepare(OPEN_RUN).get(session) !== undefined;
    const isSending = runs.some(({ runId }) => prepare(DELIVERY).get(runId)?.["state"] === "sending");
    if (!mayWrite(checkEraseContent(hasOpenRun, isSending))) return;
    for (const run of runs) {
      eraseRun(transaction, session, run, at);
      forgetMemoriesOf(transaction, run.runId, at, actor);
      appendRefs(run.refs, (refs) =>
        appendLedger({ kind: "body.erased", ts: at, actor, data: { refs, runId: run.runId } }),
      );
    }
    eraseBodies(prepare, session, sessionId, copies);
    if (!isWhole) return;
    const left = prepare("SELECT ref FROM bodies WHERE session = ?").all(session);
    const refs = left.map(({ ref }) => toHex<BodyRef>(ref as Uint8Array));
    appendRefs(refs, (some) => appendLedger({ kind: "body.erased", ts: at, actor, data: { refs: some, sessionId } }));
    eraseSession(transaction, session, sessionId, at);
  },

  "finish-erasure"({ prepare }, { done }) {
    const remove = prepare("DELETE FROM erasures WHERE session = ? AND run = ?");
    for (const { sessionId, runId } of done) {
      remove.run(sessionPosition(prepare, sessionId), runId === null ? 0 : runPosition(prepare, runId));
    }
  },
};

function appendRefs(refs: readonly BodyRef[], append: (refs: BodyRef[]) => void): void {
  for (let at = 0; at < refs.length; at += REFS_PER_ENTRY) append(refs.slice(at, at + REFS_PER_ENTRY));
}

function eraseRun(transaction: Transaction, session: number, { runId, refs }: ErasedRun, at: string): void {
  const { prepare, heads } = transaction;
  const { run } = heads.get(runId);
  eraseBodiesOf(prepare, run);
  const ofSession = prepare("SELECT id FROM sessions WHERE position = ?").get(session)?.["id"] as SessionId;
  eraseBodies(prepare, session, ofSession, refs);
  prepare("UPDATE run_states SET erased_at = ? WHERE run = ?").run(at, run);
  prepare("INSERT OR IGNORE INTO erasures VALUES (?, ?)").run(session, run);
  const delivery = prepare(DELIVERY).get(runId);
  if (delivery === undefined || delivery["state"] === "sent") return;
  prepare(WITHHOLD).run(String(delivery["id"]));
  record(transaction, at, "outbox", String(delivery["id"]));
}

function eraseBodies(prepare: Prepare, session: number, sessionId: SessionId, refs: readonly BodyRef[]): void {
  const remove = prepare("DELETE FROM bodies WHERE session = ? AND ref = ?");
  const forget = prepare("DELETE FROM media WHERE session_id = ? AND body_ref = ?");
  for (const ref of refs) {
    remove.run(session, toBytes(ref));
    forget.run(sessionId, toBytes(ref));
  }
}

function eraseSession(transaction: Transaction, session: number, sessionId: SessionId, at: string): void {
  const { prepare } = transaction;
  prepare("DELETE FROM bodies WHERE session = ?").run(session);
  prepare("DELETE FROM media WHERE session_id = ?").run(sessionId);
  prepare("DELETE FROM imported_turns WHERE session = ?").run(session);
  prepare(
    "UPDATE sessions SET title = NULL, settings = '{}', imported_messages = 0, erased_at = ? WHERE position = ?",
  ).run(at, session);
  record(transaction, at, "sessions", sessionId);
  if (prepare("DELETE FROM checkpoints WHERE session = ?").run(session).changes > 0) {
    record(transaction, at, "checkpoints", sessionId);
  }
  for (const { key } of prepare("SELECT key FROM session_routes WHERE session = ?").all(session)) {
    prepare("DELETE FROM session_routes WHERE key = ?").run(key as string);
    record(transaction, at, "session_routes", String(key));
  }
  prepare("INSERT OR IGNORE INTO erasures VALUES (?, 0)").run(session);
}

export function pendingErasures(prepare: Prepare): readonly PendingErasure[] {
  const rows = prepare(`
    SELECT s.id AS sessionId, r.id AS runId FROM erasures e JOIN sessions s ON s.position = e.session
    LEFT JOIN runs r ON r.position = e.run`);
  return rows.all().map((row) => ({ ...row }) as unknown as PendingErasure);
}

export function mediaOf(prepare: Prepare, sessionId: SessionId): readonly SessionMedia[] {
  const rows = prepare("SELECT type, name, bytes, body_ref FROM media WHERE session_id = ? AND body_ref IS NOT NULL");
  return rows.all(sessionId).map(({ type, name, bytes, body_ref }) => ({
    ...{ type: String(type), name: String(name), bytes: Number(bytes) },
    bodyRef: toHex<BodyRef>(body_ref as Uint8Array),
  }));
}
