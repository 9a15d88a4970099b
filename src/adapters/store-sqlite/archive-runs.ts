/**
 * Compresses ended runs, a few at a time, in the writer's thread while nothing is written. What the database is then too large
 * for is given back.
 */
import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../../runtime/ports/store.ts";
import { findAcceptance } from "../../runtime/run/acceptance.ts";
import { ARCHIVED, type ArchivedTerms, dictionaryOf, IN_ARCHIVE, NOT_ARCHIVABLE, zlib } from "./archives.ts";
import { type Prepare, toBytes } from "./connection.ts";
import { readRows, removeRows } from "./journal.ts";
import { toStoreError } from "./sqlite-failure.ts";

const LEVEL = 3;
/** A dictionary is worth its size for so many runs. */
const FEWEST = 20;
/** Contracts and entries change with versions and settings, so a dictionary serves for so many runs. */
const MOST_USES = 2_000;
const DICTIONARY_RUNS = 3;
const DICTIONARY_BYTES = 65_536;

const DUE = `
  SELECT run FROM run_states WHERE ended_at IS NOT NULL AND archive = 0 AND ended_at < ? ORDER BY ended_at LIMIT ?`;
const INSERT = `
  INSERT INTO archives (run, dictionary, last_seq, message_ref, terms, entries, bodies) VALUES (?, ?, ?, ?, ?, ?, ?)`;

interface Unarchived {
  readonly run: number;
  readonly terms: ArchivedTerms;
  readonly entries: readonly string[];
  readonly bodies: readonly unknown[];
}

/** Inside a transaction. False: there is nothing more to do now. */
export function archiveRuns(prepare: Prepare, endedBefore: string, limit: number): boolean {
  const due = prepare(DUE)
    .all(endedBefore, limit)
    .map(({ run }) => Number(run));
  const latest = prepare("SELECT id, uses FROM archive_dictionaries ORDER BY id DESC LIMIT 1").get();
  if (due.length === 0 || (latest === undefined && due.length < FEWEST)) return false;
  const found = due.map((run) => ({ run, content: readUnarchived(prepare, run) }));
  const whole = found.flatMap(({ content }) => content ?? []);
  const isWorn = latest === undefined || Number(latest["uses"]) >= MOST_USES;
  const dictionary = isWorn && whole.length >= FEWEST ? makeDictionary(prepare, whole) : Number(latest?.["id"]);
  const mark = prepare("UPDATE run_states SET archive = ? WHERE run = ?");
  for (const { run, content } of found) {
    const isArchived = content !== null && Number.isInteger(dictionary);
    if (isArchived) archive(prepare, dictionary, content);
    mark.run(isArchived ? ARCHIVED : NOT_ARCHIVABLE, run);
  }
  prepare("UPDATE archive_dictionaries SET uses = uses + ? WHERE id = ?").run(whole.length, dictionary);
  return due.length === limit;
}

/** Null: its rows are not what was stored. */
function readUnarchived(prepare: Prepare, run: number): Unarchived | null {
  const rows = readRows(prepare, run);
  const terms = prepare("SELECT contract, accepted, completed FROM runs WHERE position = ?").get(run);
  if (rows === null || terms === undefined) return null;
  return { run, terms: { ...terms } as unknown as ArchivedTerms, ...rows };
}

function makeDictionary(prepare: Prepare, runs: readonly Unarchived[]): number {
  const texts = runs
    .slice(0, DICTIONARY_RUNS)
    .map(({ terms, entries }) => [JSON.stringify(terms), ...entries].join("\n"));
  const data = Buffer.from(texts.join("\n")).subarray(0, DICTIONARY_BYTES);
  const made = prepare("INSERT INTO archive_dictionaries (uses, data) VALUES (0, ?)").run(data);
  return Number(made.lastInsertRowid);
}

function archive(prepare: Prepare, dictionary: number, { run, terms, entries, bodies }: Unarchived): void {
  const { constants, zstdCompressSync } = zlib();
  const params = { [constants.ZSTD_c_compressionLevel]: LEVEL };
  const compress = (text: string): Uint8Array =>
    zstdCompressSync(text, { params, dictionary: dictionaryOf(prepare, dictionary) });
  const messageRef = findAcceptance(terms.completed ?? terms.accepted)?.event.messageRef;
  prepare(INSERT).run(
    run,
    dictionary,
    entries.length,
    // Lists search messages, and open no archives.
    messageRef === undefined ? null : toBytes(messageRef),
    compress(JSON.stringify(terms)),
    compress(entries.join("\n")),
    bodies.length === 0 ? null : compress(JSON.stringify(bodies)),
  );
  removeRows(prepare, run);
  const empty = prepare("UPDATE runs SET contract = ?, accepted = ?, completed = NULL WHERE position = ?");
  empty.run(IN_ARCHIVE, IN_ARCHIVE, run);
}

const LEAST_FREE_BYTES = 1_048_576;
/** Commits wait while the database is copied. A larger one fills what is free with the next runs. */
const MOST_USED_BYTES = 67_108_864;

/** Copies the database where more than half of it is free. */
export function giveBackSpace(db: DatabaseSync): void {
  const number = (name: string): number => Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
  const pageBytes = number("page_size");
  const freeBytes = number("freelist_count") * pageBytes;
  const usedBytes = number("page_count") * pageBytes - freeBytes;
  if (freeBytes < LEAST_FREE_BYTES || freeBytes < usedBytes || usedBytes > MOST_USED_BYTES) return;
  try {
    copyAll(db);
  } catch (error) {
    // Another process writes, or the disk has no room for a copy: the next runs fill what is free.
    if (!(toStoreError(error) instanceof StoreError)) throw error;
  }
}

/** In a file, because the copy may be as large as the database. */
export function copyAll(db: DatabaseSync): void {
  db.exec("PRAGMA temp_store = FILE");
  try {
    db.exec("VACUUM");
  } finally {
    db.exec("PRAGMA temp_store = MEMORY");
  }
}
