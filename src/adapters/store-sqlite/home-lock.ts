/**
 * One gateway per home: an exclusive transaction, held open on a database of its own.
 *
 * L1. The second to come is told at once, in one line.
 * L2. The lock dies with its process, however that ends: nothing has to be cleaned up after a kill -9.
 * L3. What is locked is a file. Where another has come into its place, as when a disk was taken out and brought back,
 *     whoever holds the old one holds nothing.
 * L4. The file holds nothing. One that is no database is emptied where it lies: that SQLite came to read it says that
 *     nobody holds it, and as long as it is no database nobody can.
 */
import { statSync, truncateSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { StoreError } from "../../runtime/ports/store.ts";
import { createPrivateFile, lockFile } from "./connection.ts";
import { toStoreError } from "./sqlite-failure.ts";

export interface HomeLock {
  /** The file that was locked is still the one that others would lock. */
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

/** Without opening it, which would cost the lock (C3 of connection.ts). */
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

/** What is wrong with the lock must not be taken for something wrong with the database. */
function refusal(home: string, error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  if (error.code !== "store.busy") {
    return new StoreError(error.code, `${lockFile(home)}: ${error.message}`, { cause: error });
  }
  const message = `Another surety runs on ${home}. Use that one, stop it, or choose another home with --home DIR.`;
  return new StoreError("store.in-use", message, { cause: error });
}
