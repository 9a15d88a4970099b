/**
 * A run's journal: tables, rows and reads. One row holds what was appended together: entries, encoded or as lines
 * (older homes hold lines), and the bodies they brought.
 *
 * J1. A row's place names its run and the seq of its last entry, so the index of places is each run's journal in order.
 *     Rows themselves are stored in the order of arrival, whichever run they belong to: the number of pages that an
 *     append touches is most of what a durable step costs.
 * J2. Reading is total: damaged rows come out as text that is not a journal line, or as missing bodies, and verification
 *     names them.
 */
import type { Body } from "../../kernel/journal/body.ts";
import { genesisHash } from "../../kernel/journal/chain.ts";
import { type EntryFrame, hashNamedIn, isEncodedEntry, lineOf } from "../../kernel/journal/entry-encoding.ts";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import type { BodyRef, Hash, RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { parseJson } from "../../kernel/vocabulary/parse-json.ts";
import type { StoredBody } from "../../runtime/ports/store.ts";
import { archivedBodies, archivedEntries, archivedLastSeq, archivedTerms, IN_ARCHIVE } from "./archives.ts";
import { type Prepare, type Tables, toBytes, toHex } from "./connection.ts";
import { runPosition, sessionPosition } from "./runs.ts";

/** `bodies` holds those that are read without their run: messages, answers, plans. */
export const JOURNAL_TABLES: Tables = {
  1: `
  CREATE TABLE appends (place INTEGER PRIMARY KEY, lines TEXT NOT NULL, bodies TEXT) STRICT;
  CREATE TABLE bodies (
    position INTEGER PRIMARY KEY, ref BLOB NOT NULL, session INTEGER NOT NULL, salt BLOB NOT NULL, text TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX bodies_by_session ON bodies (session, ref);`,
  // Rows ordered by run gave every active run pages of its own, all written with each commit.
  4: `
  ALTER TABLE appends RENAME TO appends_by_run;
  CREATE TABLE appends (
    position INTEGER PRIMARY KEY, place INTEGER NOT NULL, lines TEXT NOT NULL, bodies TEXT
  ) STRICT;
  INSERT INTO appends (place, lines, bodies) SELECT place, lines, bodies FROM appends_by_run ORDER BY place;
  DROP TABLE appends_by_run;
  CREATE UNIQUE INDEX appends_by_place ON appends (place);`,
};

/** Between the entries of one row: canonical JSON has no line breaks. */
export const LINE_BREAK = "\n";

/** More entries than any run's budget allows, and still exact numbers for 2^31 runs. */
const PLACES_PER_RUN = 2 ** 22;

const APPEND = "INSERT INTO appends (place, lines, bodies) VALUES (?, ?, ?)";
const AFTER = "SELECT place, lines FROM appends WHERE place > ? AND place < ? ORDER BY place LIMIT ?";
const LAST = "SELECT place, lines FROM appends WHERE place > ? AND place < ? ORDER BY place DESC LIMIT 1";
const FRAME = "SELECT contract_hash, contract FROM runs WHERE position = ?";
const ROW_OF = "SELECT place FROM appends WHERE place >= ? AND place < ? ORDER BY place LIMIT 1";
const ROWS = "SELECT place, lines, bodies FROM appends WHERE place > ? AND place < ? ORDER BY place";
const BODIES = "SELECT bodies FROM appends WHERE place > ? AND place <= ? AND bodies IS NOT NULL ORDER BY place DESC";

export function appendRow(
  prepare: Prepare,
  run: number,
  lastSeq: number,
  entries: string,
  bodies: readonly StoredBody[],
): void {
  if (lastSeq >= PLACES_PER_RUN) throw new Defect("a journal longer than any run's budget");
  const triples = bodies.map(({ ref, salt, text }) => [ref, salt, text]);
  prepare(APPEND).run(run * PLACES_PER_RUN + lastSeq, entries, bodies.length === 0 ? null : JSON.stringify(triples));
}

export function readEntries(prepare: Prepare, runId: RunId, after: number, limit: number): readonly string[] {
  const run = runPosition(prepare, runId);
  return run === null ? [] : linesAfter(prepare, run, after, limit);
}

export function headOf(prepare: Prepare, runId: RunId): ReturnType<typeof journalHead> {
  const run = runPosition(prepare, runId);
  return run === null ? null : journalHead(prepare, run);
}

export function readBodies(
  prepare: Prepare,
  sessionId: SessionId,
  refs: readonly BodyRef[],
  runId: RunId | null,
  lastSeq: number = PLACES_PER_RUN,
): ReadonlyMap<BodyRef, Body> {
  const run = runId === null ? null : runPosition(prepare, runId);
  const found = run === null ? new Map<BodyRef, Body>() : bodiesOf(prepare, run, new Set(refs), lastSeq);
  const session = sessionPosition(prepare, sessionId);
  if (session === null) return found;
  const query = prepare("SELECT salt, text FROM bodies WHERE session = ? AND ref = ?");
  for (const ref of refs) {
    const row = found.has(ref) ? undefined : query.get(session, toBytes(ref));
    if (row !== undefined) found.set(ref, { salt: toHex(row["salt"] as Uint8Array), text: String(row["text"]) });
  }
  return found;
}

/** The bodies that came with a run's entries; the entries stay. */
export function eraseBodiesOf(prepare: Prepare, run: number): void {
  const first = run * PLACES_PER_RUN;
  prepare("UPDATE appends SET bodies = NULL WHERE place > ? AND place < ? AND bodies IS NOT NULL").run(
    first,
    first + PLACES_PER_RUN,
  );
  prepare("UPDATE archives SET bodies = NULL WHERE run = ?").run(run);
}

/** All that a run's rows hold; null where one is damaged or missing. */
export function readRows(
  prepare: Prepare,
  run: number,
): { readonly entries: readonly string[]; readonly bodies: readonly unknown[] } | null {
  const first = run * PLACES_PER_RUN;
  const entries: string[] = [];
  const bodies: unknown[] = [];
  for (const row of prepare(ROWS).iterate(first, first + PLACES_PER_RUN)) {
    entries.push(...String(row["lines"]).split(LINE_BREAK));
    const triples = row["bodies"] === null ? null : parseJson(String(row["bodies"]));
    const isDamaged = triples !== null && !(triples.ok && Array.isArray(triples.value));
    if (Number(row["place"]) !== first + entries.length || isDamaged) return null;
    if (triples?.ok) bodies.push(...(triples.value as readonly unknown[]));
  }
  return { entries, bodies };
}

export function removeRows(prepare: Prepare, run: number): void {
  const first = run * PLACES_PER_RUN;
  prepare("DELETE FROM appends WHERE place > ? AND place < ?").run(first, first + PLACES_PER_RUN);
}

function linesAfter(prepare: Prepare, run: number, seq: number, limit: number): readonly string[] {
  const found = entriesAfter(prepare, run, seq, limit);
  if (!found.some(isEncodedEntry)) return found;
  const frame = frameOf(prepare, run);
  let prev = hashAt(prepare, run, seq) ?? genesisHash(frame.contractHash);
  return found.map((entry) => {
    const line = isEncodedEntry(entry) ? lineOf(frame, prev, entry) : entry;
    prev = hashNamedIn(entry);
    return line;
  });
}

/** Stands for entries whose row does not follow the one before. */
const MISPLACED = "(not where it belongs)";

function entriesAfter(prepare: Prepare, run: number, seq: number, limit: number): readonly string[] {
  const found: string[] = [];
  const first = run * PLACES_PER_RUN;
  // A row holds at least one entry, so `limit` rows are enough.
  for (const row of prepare(AFTER).iterate(first + seq, first + PLACES_PER_RUN, limit)) {
    const entries = String(row["lines"]).split(LINE_BREAK);
    const firstSeq = Number(row["place"]) - first - entries.length + 1;
    const nextSeq = seq + found.length + 1;
    // The first row may begin before `seq`, unless the read starts at the beginning.
    const mayBegin = found.length === 0 && seq > 0 ? firstSeq <= nextSeq : firstSeq === nextSeq;
    if (!mayBegin) return [...found, MISPLACED];
    for (let at = nextSeq - firstSeq; at < entries.length && found.length < limit; at += 1)
      found.push(entries[at] ?? "");
    if (found.length >= limit) break;
  }
  return found.length > 0 ? found : archivedEntries(prepare, run).slice(seq, seq + limit);
}

/** The last entry; null before the first. */
export function journalHead(prepare: Prepare, run: number): { readonly seq: number; readonly hash: Hash } | null {
  const first = run * PLACES_PER_RUN;
  const row = prepare(LAST).get(first, first + PLACES_PER_RUN);
  if (row === undefined) return archivedHead(prepare, run);
  const last = String(row["lines"]).split(LINE_BREAK).at(-1) ?? "";
  return { seq: Number(row["place"]) - first, hash: hashNamedIn(last) };
}

function archivedHead(prepare: Prepare, run: number): ReturnType<typeof journalHead> {
  const seq = archivedLastSeq(prepare, run);
  if (seq === null || seq === 0) return null;
  return { seq, hash: hashNamedIn(archivedEntries(prepare, run).at(-1) ?? "") };
}

/** Null where there is no such entry. */
export function hashAt(prepare: Prepare, run: number, seq: number): Hash | null {
  const [entry] = seq === 0 ? [] : entriesAfter(prepare, run, seq - 1, 1);
  return entry === undefined ? null : hashNamedIn(entry);
}

/** An unreadable contract leaves the fields empty; its entries then fail verification. */
function frameOf(prepare: Prepare, run: number): EntryFrame {
  const row = prepare(FRAME).get(run);
  const stored = String(row?.["contract"]);
  const contract = parseJson(stored === IN_ARCHIVE ? (archivedTerms(prepare, run)?.contract ?? "") : stored);
  const terms = contract.ok ? (contract.value as Readonly<Record<string, unknown>> | null) : null;
  return {
    contractHash: toHex(row?.["contract_hash"] as Uint8Array),
    adapterVersion: String(terms?.["adapter_version"] ?? ""),
    modelProfileId: String(terms?.["model_profile_id"] ?? ""),
  };
}

/** Those of `wanted` that came with the run's entries, searched from the row of `lastSeq` back: most came just before. */
function bodiesOf(prepare: Prepare, run: number, wanted: ReadonlySet<BodyRef>, lastSeq: number): Map<BodyRef, Body> {
  const found = new Map<BodyRef, Body>();
  if (wanted.size === 0) return found;
  const first = run * PLACES_PER_RUN;
  const end = first + PLACES_PER_RUN;
  const last = prepare(ROW_OF).get(first + lastSeq, end)?.["place"] ?? end - 1;
  const take = (bodies: string): void => {
    const parsed = parseJson(bodies);
    const triples = parsed.ok && Array.isArray(parsed.value) ? parsed.value : [];
    for (const triple of triples) {
      const [ref, salt, text] = Array.isArray(triple) ? triple : [];
      if (typeof salt !== "string" || typeof text !== "string" || !wanted.has(ref as BodyRef)) continue;
      found.set(ref as BodyRef, { salt, text });
    }
  };
  for (const row of prepare(BODIES).iterate(first, Number(last))) {
    take(String(row["bodies"]));
    if (found.size === wanted.size) return found;
  }
  const archived = archivedBodies(prepare, run);
  if (archived !== null) take(archived);
  return found;
}
