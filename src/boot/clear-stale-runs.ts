/**
 * What conformance runs left behind that were killed: each works in a directory of its own, and removes it when it ends.
 *
 * C1. One that somebody still works in stays: whoever does holds its lock, and the lock dies with its process.
 * C2. One that was made just now stays too: its maker may not have come to lock it yet.
 * C3. What cannot be removed is left to the next start; it is no error of this one.
 */
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { takeHomeLock } from "../adapters/store-sqlite/home-lock.ts";
import { StoreError } from "../runtime/ports/store.ts";
import { systemCodeOf } from "./boot-error.ts";

/** How the names of such directories begin. */
export const RUN_PREFIX = ".run-";
const SETTLING_MS = 60_000;

export async function clearStaleRuns(folder: string, nowMs: number): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries) {
    if (entry.isDirectory() && entry.name.startsWith(RUN_PREFIX)) await clear(join(folder, entry.name), nowMs);
  }
}

async function clear(directory: string, nowMs: number): Promise<void> {
  try {
    const { mtimeMs } = await stat(directory);
    if (nowMs - mtimeMs < SETTLING_MS) return;
    const lock = takeHomeLock(directory);
    try {
      await rm(directory, { recursive: true, force: true });
    } finally {
      lock.release();
    }
  } catch (error) {
    if (!(error instanceof StoreError) && systemCodeOf(error) === null) throw error;
  }
}
