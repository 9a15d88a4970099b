/**
 * One gateway per home: an exclusive transaction, held open on a database of its own.
 *
 * L1. A second gateway is refused at once, in one line.
 * L2. The lock ends with its process, however that ends: a kill -9 leaves nothing to clean up.
 * L3. The lock is on a file. Once another file has its path, as after a disk was removed and mounted again, the lock is
 *     void.
 * L4. The file holds no data. One that is not a database is emptied in place: no process can hold a lock on it, since
 *     SQLite got as far as reading it.
 */
import { statSync, truncateSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { StoreError } from "../../runtime/ports/store.ts";
import { createPrivateFile, lockFile } from "./connection.ts";
import { toStoreError } from "./sqlite-failure.ts";

export interface HomeLock {
  /** False once another file has the lock's path (L3). */
  isInPlace(): boolean;
  release(): void;
}

export function takeHomeLock(home: string): HomeLock {
  const file = lockFile(home);
  createPrivateFile(file);
  try {
    const db = lockOrHeal(file);
    const locked = identityOf(file);
    return { isInPlace: () => identityOf(file) === locked, release: () => db.close() };
  } catch (error) {
    throw refusal(home, toStoreError(error));
  }
}

/** By stat: opening the file would drop the lock (C3 of connection.ts). */
function identityOf(file: string): string | null {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}

function lockOrHeal(file: string): DatabaseSync {
  try {
    return beginExclusive(file);
  } catch (error) {
    const known = toStoreError(error);
    if (!(known instanceof StoreError && known.code === "store.corrupt")) throw error;
  }
  truncateSync(file);
  return beginExclusive(file);
}

function beginExclusive(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: 0 });
  try {
    db.exec("BEGIN EXCLUSIVE");
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Names the lock file, so that its failure is not mistaken for one of the database. */
function refusal(home: string, error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  if (error.code !== "store.busy") {
    return new StoreError(error.code, `${lockFile(home)}: ${error.message}`, { cause: error });
  }
  const message = `Another surety runs on ${home}. Use that one, stop it, or choose another home with --home DIR.`;
  return new StoreError("store.in-use", message, { cause: error });
}
