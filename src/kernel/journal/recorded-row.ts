/**
 * Rows that the ledger vouches for: what the ledger last recorded of a row is the hash of the row as surety wrote it.
 *
 * R1. A row counts only if the last entry about it is intact and records exactly this content. An edited row, an invented
 *     one, and an earlier state that was put back are all refused.
 * R2. The hash is over ids, states and short texts. Answers of runs are left out: their journals vouch for them.
 */
import { hashCanonical } from "../vocabulary/hash.ts";
import type { Hash } from "../vocabulary/identifiers.ts";
import { fromWire } from "../vocabulary/wire-case.ts";
import { isIntact, type LedgerDraft, type LedgerEntry, type RecordedTable } from "./ledger.ts";

export interface RecordedRow {
  readonly table: RecordedTable;
  readonly rowId: string;
  readonly content: readonly (string | number | null)[];
}

export function rowHash({ table, rowId, content }: RecordedRow): Hash {
  return hashCanonical([table, rowId, ...content]);
}

export function recordRow(row: RecordedRow, ts: string): LedgerDraft<"row.recorded"> {
  return {
    kind: "row.recorded",
    ts,
    actor: "system",
    data: { table: row.table, rowId: row.rowId, rowHash: rowHash(row) },
  };
}

export function recordRemoval({ table, rowId }: Omit<RecordedRow, "content">, ts: string): LedgerDraft<"row.recorded"> {
  return { kind: "row.recorded", ts, actor: "system", data: { table, rowId, rowHash: null } };
}

/** `line`: the last ledger line about the row; null when there is none. */
export function isRecorded(row: RecordedRow, line: string | null): boolean {
  const entry = line === null ? null : findIntactEntry(line);
  if (entry?.kind !== "row.recorded") return false;
  const { table, rowId, rowHash: recorded } = entry.data;
  return table === row.table && rowId === row.rowId && recorded === rowHash(row);
}

/** Null when the line was changed from outside; `surety verify --home` names the entry. */
export function findIntactEntry(line: string): LedgerEntry | null {
  try {
    const entry = fromWire(JSON.parse(line)) as LedgerEntry;
    return isIntact(entry) ? entry : null;
  } catch {
    return null;
  }
}
