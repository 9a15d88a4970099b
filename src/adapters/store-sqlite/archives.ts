/**
 * Ended runs in compressed form: tables and reads. Their writes: archive-runs.ts. A run is either in its rows or in its archive,
 * so a read looks there when it finds no rows.
 *
 * Z1. Terms, entries and bodies are compressed apart: erasing the bodies leaves the rest as it is.
 * Z2. Texts come out byte for byte as they were stored, so hashes are over the same bytes.
 * Z3. A dictionary is shared by many runs, and is made of what is no content: terms and entries.
 * Z4. Reading is total: an archive that cannot be opened comes out as missing texts, and verification names them.
 */
import type { Prepare, Tables } from "./connection.ts";

/** In `run_states.archive`. */
export const ARCHIVED = 1;
/** Its rows are damaged: they stay as they are, for verification to name. */
export const NOT_ARCHIVABLE = 2;

export const ARCHIVE_TABLES: Tables = {
  20: `
  ALTER TABLE run_states ADD COLUMN archive INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX unarchived_runs ON run_states (ended_at) WHERE ended_at IS NOT NULL AND archive = 0;
  CREATE TABLE archives (
    run INTEGER PRIMARY KEY, dictionary INTEGER NOT NULL, last_seq INTEGER NOT NULL, message_ref BLOB, terms BLOB NOT NULL,
    entries BLOB NOT NULL, bodies BLOB
  ) STRICT;
  CREATE TABLE archive_dictionaries (id INTEGER PRIMARY KEY, uses INTEGER NOT NULL, data BLOB NOT NULL) STRICT;`,
};

/** What a run was accepted with, as its row had it. */
export interface ArchivedTerms {
  readonly contract: string;
  readonly accepted: string;
  readonly completed: string | null;
}

/** Of runs, which has none of an archived run any more. */
export const IN_ARCHIVE = "";

export function archivedTerms(prepare: Prepare, run: number): ArchivedTerms | null {
  const text = openPart(prepare, run, "terms");
  return text === null ? null : (JSON.parse(text) as ArchivedTerms);
}

/** As they were stored, encoded or as lines. */
export function archivedEntries(prepare: Prepare, run: number): readonly string[] {
  const text = openPart(prepare, run, "entries");
  return text === null || text === "" ? [] : text.split("\n");
}

/** Triples of ref, salt and text, as JSON; null: there are none, or they were erased. */
export function archivedBodies(prepare: Prepare, run: number): string | null {
  return openPart(prepare, run, "bodies");
}

export function archivedLastSeq(prepare: Prepare, run: number): number | null {
  const row = prepare("SELECT last_seq FROM archives WHERE run = ?").get(run);
  return row === undefined ? null : Number(row["last_seq"]);
}

function openPart(prepare: Prepare, run: number, part: "terms" | "entries" | "bodies"): string | null {
  const row = prepare(`SELECT dictionary, ${part} AS part FROM archives WHERE run = ?`).get(run);
  const bytes = row?.["part"];
  if (row === undefined || !(bytes instanceof Uint8Array)) return null;
  try {
    const dictionary = dictionaryOf(prepare, Number(row["dictionary"]));
    return zlib().zstdDecompressSync(bytes, { dictionary }).toString("utf8");
  } catch {
    return null;
  }
}

/** Loaded when the first archive is opened or made: a start needs none. */
export function zlib(): typeof import("node:zlib") {
  return process.getBuiltinModule("node:zlib");
}

/** Never changed once it is written. */
const opened = new WeakMap<Prepare, Map<number, Uint8Array>>();

export function dictionaryOf(prepare: Prepare, id: number): Uint8Array {
  const known = opened.get(prepare) ?? new Map<number, Uint8Array>();
  opened.set(prepare, known);
  const data = known.get(id) ?? prepare("SELECT data FROM archive_dictionaries WHERE id = ?").get(id)?.["data"];
  if (!(data instanceof Uint8Array)) throw new Error(`there is no dictionary ${id}`);
  known.set(id, data);
  return data;
}
