/**
 * One gateway per home: an exclusive transaction, held open on a database of its own.
 *
 * L1. The second to come is told at once, in one line.
 * L2. The lock dies with its process, however that ends: nothing has to be cleaned up after a kill -9.
 * L3. What is locked is a file. Where another has come into its place, as when a disk was taken out and brought back,
 *     whoever holds the old one holds nothing.
 */
import { statSync } from "node:fs";
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
  const db = new DatabaseSync(file, { timeout: 0 });
  try {
    db.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    db.close();
    throw inUse(home, toStoreError(error));
  }
  const locked = identityOf(file);
  return { isInPlace: () => identityOf(file) === locked, release: () => db.close() };
}

/** Without opening it, which would cost the lock (C3 of connection.ts). */
function identityOf(file: string): string | null {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}

function inUse(home: string, error: unknown): unknown {
  if (!(error instanceof StoreError && error.code === "store.busy")) return error;
  const message = `Another surety runs on ${home}. Use that one, stop it, or choose another home with --home DIR.`;
  return new StoreError("store.in-use", message, { cause: error });
}
