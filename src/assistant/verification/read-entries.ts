/**
 * Entries of a run with their contract and bodies, page by page, so that a reader can verify and fold them itself and compare
 * digests (M-D). Works for a run that goes on, too.
 *
 * Bodies are given unchecked: the reader must be able to name a changed one. What cannot be read is named, and where.
 */
import { type Body, refsOf } from "../../kernel/journal/body.ts";
import type { Entry } from "../../kernel/journal/entry.ts";
import { digestOf, snapshotOfEntries } from "../../kernel/journal/views/run-snapshot.ts";
import type { BodyRef, Hash, RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Store, StoredRun } from "../../runtime/ports/store.ts";
import { type Journal, readJournal } from "../../runtime/run/read-run.ts";

/** Of bodies on one page, beyond its first entry. */
const MAX_PAGE_CHARS = 4 * 1024 * 1024;

export interface EntriesPage {
  readonly entries: readonly Entry[];
  /** Those that these entries name. */
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
  const { runId, contractHash, ended } = run;
  const wanted = await readJournal(store, runId, after, limit);
  const head = await store.headOf(runId);
  const total = head?.seq ?? 0;
  const refs = [...new Set(wanted.entries.flatMap(refsOf))];
  const found = await store.readBodies(run.sessionId, refs, runId, after + wanted.entries.length);
  const { entries, bodies } = fitting(wanted.entries, found);
  const start = Math.min(after, total);
  const seq = start + entries.length;
  const before = entries.some(isCommit) ? NOTHING_BEFORE : await readSinceCommit(store, runId, start);
  const damaged = [before, wanted].find((journal) => !journal.ok);
  const given = new Set(entries.flatMap(refsOf));
  return {
    entries,
    bodies,
    erased: refs.filter((ref) => given.has(ref) && !found.has(ref)),
    seq,
    digest:
      damaged === undefined && ended !== null && seq === head?.seq
        ? ended.stateDigest
        : digestOf(snapshotOfEntries(runId, contractHash, [...before.entries, ...entries])),
    total,
    damage: damaged === undefined ? null : { entry: damaged.badEntry, problem: damaged.problem },
  };
}

const NOTHING_BEFORE: Journal = { ok: true, entries: [] };
/** More than most turns have. */
const ENTRIES_BACK = 32;

const isCommit = ({ kind }: Entry): boolean => kind === "COMMIT";

/** The entries up to `seq`, from the last COMMIT on if there is one: a snapshot needs no earlier ones. */
async function readSinceCommit(store: Store, runId: RunId, seq: number): Promise<Journal> {
  let entries: readonly Entry[] = [];
  for (let end = seq; end > 0 && !entries.some(isCommit); ) {
    const start = Math.max(0, end - ENTRIES_BACK);
    const earlier = await readJournal(store, runId, start, end - start);
    if (!earlier.ok) return earlier;
    entries = [...earlier.entries, ...entries];
    end = start;
  }
  return { ok: true, entries };
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
