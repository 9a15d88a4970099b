/**
 * Opens a home: creates and locks the directory, then creates, upgrades and checks the database.
 *
 * O1. The lock comes first; without it nothing is changed.
 * O2. A database that may not be used is not changed either. One that a kill left half created is created again.
 * O3. Created files survive a power cut.
 */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  statfsSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { newId, type RandomBytes } from "../../runtime/ports/randomness.ts";
import { type HomeRestore, StoreError } from "../../runtime/ports/store.ts";
import { checkDatabase, openExisting, schemaVersion } from "./check-database.ts";
import { connectReader, connectWriter, createPrivateFile, databaseFile } from "./connection.ts";
import { type HomeLock, takeHomeLock } from "./home-lock.ts";
import { migrate, SCHEMA_VERSION } from "./schema.ts";
import { toStoreError } from "./sqlite-failure.ts";

export interface OpenDatabase {
  readonly homeId: string;
  readonly restored: HomeRestore | null;
  readonly reading: DatabaseSync;
  release(): void;
}

/** `held`: the home's lock, if the caller holds it already; the caller then also releases it. */
export function openDatabase(
  home: string,
  random: RandomBytes,
  busyTimeoutMs: number,
  held: HomeLock | null,
): OpenDatabase {
  if (held !== null) assertWritable(home);
  const lock = held ?? lockHome(home);
  const release = (): void => (held === null ? lock.release() : undefined);
  try {
    const file = databaseFile(home);
    const reading = openCurrent(file) ?? createOrUpgrade(file, newId("home", random), busyTimeoutMs);
    return { homeId: readHomeId(reading), restored: readRestore(reading), reading, release };
  } catch (error) {
    release();
    throw toStoreError(error);
  }
}

/** For commands that only read, with or without a running gateway. */
export function openForReading(home: string): Omit<OpenDatabase, "release"> {
  const reading = openNotEmpty(databaseFile(home));
  try {
    if (schemaVersion(reading) < SCHEMA_VERSION) {
      throw new StoreError(
        "store.unavailable",
        `The home ${home} was made by an older surety. Start surety once to upgrade it.`,
      );
    }
    return { homeId: readHomeId(reading), restored: readRestore(reading), reading };
  } catch (error) {
    reading.close();
    throw toStoreError(error);
  }
}

/** Of a home of any version; null where there is no database, or an unreadable one. */
export function findHomeId(home: string): string | null {
  try {
    const reading = openNotEmpty(databaseFile(home));
    try {
      return schemaVersion(reading) === 0 ? null : readHomeId(reading);
    } finally {
      reading.close();
    }
  } catch (error) {
    if (toStoreError(error) instanceof StoreError) return null;
    throw error;
  }
}

/** An empty database is not opened: SQLite would delete its WAL, which may hold all that is left. */
function openNotEmpty(file: string): DatabaseSync {
  if (statSync(file, { throwIfNoEntry: false })?.size !== 0) return openExisting(file);
  const message = `The database file ${file} is empty. Start surety once, or restore a backup: surety restore FILE.`;
  throw new StoreError("store.unavailable", message);
}

export function lockHome(home: string): HomeLock {
  assertWritable(home);
  try {
    return takeHomeLock(home);
  } catch (error) {
    throw toStoreError(error);
  }
}

function assertWritable(home: string): void {
  try {
    const made = mkdirSync(home, { recursive: true, mode: 0o700 });
    if (made !== undefined) syncDirectory(dirname(made));
    // No file mode stops root, but a read-only mount does.
    accessSync(home, constants.W_OK);
    const file = databaseFile(home);
    if (existsSync(file)) accessSync(file, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw toStoreError(error);
  }
}

export function syncDirectory(path: string): void {
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** Null when the database must be created or upgraded first. */
function openCurrent(file: string): DatabaseSync | null {
  if (!existsSync(file)) return null;
  if (existsSync(`${file}-journal`)) replayJournal(file);
  const db = connectReader(file);
  try {
    if (checkDatabase(db, file) === SCHEMA_VERSION) return db;
  } catch (error) {
    db.close();
    throw error;
  }
  db.close();
  return null;
}

/** A kill before the switch to WAL leaves a rollback journal, which a read-only connection cannot replay. */
function replayJournal(file: string): void {
  const db = new DatabaseSync(file);
  try {
    db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get();
  } finally {
    db.close();
  }
}

function createOrUpgrade(file: string, homeId: string, busyTimeoutMs: number): DatabaseSync {
  createPrivateFile(file);
  const db = connectWriter(file, busyTimeoutMs);
  try {
    const version = schemaVersion(db);
    if (version > 0) assertSpaceToUpgrade(file);
    migrate(db, version, homeId);
  } finally {
    db.close();
  }
  return connectReader(file);
}

/** Copied rows go into the WAL first, and from there into the database. */
function assertSpaceToUpgrade(file: string): void {
  const neededBytes = 2 * statSync(file).size;
  const { bavail, bsize } = statfsSync(file);
  if (bavail * bsize >= neededBytes) return;
  const needed = Math.ceil(neededBytes / 1_000_000);
  throw new StoreError(
    "store.unavailable",
    `Upgrading this home from an older surety needs ${needed} MB of free disk. Free some space, then start again.`,
  );
}

function readRestore(db: DatabaseSync): HomeRestore | null {
  const row = db.prepare("SELECT value FROM meta WHERE name = 'restored'").get();
  return row === undefined ? null : (JSON.parse(String(row["value"])) as HomeRestore);
}

export function readHomeId(db: DatabaseSync): string {
  return String(db.prepare("SELECT value FROM meta WHERE name = 'home_id'").get()?.["value"]);
}
