/**
 * Connections to a home's database, each with the settings its role needs.
 *
 * C1. One connection writes. Its commits are synced before they are seen (WAL, FULL).
 * C2. A file is 0600 from its first byte; SQLite gives the files beside it the same mode.
 * C3. Files that SQLite has locked are never opened here by other means: closing such a handle drops the locks that
 *     the whole process holds on it.
 * C4. A database with a log is read through files that SQLite makes beside it. Where none can be made and none is there,
 *     nobody writes either, and the file alone is read, as what does not change.
 */
import { accessSync, closeSync, constants, existsSync, openSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";

export const BUSY_TIMEOUT_MS = 30_000;
/** A reader only ever waits for another process that repairs the log; the main thread must not wait long for that. */
const READ_TIMEOUT_MS = 1000;
/** The log is carried over into the database at this length, if no idle moment came before. */
const LOG_PAGES = 2000;

export const databaseFile = (home: string): string => join(home, "surety.db");
export const lockFile = (home: string): string => join(home, "lock.db");

export function connectWriter(file: string, busyTimeoutMs: number): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: busyTimeoutMs });
  try {
    // fullfsync: on a Mac, a plain fsync leaves the bytes in the drive's cache.
    db.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;
       PRAGMA wal_autocheckpoint = ${LOG_PAGES}; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8000`,
    );
  } catch (error) {
    db.close();
    throw error;
  }
  return db;
}

export function connectReader(file: string): DatabaseSync {
  const place = isAtRest(file) ? new URL("?immutable=1", pathToFileURL(file)) : file;
  return new DatabaseSync(place, { readOnly: true, timeout: READ_TIMEOUT_MS });
}

function isAtRest(file: string): boolean {
  return !mayWriteIn(dirname(file)) && !existsSync(`${file}-wal`) && !existsSync(`${file}-shm`);
}

function mayWriteIn(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Makes the file when there is none; one that is there is left alone. */
export function createPrivateFile(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}

export type Prepare = (sql: string) => StatementSync;

/** Each statement is compiled once, when it is first needed. */
export function preparing(db: DatabaseSync): Prepare {
  const prepared = new Map<string, StatementSync>();
  return (sql) => {
    let statement = prepared.get(sql);
    if (statement === undefined) {
      statement = db.prepare(sql);
      prepared.set(sql, statement);
    }
    return statement;
  };
}
