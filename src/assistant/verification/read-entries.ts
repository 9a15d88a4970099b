/**
 * Entries of a run with their contract and bodies, page by page, so that a reader can verify and fold them itself and compare
 * digests (M-D). Works for a run that goes on, too.
 *
 * Bodies are given unchecked: the reader must be able to name a changed one. What cannot be read is named, and where.
 */
import { type Body, refsOf } from "../../kernel/journal/body.ts";
import type { Entry } from "../../kernel/journal/entry.ts";
import { digestOf, snapshotOfEntries } from "../../kernel/journal/views/run-snapshot.ts";
import type { BodyRef, Hash } from "../../kernel/vocabulary/identifiers.ts";
import type { Store, StoredRun } from "../../runtime/ports/store.ts";
import { readWholeJournal } from "../../runtime/run/read-run.ts";

/** Of bodies on one page, beyond its first entry. */
const MAX_PAGE_CHARS = 4 * 1024 * 1024;

export interface EntriesPage {
  readonly entries: readonly Entry[];
  /** Of these entries; those that are on an earlier page are not given again. */
  readonly bodies: ReadonlyMap<BodyRef, Body>;
  /** Bodies that these entries name and that are not there. */
  readonly erased: readonly BodyRef[];
  /** Of the last entry given; `after` where there is none. */
  readonly seq: number;
  /** The state digest at `seq`; of the last entry of an ended run the one it was sealed with. */
  readonly digest: Hash;
  readonly total: number;
  readonly damage: { readonly entry: number; readonly problem: string } | null;
}

export async function readEntries(store: Store, run: StoredRun, after: number, limit: number): Promise<EntriesPage> {
  const journal = await readWholeJournal(store, run.runId);
  const { entries: all } = journal;
  const head = await store.headOf(run.runId);
  const known = new Set(all.slice(0, after).flatMap(refsOf));
  const wanted = all.slice(after, after + limit);
  const refs = [...new Set(wanted.flatMap(refsOf))].filter((ref) => !known.has(ref));
  const found = await store.readBodies(run.sessionId, refs, run.runId);
  const { entries, bodies } = fitting(wanted, found);
  const seq = Math.min(after, all.length) + entries.length;
  const isWhole = journal.ok && seq === all.length && run.ended !== null && seq === head?.seq;
  const given = new Set(entries.flatMap(refsOf));
  return {
    entries,
    bodies,
    erased: refs.filter((ref) => given.has(ref) && !found.has(ref)),
    seq,
    digest:
      isWhole && run.ended !== null
        ? run.ended.stateDigest
        : digestOf(snapshotOfEntries(run.runId, run.contractHash, all.slice(0, seq))),
    total: Math.max(head?.seq ?? 0, all.length),
    damage: journal.ok ? null : { entry: journal.badEntry, problem: journal.problem },
  };
}

function fitting(wanted: readonly Entry[], found: ReadonlyMap<BodyRef, Body>) {
  const bodies = new Map<BodyRef, Body>();
  let chars = 0;
  for (const [index, entry] of wanted.entries()) {
    const own = refsOf(entry).flatMap((ref) => {
      const body = bodies.has(ref) ? undefined : found.get(ref);
      return body === undefined ? [] : [[ref, body] as const];
    });
    chars += own.reduce((sum, [, { text }]) => sum + text.length, 0);
    if (index > 0 && chars > MAX_PAGE_CHARS) return { entries: wanted.slice(0, index), bodies };
    for (const [ref, body] of own) bodies.set(ref, body);
  }
  return { entries: wanted, bodies };
}
