/**
 * Copies of a home's database, and putting one in its place.
 *
 * B1. A backup is of one moment, while work goes on; under its name it is whole or not there at all.
 * B2. What is restored was checked before anything was touched. A gateway that runs on the home is not pulled away under.
 * B3. Restoring replaces the database in one step, and keeps the one it replaces beside it.
 */
import { closeSync, copyFileSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { StoreError } from "../../runtime/ports/store.ts";
import { checkDatabase, findProblems, openExisting } from "./check-database.ts";
import { BUSY_TIMEOUT_MS, connectReader, connectWriter, createPrivateFile, databaseFile } from "./connection.ts";
import { lockHome, syncDirectory } from "./open-database.ts";
import { toStoreError } from "./sqlite-failure.ts";

/** All pages in one step: between two, a commit would make the copy start over. */
const ALL_PAGES = 2 ** 31 - 1;

export async function backUp(file: string, toFile: string): Promise<void> {
  const aside = `${toFile}.partial`;
  const source = connectReader(file);
  try {
    rmSync(aside, { force: true });
    createPrivateFile(aside);
    await backup(source, aside, { rate: ALL_PAGES });
    makeSelfContained(aside);
    putInPlace(aside, toFile);
  } catch (error) {
    rmSync(aside, { force: true });
    throw toStoreError(error);
  } finally {
    source.close();
  }
}

/** Where the replaced database was put; null when there was none. */
export function restoreBackup(fromFile: string, home: string): string | null {
  checkBackup(fromFile);
  const lock = lockHome(home);
  try {
    const file = databaseFile(home);
    const aside = `${file}.restoring`;
    copyPrivately(fromFile, aside);
    connectWriter(aside, BUSY_TIMEOUT_MS).close();
    const kept = existsSync(file) ? keep(file) : null;
    rmSync(`${file}-shm`, { force: true });
    putInPlace(aside, file);
    return kept;
  } catch (error) {
    throw toStoreError(error);
  } finally {
    lock.release();
  }
}

/** A database with a log can only be read where files can be made beside it; a backup may lie anywhere. */
function makeSelfContained(file: string): void {
  const db = new DatabaseSync(file);
  try {
    db.exec("PRAGMA journal_mode = DELETE");
  } finally {
    db.close();
  }
}

function checkBackup(file: string): void {
  const db = openExisting(file);
  try {
    if (checkDatabase(db, file, "The backup") === 0 || findProblems(db).length > 0) {
      throw new StoreError("store.corrupt", "The backup is empty or damaged. Nothing was changed; try another one.");
    }
  } catch (error) {
    throw toStoreError(error);
  } finally {
    db.close();
  }
}

function keep(file: string): string {
  const kept = freeName(`${file}.replaced`);
  // Of an empty one SQLite would throw the log away, which may be all that is left.
  if (statSync(file).size > 0) emptyLog(file);
  copyPrivately(file, kept);
  // Only of a database that could not be opened: it keeps its log, which must not be taken for the new one's.
  if (existsSync(`${file}-wal`)) renameSync(`${file}-wal`, `${kept}-wal`);
  return kept;
}

/** So that the file alone is the database. One too damaged for that is kept as it is. */
function emptyLog(file: string): void {
  let db: DatabaseSync | null = null;
  try {
    db = connectWriter(file, BUSY_TIMEOUT_MS);
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (error) {
    const known = toStoreError(error);
    if (!(known instanceof StoreError && known.code === "store.corrupt")) throw known;
  } finally {
    db?.close();
  }
}

function freeName(name: string): string {
  let number = 1;
  while (existsSync(`${name}-${number}`)) number += 1;
  return `${name}-${number}`;
}

function copyPrivately(from: string, to: string): void {
  rmSync(to, { force: true });
  createPrivateFile(to);
  copyFileSync(from, to);
}

function putInPlace(aside: string, file: string): void {
  const copy = openSync(aside, "r+");
  try {
    fsyncSync(copy);
  } finally {
    closeSync(copy);
  }
  renameSync(aside, file);
  syncDirectory(dirname(file));
}
