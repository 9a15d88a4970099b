/** Ledgers built with `appendLedger` alone, and the draft of one entry of each kind. */
import fc from "fast-check";
import { signCheckpoint } from "../../../src/kernel/journal/checkpoint.ts";
import {
  appendLedger,
  LedgerDataSchemas,
  type LedgerDraft,
  type LedgerEntry,
  type LedgerHead,
  type LedgerKind,
  startLedger,
  toLedgerLine,
} from "../../../src/kernel/journal/ledger.ts";
import { anyOf, anyText } from "./any-record.ts";
import { sign } from "./toy-key.ts";

export const HOME_ID = "home_1";
export const TS = "2026-01-02T03:04:05.000Z";
export type AnyLedgerDraft = LedgerDraft<LedgerKind>;

export const KINDS = Object.keys(LedgerDataSchemas) as readonly LedgerKind[];

export function ledgerOf(drafts: readonly AnyLedgerDraft[]): readonly LedgerEntry[] {
  const entries: LedgerEntry[] = [];
  let head: LedgerHead = startLedger(HOME_ID);
  for (const draft of drafts) {
    const entry = appendLedger(head, draft) as LedgerEntry;
    entries.push(entry);
    head = entry;
  }
  return entries;
}

export function ledgerFileOf(entries: readonly LedgerEntry[]): string {
  return entries.map((entry) => `${toLedgerLine(entry)}\n`).join("");
}

export function headOf(entries: readonly LedgerEntry[]): LedgerHead {
  return entries.at(-1) ?? startLedger(HOME_ID);
}

export function draft<K extends LedgerKind>(kind: K, data: LedgerDraft<K>["data"]): LedgerDraft<K> {
  return { kind, ts: TS, actor: "operator", data };
}

/** A checkpoint of a home with this ledger and no open runs. */
export function checkpointDraft(entries: readonly LedgerEntry[]): LedgerDraft<"checkpoint.signed"> {
  const { seq, hash } = headOf(entries);
  return draft("checkpoint.signed", signCheckpoint({ ledgerSeq: seq, ledgerHead: hash, openRuns: [] }, sign));
}

/** Of every kind but checkpoints, which must fit their ledger. */
const anyLedgerDraft: fc.Arbitrary<AnyLedgerDraft> = fc
  .constantFrom(...KINDS.filter((kind) => kind !== "checkpoint.signed"))
  .chain((kind) => anyDraftOf(kind));

export function anyDraftOf(kind: LedgerKind): fc.Arbitrary<AnyLedgerDraft> {
  const data = anyOf<AnyLedgerDraft["data"]>(LedgerDataSchemas[kind]);
  return fc.record({ kind: fc.constant(kind), ts: anyText, actor: anyText, data }, { noNullPrototype: true });
}

export function anyLedger(maxLength = 8): fc.Arbitrary<readonly LedgerEntry[]> {
  return fc.array(anyLedgerDraft, { minLength: 1, maxLength }).map(ledgerOf);
}
