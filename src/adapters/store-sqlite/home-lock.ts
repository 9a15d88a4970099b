/**
 * One gateway per home: an exclusive transaction, held open on a database of its own.
 *
 * L1. The second to come is told at once, in one line.
 * L2. The lock dies with its process, however that ends: nothing has to be cleaned up after a kill -9.
 */
import { DatabaseSync } from "node:sqlite";
import { StoreError } from "../../runtime/ports/store.ts";
import { createPrivateFile, lockFile } from "./connection.ts";
import { toStoreError } from "./sqlite-failure.ts";

export interface HomeLock {
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
  return { release: () => db.close() };
}

function inUse(home: string, error: unknown): unknown {
  if (!(error instanceof StoreError && error.code === "store.busy")) return error;
  const message = `Another surety runs on ${home}. Use that one, stop it, or choose another home with --home DIR.`;
  return new StoreError("store.in-use", message, { cause: error });
}
