/**
 * Checks that a database is ours, undamaged, and of a version this surety can use.
 *
 * I1. `checkDatabase` reads the header, the version, the file's length and the newest row of each growing table: the same
 *     work whatever the home holds. After an unclean shutdown it also reads a small database completely.
 * I2. `checkIntegrity` reads everything.
 * I3. Checking changes nothing.
 */
import { existsSync, statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../../runtime/ports/store.ts";
import { connectReader, connectUnchanged, databaseFile } from "./connection.ts";
import { isWalLost } from "./lost-wal.ts";
import { APPLICATION_ID, SCHEMA_VERSION } from "./schema.ts";
import { toStoreError } from "./sqlite-failure.ts";

/** Read completely in a few hundredths of a second. */
const SMALL_BYTES = 4 * 1024 * 1024;
const MAX_PROBLEMS = 20;

const NEWEST_ROWS = [
  "SELECT * FROM runs ORDER BY position DESC LIMIT 1",
  "SELECT * FROM run_states ORDER BY run DESC LIMIT 1",
  "SELECT * FROM appends ORDER BY position DESC LIMIT 1",
  "SELECT * FROM bodies ORDER BY position DESC LIMIT 1",
  "SELECT * FROM ledger ORDER BY seq DESC LIMIT 1",
];

/** Journals are read through this index, so a row missing from it would be lost. */
const NEWEST_BY_PLACE = `
  SELECT count(*) AS found FROM appends INDEXED BY appends_by_place
  WHERE place = (SELECT place FROM appends ORDER BY position DESC LIMIT 1)`;

/** Returns the schema version; 0 for an empty database. */
export function checkDatabase(db: DatabaseSync, file: string, what?: "The backup"): number {
  try {
    const version = schemaVersion(db, what);
    if (version === SCHEMA_VERSION) checkContent(db, file);
    return version;
  } catch (error) {
    throw toStoreError(error);
  }
}

/** Returns the problems that SQLite reports; none for an undamaged database. */
export function checkIntegrity(home: string): readonly string[] {
  const db = openExisting(databaseFile(home));
  try {
    return findProblems(db);
  } catch (error) {
    throw toStoreError(error);
  } finally {
    db.close();
  }
}

export function openExisting(file: string): DatabaseSync {
  if (!existsSync(file)) {
    throw new StoreError("store.unavailable", `There is no database at ${file}. Start surety once, or check the path.`);
  }
  try {
    return isWalLost(file) ? connectUnchanged(file) : connectReader(file);
  } catch (error) {
    throw toStoreError(error);
  }
}

export function findProblems(db: DatabaseSync): readonly string[] {
  try {
    const found = db.prepare(`PRAGMA integrity_check(${MAX_PROBLEMS})`).all();
    return found.map((row) => String(row["integrity_check"])).filter((problem) => problem !== "ok");
  } catch (error) {
    // Some damage stops the check itself.
    const known = toStoreError(error);
    if (known instanceof StoreError && known.code === "store.corrupt") return [known.message];
    throw error;
  }
}

/** A process that closed its store left an empty WAL. */
function wasLeftUnclean(file: string): boolean {
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** 0 for an empty database; refuses databases of other programs and of newer versions. */
export function schemaVersion(db: DatabaseSync, what = "The home"): number {
  const applicationId = pragma(db, "application_id");
  const version = pragma(db, "user_version");
  if (applicationId === 0 && version === 0 && isEmpty(db)) return 0;
  if (applicationId !== APPLICATION_ID) throw corrupt("was not made by surety");
  if (version <= SCHEMA_VERSION) return version;
  throw new StoreError(
    "store.newer-schema",
    `${what} was written by a newer surety (schema ${version}; this one supports ${SCHEMA_VERSION}). Upgrade surety.`,
  );
}

function checkContent(db: DatabaseSync, file: string): void {
  for (const query of NEWEST_ROWS) db.prepare(query).get();
  const isFound = db.prepare(NEWEST_BY_PLACE).get()?.["found"];
  if (isFound === 0 && db.prepare("SELECT 1 FROM appends LIMIT 1").get() !== undefined) throw corrupt("is damaged");
  const bytes = pragma(db, "page_count") * pragma(db, "page_size");
  if (!wasLeftUnclean(file)) {
    if (statSync(file).size < bytes) throw corrupt("is truncated");
  } else if (bytes <= SMALL_BYTES && findProblems(db).length > 0) {
    throw corrupt("is damaged");
  }
}

function isEmpty(db: DatabaseSync): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
}

function pragma(db: DatabaseSync, name: string): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}

function corrupt(what: string): StoreError {
  return new StoreError("store.corrupt", `The database file ${what}. Restore a backup: surety restore FILE.`);
}
