/**
 * Backs up and restores a home's database.
 *
 * B1. A backup is a snapshot taken while the gateway runs; under its name it is complete or absent.
 * B2. A backup is checked before it replaces anything, and never under a running gateway.
 * B3. Restoring replaces the database atomically and keeps the old one beside it.
 * B4. The restored database says so itself, in its ledger too, before it takes the other's place: a process that opens it
 *     knows that its open runs may have gone on after the backup was taken.
 */
import { closeSync, copyFileSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { appendLedger, toLedgerLine } from "../../kernel/journal/ledger.ts";
import { type HomeRestore, StoreError } from "../../runtime/ports/store.ts";
import { checkDatabase, findProblems, openExisting } from "./check-database.ts";
import {
  BUSY_TIMEOUT_MS,
  connectReader,
  connectWriter,
  createPrivateFile,
  databaseFile,
  preparing,
} from "./connection.ts";
import { ledgerHead } from "./ledger.ts";
import { lockHome, readHomeId, syncDirectory } from "./open-database.ts";
import { toStoreError } from "./sqlite-failure.ts";

/** All pages in one step: a commit between two steps would restart the copy. */
const ALL_PAGES = 2 ** 31 - 1;

export interface Restore {
  readonly id: string;
  readonly ts: string;
}

export async function backUp(file: string, toFile: string): Promise<void> {
  const partial = `${toFile}.partial`;
  const source = connectReader(file);
  try {
    rmSync(partial, { force: true });
    createPrivateFile(partial);
    await backup(source, partial, { rate: ALL_PAGES });
    leaveWalMode(partial);
    replaceDurably(partial, toFile);
  } catch (error) {
    rmSync(partial, { force: true });
    throw toStoreError(error);
  } finally {
    source.close();
  }
}

/** Returns where the replaced database is kept; null when there was none. */
export function restoreBackup(fromFile: string, home: string, { id, ts }: Restore): string | null {
  checkBackup(fromFile);
  const lock = lockHome(home);
  try {
    const file = databaseFile(home);
    const restoring = `${file}.restoring`;
    copyPrivately(fromFile, restoring);
    markRestored(restoring, id, ts);
    const replaced = existsSync(file) ? setAside(file) : null;
    rmSync(`${file}-shm`, { force: true });
    replaceDurably(restoring, file);
    return replaced;
  } catch (error) {
    throw toStoreError(error);
  } finally {
    lock.release();
  }
}

function markRestored(file: string, id: string, ts: string): void {
  const db = connectWriter(file, BUSY_TIMEOUT_MS);
  try {
    const prepare = preparing(db);
    db.exec("BEGIN IMMEDIATE");
    const lastRun = Number(prepare("SELECT max(position) AS last FROM runs").get()?.["last"] ?? 0);
    const restored: HomeRestore = { id, lastRun };
    prepare("INSERT OR REPLACE INTO meta VALUES ('restored', ?)").run(JSON.stringify(restored));
    const head = ledgerHead(prepare, readHomeId(db));
    const draft = { kind: "home.restored", ts, actor: "operator", data: { restoreId: id } } as const;
    const entry = appendLedger(head, draft);
    prepare("INSERT INTO ledger VALUES (?, ?)").run(entry.seq, toLedgerLine(entry));
    db.exec("COMMIT");
  } finally {
    db.close();
  }
}

/** A WAL database can be read only where files can be created beside it; a backup may be anywhere. */
function leaveWalMode(file: string): void {
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
      throw new StoreError(
        "store.corrupt",
        "The backup is empty or damaged, so nothing was changed. Try another backup.",
      );
    }
  } catch (error) {
    throw toStoreError(error);
  } finally {
    db.close();
  }
}

function setAside(file: string): string {
  const replaced = freeName(`${file}.replaced`);
  // SQLite would delete the WAL of an empty database, which may hold all that is left.
  if (statSync(file).size > 0) truncateWal(file);
  copyPrivately(file, replaced);
  // A database that could not be opened keeps its WAL, which must not be applied to the new one.
  if (existsSync(`${file}-wal`)) renameSync(`${file}-wal`, `${replaced}-wal`);
  return replaced;
}

/** Makes the file complete without its WAL, unless the database is too damaged. */
function truncateWal(file: string): void {
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

function replaceDurably(source: string, file: string): void {
  const copy = openSync(source, "r+");
  try {
    fsyncSync(copy);
  } finally {
    closeSync(copy);
  }
  renameSync(source, file);
  syncDirectory(dirname(file));
}
