/**
 * Connections to a home's database, each with the settings its role needs.
 *
 * C1. One connection writes. Its commits are synced before they are visible (WAL, FULL).
 * C2. A file is 0600 from its first byte; SQLite gives its -wal and -shm files the same mode.
 * C3. Files that SQLite has locked are never opened by other means: closing such a handle drops every lock that the
 *     process holds on the file.
 * C4. Reading a WAL database needs its -wal and -shm files. Where they are missing and cannot be created, no process can
 *     be writing, so the file is opened as immutable.
 * C5. What is deleted is overwritten with zeros, so that nothing of it stays in the file.
 */
import { accessSync, closeSync, constants, existsSync, openSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";

export const BUSY_TIMEOUT_MS = 30_000;
/** Readers wait only while another process recovers the WAL; the main thread must not be blocked for long. */
const READ_TIMEOUT_MS = 1000;
/** The WAL is checkpointed at this length at the latest; usually an idle moment comes first. */
const WAL_PAGES = 2000;

export const databaseFile = (home: string): string => join(home, "surety.db");
export const lockFile = (home: string): string => join(home, "lock.db");

export function connectWriter(file: string, busyTimeoutMs: number): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: busyTimeoutMs });
  try {
    // fullfsync: on macOS, a plain fsync leaves the bytes in the drive's cache. secure_delete: what is erased is overwritten,
    // and so is what the index of memories moves elsewhere.
    db.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;
       PRAGMA wal_autocheckpoint = ${WAL_PAGES}; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8000;
       PRAGMA secure_delete = ON`,
    );
  } catch (error) {
    db.close();
    throw error;
  }
  return db;
}

export function connectReader(file: string): DatabaseSync {
  if (isAtRest(file)) return connectUnchanged(file);
  return new DatabaseSync(file, { readOnly: true, timeout: READ_TIMEOUT_MS });
}

/** Code of our own choice may be added to it (`vector-search.ts`). */
export function connectExtensibleReader(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { readOnly: true, timeout: READ_TIMEOUT_MS, allowExtension: true });
  db.enableLoadExtension(false);
  return db;
}

/** Neither reads nor makes the files beside the database. */
export function connectUnchanged(file: string): DatabaseSync {
  return new DatabaseSync(new URL("?immutable=1", pathToFileURL(file)), { readOnly: true, timeout: READ_TIMEOUT_MS });
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

/** Creates the file unless it exists. */
export function createPrivateFile(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}

/** A subject's part of each schema version (schema.ts). */
export type Tables = Readonly<Record<number, string>>;

export type Prepare = (sql: string) => StatementSync;

/** Compiles each statement once, at first use. */
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

/** Hashes and salts are hex strings in memory and bytes, half as long, in the database. */
export function toBytes(hex: string): Buffer {
  return Buffer.from(hex, "hex");
}

export function toHex<T extends string>(bytes: Uint8Array): T {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex") as T;
}
