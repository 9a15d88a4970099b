/**
 * A run's journal as it lies in the database: what was appended together, entries and the bodies they brought, in one row.
 * Entries are kept (entry-encoding.ts), or lines where whoever appended them had nothing else, as earlier versions.
 *
 * J1. A row's place says whose it is and the seq of its last entry, so an index of places is a run's journal in its order.
 *     Rows themselves lie in the order in which they came, behind each other whosever they are: how many pages an append
 *     touches is most of what a durable step costs.
 * J2. Reading is total: what is damaged comes out as what it is, and no line. Whoever verifies names it.
 */
import type { Body } from "../../kernel/journal/body.ts";
import { genesisHash } from "../../kernel/journal/chain.ts";
import { hashNamedIn, isKept, type KeptFrame, lineOf } from "../../kernel/journal/entry-encoding.ts";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import type { BodyRef, Hash } from "../../kernel/vocabulary/identifiers.ts";
import { parseJson } from "../../kernel/vocabulary/parse-json.ts";
import type { Prepare } from "./connection.ts";
import { toHex } from "./hex-bytes.ts";
import { LINE_BREAK } from "./packed-writes.ts";

/** More entries than a run's budgets allow; and two to the thirty-first runs, before a place is no exact number any more. */
const PLACES_PER_RUN = 2 ** 22;

const APPEND = "INSERT INTO appends (place, lines, bodies) VALUES (?, ?, ?)";
const AFTER = "SELECT place, lines FROM appends WHERE place > ? AND place < ? ORDER BY place LIMIT ?";
const LAST = "SELECT place, lines FROM appends WHERE place > ? AND place < ? ORDER BY place DESC LIMIT 1";
const FRAME = "SELECT contract_hash, contract FROM runs WHERE position = ?";
const BODIES = "SELECT bodies FROM appends WHERE place > ? AND place < ? AND bodies IS NOT NULL ORDER BY place";

/** `bodies`: ref, salt and text of each. */
export function appendRow(
  prepare: Prepare,
  run: number,
  lastSeq: number,
  entries: string,
  bodies: readonly string[],
): void {
  if (lastSeq >= PLACES_PER_RUN) throw new Defect("a journal longer than any run's budget");
  prepare(APPEND).run(run * PLACES_PER_RUN + lastSeq, entries, bodies.length === 0 ? null : writtenBodies(bodies));
}

function writtenBodies(bodies: readonly string[]): string {
  const triples: (readonly string[])[] = [];
  for (let at = 0; at < bodies.length; at += 3) triples.push(bodies.slice(at, at + 3));
  return JSON.stringify(triples);
}

/** The lines after `seq`, at most `limit`. */
export function linesAfter(prepare: Prepare, run: number, seq: number, limit: number): readonly string[] {
  const found = entriesAfter(prepare, run, seq, limit);
  if (!found.some(isKept)) return found;
  const frame = frameOf(prepare, run);
  let prev = hashAt(prepare, run, seq) ?? genesisHash(frame.contractHash);
  return found.map((entry) => {
    const line = isKept(entry) ? lineOf(frame, prev, entry) : entry;
    prev = hashNamedIn(entry);
    return line;
  });
}

/** In place of entries whose row does not follow the one before: no line. */
const MISPLACED = "(not where it belongs)";

function entriesAfter(prepare: Prepare, run: number, seq: number, limit: number): readonly string[] {
  const found: string[] = [];
  const first = run * PLACES_PER_RUN;
  // Each row holds an entry or more, so never more rows than entries are needed.
  for (const row of prepare(AFTER).iterate(first + seq, first + PLACES_PER_RUN, limit)) {
    const entries = String(row["lines"]).split(LINE_BREAK);
    const firstSeq = Number(row["place"]) - first - entries.length + 1;
    const nextSeq = seq + found.length + 1;
    // The first row may begin before what is asked for, unless that is the beginning.
    const mayBegin = found.length === 0 && seq > 0 ? firstSeq <= nextSeq : firstSeq === nextSeq;
    if (!mayBegin) return [...found, MISPLACED];
    for (let at = nextSeq - firstSeq; at < entries.length && found.length < limit; at += 1)
      found.push(entries[at] ?? "");
    if (found.length >= limit) break;
  }
  return found;
}

/** The last entry; null before the first. */
export function journalHead(prepare: Prepare, run: number): { readonly seq: number; readonly hash: Hash } | null {
  const first = run * PLACES_PER_RUN;
  const row = prepare(LAST).get(first, first + PLACES_PER_RUN);
  if (row === undefined) return null;
  const last = String(row["lines"]).split(LINE_BREAK).at(-1) ?? "";
  return { seq: Number(row["place"]) - first, hash: hashNamedIn(last) };
}

/** Null where there is no such entry, as before the first. */
export function hashAt(prepare: Prepare, run: number, seq: number): Hash | null {
  const [entry] = seq === 0 ? [] : entriesAfter(prepare, run, seq - 1, 1);
  return entry === undefined ? null : hashNamedIn(entry);
}

/** Of a contract that cannot be read nothing is known: its entries show that. */
function frameOf(prepare: Prepare, run: number): KeptFrame {
  const row = prepare(FRAME).get(run);
  const contract = parseJson(String(row?.["contract"]));
  const terms = contract.ok ? (contract.value as Readonly<Record<string, unknown>> | null) : null;
  return {
    contractHash: toHex(row?.["contract_hash"] as Uint8Array),
    adapterVersion: String(terms?.["adapter_version"] ?? ""),
    modelProfileId: String(terms?.["model_profile_id"] ?? ""),
  };
}

/** Those of `wanted` that the run's entries brought. */
export function bodiesOf(prepare: Prepare, run: number, wanted: ReadonlySet<BodyRef>): Map<BodyRef, Body> {
  const found = new Map<BodyRef, Body>();
  const first = run * PLACES_PER_RUN;
  for (const row of prepare(BODIES).iterate(first, first + PLACES_PER_RUN)) {
    const bodies = JSON.parse(String(row["bodies"])) as readonly (readonly [BodyRef, string, string])[];
    for (const [ref, salt, text] of bodies) if (wanted.has(ref)) found.set(ref, { salt, text });
    if (found.size === wanted.size) break;
  }
  return found;
}
