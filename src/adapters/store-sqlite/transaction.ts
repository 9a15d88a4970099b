/** What the writes of a commit share, and the shape of the functions that carry them out. */
import type { LedgerDraft, LedgerKind } from "../../kernel/journal/ledger.ts";
import { StoreError, type Write } from "../../runtime/ports/store.ts";
import type { WriteVerdict } from "../../runtime/ports/write-verdict.ts";
import type { Prepare } from "./connection.ts";
import type { RunHeads } from "./run-heads.ts";

export interface Transaction {
  readonly prepare: Prepare;
  readonly heads: RunHeads;
  /** Returns the seq of the new entry. */
  appendLedger(this: void, draft: LedgerDraft<LedgerKind>): number;
}

export type WriteOf<T extends Write["type"]> = Extract<Write, { readonly type: T }>;

export type WriteHandlers<T extends Write["type"]> = {
  readonly [K in T]: (transaction: Transaction, write: WriteOf<K>) => void;
};

/** Throws when the rule refuses the write; the commit is then undone as a whole. */
export function mayWrite(verdict: WriteVerdict): boolean {
  if (verdict instanceof StoreError) throw verdict;
  return verdict === "write";
}
