/**
 * Rows that the ledger vouches for: what of each table is recorded, in the transaction of every write to it, and the
 * comparison with what is there now. What a record is worth: src/kernel/journal/recorded-row.ts.
 */
import type { LedgerDraft, RecordedTable } from "../../kernel/journal/ledger.ts";
import { isRecorded, type RecordedRow, recordRemoval, recordRow, rowHash } from "../../kernel/journal/recorded-row.ts";
import type { Page, PresentRow } from "../../runtime/ports/store.ts";
import { needsRecord } from "../../runtime/sessions/session-rules.ts";
import type { Prepare, Tables } from "./connection.ts";
import type { Transaction } from "./transaction.ts";

export const RECORDED_ROW_TABLES: Tables = {
  // Finds the last entry about a row without reading the ledger.
  9: `
  CREATE INDEX recorded_rows ON ledger (line ->> '$.data.table', line ->> '$.data.row_id')
    WHERE instr(line, '"kind":"row.recorded"') > 0 AND json_valid(line);`,
};

interface Recorded {
  readonly from: string;
  /** Its columns name a row; their values, joined by colons, are its id in the ledger. */
  readonly key: readonly string[];
  readonly content: readonly string[];
}

const RECORDED: Readonly<Record<RecordedTable, Recorded>> = {
  sessions: {
    from: "sessions",
    key: ["id"],
    content: ["agent_id", "key", "channel", "sender_id", "created_at", "title", "settings"],
  },
  session_routes: {
    from: "session_routes r LEFT JOIN sessions s ON s.position = r.session",
    key: ["r.key"],
    content: ["s.id"],
  },
  checkpoints: {
    from: "checkpoints c JOIN sessions s ON s.position = c.session",
    key: ["s.id"],
    content: ["c.revision", "c.updated_at", "c.state", "c.summary", "c.condensed_through"],
  },
  pairings: {
    from: "pairings",
    key: ["channel", "sender_id"],
    content: ["sender_name", "state", "code", "requested_at_ms", "expires_at_ms", "decided_by", "decided_at"],
  },
  inbox: {
    from: "inbox i LEFT JOIN runs r ON r.position = i.run",
    key: ["i.channel", "i.message_id"],
    content: ["i.state", "r.id", "i.received_at"],
  },
  outbox: {
    from: "outbox",
    key: ["id"],
    // Of the answer of a run its journal says what it is.
    content: [
      ...["run_id", "channel", "recipient", "CASE WHEN run_id IS NULL THEN text END"],
      ...["created_at", "state", "attempts", "next_at_ms", "problem"],
    ],
  },
  tokens: {
    from: "tokens",
    key: ["id"],
    content: ["name", "digest", "scope", "channel", "sender_id", "created_at_ms", "expires_at_ms"],
  },
  browsers: {
    from: "browsers",
    key: ["id"],
    // Not when it was seen: that changes all the time, and lets no one in who was not let in before.
    content: ["digest", "user_agent", "created_at_ms", "expires_at_ms"],
  },
  secrets: { from: "secrets", key: ["name"], content: ["sealed", "updated_at_ms"] },
  jobs: {
    from: "jobs",
    key: ["id"],
    // Not what its slots change: the ledger has an entry for each.
    content: ["json_remove(record, '$.lastRun')", "terms"],
  },
};

const selectOf = ({ from, key, content }: Recorded): string => `SELECT ${[...key, ...content].map(named)} FROM ${from}`;
const named = (column: string, at: number): string => `${column} AS c${at}`;
/** SQLite uses the index `recorded_rows` only for these very expressions. */
const LAST_RECORD = `
  SELECT line FROM ledger
  WHERE instr(line, '"kind":"row.recorded"') > 0 AND json_valid(line)
    AND line ->> '$.data.table' = ? AND line ->> '$.data.row_id' = ?
  ORDER BY seq DESC LIMIT 1`;

