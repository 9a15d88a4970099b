/**
 * Writes as they travel to whoever carries them out: entries, of which nearly all of them are, as one text and a list of
 * strings. An object a line and a body would take twice as long to copy from one thread to the other.
 *
 * P1. Two commits of one run become one where the earlier is nothing but entries and the later begins with those that
 *     follow them: what a run appends lazily goes into the row of what it appends next. They stand or fall together. That
 *     takes nothing from anybody: until it is synced, a lazy commit may be lost.
 */
import type { Hash, RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Write } from "../../runtime/ports/store.ts";
import type { WriteOf } from "./write-of.ts";

/** Canonical JSON has no line breaks. */
export const LINE_BREAK = "\n";

export type PackedAppend = readonly [
  runId: RunId,
  epoch: number,
  afterSeq: number,
  afterHash: Hash,
  head: Hash,
  /** How many entries the text has. */
  count: number,
  /** Kept entries where there are such, or lines. */
  entries: string,
  /** Ref, salt and text of each. */
  bodies: readonly string[],
];
export type PackedWrite = PackedAppend | Exclude<Write, { readonly type: "append-entries" }>;

export function pack(writes: readonly Write[]): readonly PackedWrite[] {
  return writes.map((write) => (write.type === "append-entries" ? packAppend(write) : write));
}

function packAppend(write: WriteOf<"append-entries">): PackedAppend {
  const { runId, epoch, after, head, bodies } = write;
  const entries = write.takeEncoded?.() ?? write.lines;
  const packed: string[] = [];
  for (const { ref, salt, text } of bodies) packed.push(ref, salt, text);
  // Added up rather than joined: each of them is put together of many pieces, and all are laid out once, when they are copied.
  const text = entries.length === 0 ? "" : entries.reduce((before, entry) => before + LINE_BREAK + entry);
  return [runId, epoch, after.seq, after.hash, head, entries.length, text, packed];
}

export function isAppend(write: PackedWrite): write is PackedAppend {
  return Array.isArray(write);
}

/** Null when they stay two. */
export function joinAppends(
  earlier: readonly PackedWrite[],
  later: readonly PackedWrite[],
): readonly PackedWrite[] | null {
  const [first] = earlier;
  const [second, ...rest] = later;
  if (first === undefined || second === undefined || earlier.length > 1) return null;
  if (!isAppend(first) || !isAppend(second) || !goesOn(first, second)) return null;
  const [runId, epoch, afterSeq, afterHash, , count, entries, bodies] = first;
  const [, , , , head, more, moreEntries, moreBodies] = second;
  const text = entries + LINE_BREAK + moreEntries;
  return [[runId, epoch, afterSeq, afterHash, head, count + more, text, [...bodies, ...moreBodies]], ...rest];
}

/** An append of no lines is a claim that the head is what it was, and has no text to go on with. */
function goesOn(first: PackedAppend, next: PackedAppend): boolean {
  const [runId, epoch, afterSeq, , head, count] = first;
  const [nextRunId, nextEpoch, nextAfterSeq, nextAfterHash, , nextCount] = next;
  const isSameWriter = nextRunId === runId && nextEpoch === epoch;
  return isSameWriter && nextAfterSeq === afterSeq + count && nextAfterHash === head && count > 0 && nextCount > 0;
}
