/**
 * From a directory, or none yet, to a locked home with a sound, current database.
 *
 * O1. The lock comes first; whoever does not get it changes nothing.
 * O2. A database that may not be used is not changed either. One that a kill left half made is made again.
 * O3. What was made survives a power cut.
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
import { StoreError } from "../../runtime/ports/store.ts";
import { checkDatabase, openExisting, schemaVersion } from "./check-database.ts";
import { connectReader, connectWriter, createPrivateFile, databaseFile } from "./connection.ts";
import { type HomeLock, takeHomeLock } from "./home-lock.ts";
import { migrate, SCHEMA_VERSION } from "./schema.ts";
import { toStoreError } from "./sqlite-failure.ts";

export interface OpenDatabase {
  readonly homeId: string;
  readonly reading: DatabaseSync;
  release(): void;
}

/** `held`: the home's lock, where whoever opens it holds that already, and goes on to. */
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
    const reading = openCurrent(file) ?? makeCurrent(file, newId("home", random), busyTimeoutMs);
    return { homeId: readHomeId(reading), reading, release };
  } catch (error) {
    release();
    throw toStoreError(error);
  }
}

/** For commands that only look, beside a running gateway or without one. */
export function openForReading(home: string): Omit<OpenDatabase, "release"> {
  const reading = openNotEmpty(databaseFile(home));
  try {
    if (schemaVersion(reading) < SCHEMA_VERSION) {
      throw new StoreError(
        "store.unavailable",
        `The home ${home} is of an older surety. Start surety once to upgrade it.`,
      );
    }
    return { homeId: readHomeId(reading), reading };
  } catch (error) {
    reading.close();
    throw toStoreError(error);
  }
}

/** Of a home of any version; null where there is no database, or one of which nothing can be known. */
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

/** SQLite throws away the log of an empty database, which may be all that is left of it: that is not opened at all. */
function openNotEmpty(file: string): DatabaseSync {
  if (statSync(file, { throwIfNoEntry: false })?.size !== 0) return openExisting(file);
  const message = `There is nothing in ${file}. Start surety once, or restore a backup: surety restore FILE.`;
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
    // Even root, whom no mode stops, cannot write to a file system that is mounted read-only.
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

/** Null when the database has yet to be made or upgraded. */
function openCurrent(file: string): DatabaseSync | null {
  if (!existsSync(file)) return null;
  if (existsSync(`${file}-journal`)) playBack(file);
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

/** Killed before it had its log, the database has a journal, which a connection that only reads cannot play back. */
function playBack(file: string): void {
  const db = new DatabaseSync(file);
  try {
    db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get();
  } finally {
    db.close();
  }
}

function makeCurrent(file: string, homeId: string, busyTimeoutMs: number): DatabaseSync {
  createPrivateFile(file);
  const db = connectWriter(file, busyTimeoutMs);
  try {
    const version = schemaVersion(db);
    if (version > 0) assertRoomToUpgrade(file);
    migrate(db, version, homeId);
  } finally {
    db.close();
  }
  return connectReader(file);
}

/** What is copied goes into the log first, and from there into the database. */
function assertRoomToUpgrade(file: string): void {
  const neededBytes = 2 * statSync(file).size;
  const { bavail, bsize } = statfsSync(file);
  if (bavail * bsize >= neededBytes) return;
  const needed = Math.ceil(neededBytes / 1_000_000);
  throw new StoreError(
    "store.unavailable",
    `The home is of an older surety, and to upgrade it takes ${needed} MB of free disk. Make room, then start again.`,
  );
}

function readHomeId(db: DatabaseSync): string {
  return String(db.prepare("SELECT value FROM meta WHERE name = 'home_id'").get()?.["value"]);
}
