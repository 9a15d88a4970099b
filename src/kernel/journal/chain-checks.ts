/** Checks common to journals and ledgers, after every link has been verified. */
import type { Hash } from "../vocabulary/identifiers.ts";
import type { BadEntry } from "./read-records.ts";

/** A head known from another source: a seal, a checkpoint, an export. */
export interface Anchor {
  readonly seq: number;
  readonly hash: Hash;
}

/** Truncation is located at the first missing entry; where a rewritten chain was changed, an anchor cannot tell. */
export function findLostAnchor(
  genesis: Hash,
  entries: readonly { readonly hash: Hash }[],
  anchor: Anchor | undefined,
): BadEntry | null {
  if (anchor === undefined) return null;
  if (anchor.seq > entries.length) return { entry: entries.length + 1, problem: `missing: ${anchor.seq} were written` };
  const hash = anchor.seq === 0 ? genesis : entries[anchor.seq - 1]?.hash;
  return hash === anchor.hash ? null : { entry: anchor.seq, problem: "hash is not the anchored one" };
}

/** Times are UTC and of one precision, so text order is time order. */
export function findClockRegress(entries: readonly { readonly ts: string }[]): readonly BadEntry[] {
  return entries.flatMap(({ ts }, index) => {
    const before = entries[index - 1];
    return before !== undefined && ts < before.ts ? [{ entry: index + 1, problem: "ts is earlier than before" }] : [];
  });
}