function toRow(table: RecordedTable, columns: Readonly<Record<string, unknown>>): RecordedRow {
  const values = Object.values(columns) as (string | number | null)[];
  const { length } = RECORDED[table].key;
  return { table, rowId: values.slice(0, length).join(":"), content: values.slice(length) };
}

function findRow(prepare: Prepare, table: RecordedTable, key: readonly string[]): RecordedRow | null {
  const where = RECORDED[table].key.map((column) => `${column} = ?`).join(" AND ");
  const found = prepare(`${selectOf(RECORDED[table])} WHERE ${where}`).get(...key);
  return found === undefined ? null : toRow(table, found);
}

function lastRecord(prepare: Prepare, { table, rowId }: Pick<RecordedRow, "table" | "rowId">): string | null {
  const found = prepare(LAST_RECORD).get(table, rowId);
  return found === undefined ? null : String(found["line"]);
}

/** True also of a row that is not there. */
export function isAsRecorded(prepare: Prepare, table: RecordedTable, ...key: readonly string[]): boolean {
  const row = findRow(prepare, table, key);
  if (row === null) return true;
  const line = lastRecord(prepare, row);
  return line === null ? !mustBeRecorded(row) : isRecorded(row, line);
}

function mustBeRecorded({ table, content }: RecordedRow): boolean {
  if (table !== "sessions") return true;
  const [, key, , , , title, settings] = content;
  return needsRecord(String(key), title as string | null, String(settings));
}

/** Records a row as it is now, or that it is gone. */
export function record(
  { prepare, appendLedger }: Pick<Transaction, "prepare" | "appendLedger">,
  ts: string,
  table: RecordedTable,
  ...key: readonly string[]
): void {
  const row = findRow(prepare, table, key);
  if (row === null) appendLedger(recordRemoval({ table, rowId: key.join(":") }, ts));
  else if (mustBeRecorded(row) || lastRecord(prepare, row) !== null) appendLedger(recordRow(row, ts));
}

export const RECORDED_ROW_LISTS = {
  recordedRows(prepare: Prepare, table: RecordedTable, { limit, offset }: Page): readonly PresentRow[] {
    const order = RECORDED[table].key.join(", ");
    const rows = prepare(`${selectOf(RECORDED[table])} ORDER BY ${order} LIMIT ? OFFSET ?`).all(limit, offset);
    return rows.map((columns) => {
      const row = toRow(table, columns);
      // Secrets of earlier versions have no record. One that is invented does not open with the home's key.
      const needsRecord = table !== "secrets" && mustBeRecorded(row);
      return { rowId: row.rowId, rowHash: rowHash(row), needsRecord };
    });
  },
};

const LAST_PAIRING = `
  SELECT line ->> '$.kind' AS kind FROM ledger
  WHERE instr(line, '"kind":"pair.') > 0 AND json_valid(line)
    AND line ->> '$.data.channel' = ? AND line ->> '$.data.sender' = ?
  ORDER BY seq DESC LIMIT 1`;

/** Of a home of an earlier version: every row as it is, except acceptances that its ledger does not know. */
export function recordEarlierRows(prepare: Prepare, appendLedger: (draft: LedgerDraft<"row.recorded">) => void): void {
  const last = prepare("SELECT line ->> '$.ts' AS ts FROM ledger ORDER BY seq DESC LIMIT 1").get();
  const ts = String(last?.["ts"] ?? new Date(0).toISOString());
  for (const table of Object.keys(RECORDED) as RecordedTable[]) {
    for (const columns of prepare(selectOf(RECORDED[table])).iterate()) {
      const row = toRow(table, columns);
      if (table === "pairings" && !isKnownPairing(prepare, columns)) continue;
      if (mustBeRecorded(row)) appendLedger(recordRow(row, ts));
    }
  }
}

function isKnownPairing(prepare: Prepare, { c0: channel, c1: sender, c3: state }: Record<string, unknown>): boolean {
  if (state === "pending") return true;
  const last = prepare(LAST_PAIRING).get(String(channel), String(sender))?.["kind"];
  return last === (state === "accepted" ? "pair.accepted" : "pair.denied");
}
