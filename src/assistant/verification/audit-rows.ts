/**
 * Rows against what the ledger last recorded of them: edited and invented ones, earlier states that were put back, and rows that
 * are gone.
 */
import { type LedgerEntry, RECORDED_TABLES, type RecordedTable } from "../../kernel/journal/ledger.ts";
import type { Hash } from "../../kernel/vocabulary/identifiers.ts";
import type { Store } from "../../runtime/ports/store.ts";
import { readAll } from "./read-all.ts";

export interface RowFinding {
  readonly code: "row.forged" | "row.missing";
  readonly table: RecordedTable;
  readonly rowId: string;
  /** The last ledger entry about it; null when there is none. */
  readonly ledgerSeq: number | null;
}

interface Recorded {
  readonly ledgerSeq: number;
  readonly rowHash: Hash | null;
}

export async function auditRows(ledger: readonly LedgerEntry[], store: Store): Promise<readonly RowFinding[]> {
  const recorded = lastRecords(ledger);
  const findings: RowFinding[] = [];
  for (const table of RECORDED_TABLES) {
    const known = recorded.get(table) ?? new Map<string, Recorded>();
    const rows = await readAll((offset, limit) => store.recordedRows(table, { limit, offset }));
    for (const { rowId, rowHash, needsRecord } of rows) {
      const last = known.get(rowId);
      known.delete(rowId);
      const isForged = last === undefined ? needsRecord : last.rowHash !== rowHash;
      if (isForged) findings.push({ code: "row.forged", table, rowId, ledgerSeq: last?.ledgerSeq ?? null });
    }
    for (const [rowId, { ledgerSeq, rowHash }] of known) {
      if (rowHash !== null) findings.push({ code: "row.missing", table, rowId, ledgerSeq });
    }
  }
  return findings;
}

function lastRecords(ledger: readonly LedgerEntry[]): Map<RecordedTable, Map<string, Recorded>> {
  const recorded = new Map<RecordedTable, Map<string, Recorded>>();
  for (const { kind, data, seq: ledgerSeq } of ledger) {
    if (kind !== "row.recorded") continue;
    const ofTable = recorded.get(data.table) ?? new Map<string, Recorded>();
    recorded.set(data.table, ofTable.set(data.rowId, { ledgerSeq, rowHash: data.rowHash }));
  }
  return recorded;
}
