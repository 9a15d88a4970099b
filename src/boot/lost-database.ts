/**
 * A home that had a database and has none any more. None is made in its place without a word: every run would be gone.
 *
 * L1. The signing key is made when the first database is durable: where there is a key, there was a database. What a kill
 *     left half made at the first start has no key beside it yet.
 * L2. It is told before anybody opens the database: SQLite throws away the log of an empty one.
 */
import { stat } from "node:fs/promises";
import { BootError, systemCodeOf } from "./boot-error.ts";
import { type Home, homeUnusable } from "./home.ts";
import { keyFile } from "./signing-key.ts";

export async function assertDatabaseKept(home: Home): Promise<void> {
  if ((await bytesOf(keyFile(home))) === null) return;
  const bytes = await bytesOf(home.database);
  if (bytes === null) throw lost(home, "store.missing", "is gone");
  if (bytes === 0) throw lost(home, "store.corrupt", "is empty");
}

/** Null where there is no such file. */
async function bytesOf(file: string): Promise<number | null> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw homeUnusable(file, `it cannot be looked at (${code ?? "unknown"})`, error);
  }
}

function lost(home: Home, code: string, what: string): BootError {
  return new BootError(
    code,
    `${home.database} ${what}, and with it what this home did`,
    `Restore a backup: surety restore FILE. To start afresh instead, move ${keyFile(home)} away: it signed what is lost.`,
  );
}
