/** The ledger: table, list and head. Entries are linked in apply-writes.ts. */
import { type LedgerEntry, type LedgerHead, startLedger } from "../../kernel/journal/ledger.ts";
import { fromWire } from "../../kernel/vocabulary/wire-case.ts";
import type { Prepare, Tables } from "./connection.ts";

export const LEDGER_TABLES: Tables = {
  1: `
  CREATE TABLE ledger (seq INTEGER PRIMARY KEY, line TEXT NOT NULL) STRICT;`,
};

export const LEDGER_QUERIES = {
  after: "SELECT line FROM ledger WHERE seq > ? ORDER BY seq LIMIT ?",
};

export const LEDGER_LISTS = {
  /** Not verified here: verifyLedger says whether the lines are still what was written. */
  readLedger(prepare: Prepare, after: number, limit: number): readonly LedgerEntry[] {
    return prepare(LEDGER_QUERIES.after)
      .all(after, limit)
      .map((row) => fromWire(JSON.parse(String(row["line"]))) as LedgerEntry);
  },
};

export function ledgerHead(prepare: Prepare, homeId: string): LedgerHead {
  const row = prepare("SELECT line FROM ledger ORDER BY seq DESC LIMIT 1").get();
  if (row === undefined) return startLedger(homeId);
  const { seq, hash } = JSON.parse(String(row["line"])) as LedgerHead;
  return { seq, hash };
}
