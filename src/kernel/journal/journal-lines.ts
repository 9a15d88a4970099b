/**
 * The journal file (design §7): one line an entry, canonical JSON in snake_case. `parseLine` accepts exactly what
 * `toLine` writes; `verify-journal.ts` checks that entries belong together.
 */
import { canonicalWire } from "../vocabulary/wire-case.ts";
import { type Entry, type EntryKind, entrySchemaOf } from "./entry.ts";
import { STATE_OF } from "./entry-encoding.ts";
import { parserByKind } from "./parse-by-kind.ts";
import { type Parsed, parseCanonical, type Records, readRecords } from "./read-records.ts";

export function toLine(entry: Entry): string {
  return canonicalWire(entry);
}

export function parseLine(line: string): Parsed<Entry> {
  const parsed = parseCanonical(line);
  return parsed.ok ? parseEntry(parsed.value) : parsed;
}

export function readJournal(file: string | Uint8Array): Records<Entry> {
  return readRecords(file, parseLine);
}

/** An entry in its wire form. */
export const parseEntry = parserByKind<Entry>(
  Object.fromEntries((Object.keys(STATE_OF) as EntryKind[]).map((kind) => [kind, entrySchemaOf(kind)])),
);
