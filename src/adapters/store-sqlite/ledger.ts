/** The ledger: table, list and head, and the one place where entries are linked. */
import {
  appendLedger,
  type LedgerDraft,
  type LedgerEntry,
  type LedgerHead,
  type LedgerKind,
  startLedger,
  toLedgerLine,
} from "../../kernel/journal/ledger.ts";
import { fromWire } from "../../kernel/vocabulary/wire-case.ts";
import { StoreError } from "../../runtime/ports/store.ts";
import type { Prepare, Tables } from "./connection.ts";

export const LEDGER_TABLES: Tables = {
  1: `
  CREATE TABLE ledger (seq INTEGER PRIMARY KEY, line TEXT NOT NULL) STRICT;`,
};

export const LEDGER_QUERIES = {
  after: "SELECT seq, line FROM ledger WHERE seq > ? ORDER BY seq LIMIT ?",
};

export const LEDGER_LISTS = {
  /** Not verified here: verifyLedger says whether the lines are still what was written. */
  readLedger(prepare: Prepare, after: number, limit: number): readonly LedgerEntry[] {
    return prepare(LEDGER_QUERIES.after)
      .all(after, limit)
      .map((row) => fromWire(parseLine(row)) as LedgerEntry);
  },

  readLedgerLines(prepare: Prepare, after: number, limit: number): readonly string[] {
    return prepare(LEDGER_QUERIES.after)
      .all(after, limit)
      .map((row) => String(row["line"]));
  },
};

export function ledgerHead(prepare: Prepare, homeId: string): LedgerHead {
  const row = prepare("SELECT seq, line FROM ledger ORDER BY seq DESC LIMIT 1").get();
  if (row === undefined) return startLedger(homeId);
  const { seq, hash } = parseLine(row) as LedgerHead;
  return { seq, hash };
}

function parseLine({ seq, line }: Readonly<Record<string, unknown>>): object {
  try {
    return JSON.parse(String(line)) as object;
  } catch (error) {
    throw damaged(seq, error);
  }
}

function damaged(seq: unknown, cause: unknown): StoreError {
  return new StoreError("store.corrupt", `Ledger entry ${seq} is damaged: see surety verify --home.`, { cause });
}

/** 0 before the first entry. Reads no line, so a damaged one is no obstacle. */
export function lastLedgerSeq(prepare: Prepare): number {
  return Number(prepare("SELECT max(seq) AS seq FROM ledger").get()?.["seq"] ?? 0);
}

/** Links entries inside a transaction, where the order of commits is decided. */
export class LedgerAppender {
  readonly #prepare: Prepare;
  readonly #homeId: string;
  #head: LedgerHead | null = null;

  constructor(prepare: Prepare, homeId: string) {
    this.#prepare = prepare;
    this.#homeId = homeId;
  }

  /** After a transaction that was undone. */
  clear(): void {
    this.#head = null;
  }

  /** Returns the seq of the new entry. */
  readonly append = (draft: LedgerDraft<LedgerKind>): number => {
    const entry = appendLedger(this.#head ?? ledgerHead(this.#prepare, this.#homeId), draft) as LedgerEntry;
    this.#prepare("INSERT INTO ledger VALUES (?, ?)").run(entry.seq, toLedgerLine(entry));
    this.#head = { seq: entry.seq, hash: entry.hash };
    return entry.seq;
  };
}
