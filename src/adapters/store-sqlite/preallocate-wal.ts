/**
 * Makes the WAL file long enough beforehand: a sync that must also record a new file length takes twice as long.
 *
 * L1. It only saves time: it is skipped while another process writes, and where the disk is nearly full.
 * L2. Opening a home does not wait for it.
 */
import { closeSync, fdatasyncSync, fstatSync, ftruncateSync, openSync, statfsSync, writeSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../../runtime/ports/store.ts";
import { toStoreError } from "./sqlite-failure.ts";

/** A quiet home's WAL never grows beyond; under load the rest costs slow syncs once and is then reused. */
const WAL_BYTES = 4 * 1024 * 1024;
const ZEROS = new Uint8Array(256 * 1024);
const LOCK_TIMEOUT_MS = 20;
/** Must stay free besides: a disk filled by the WAL accepts no run. */
const RESERVED_BYTES = 4 * WAL_BYTES;

/** Leaves the connection with `busyTimeoutMs`. */
export function preallocateWal(db: DatabaseSync, file: string, busyTimeoutMs: number): void {
  db.exec(`PRAGMA busy_timeout = ${LOCK_TIMEOUT_MS}`);
  try {
    // Keeps other connections from writing to the WAL meanwhile.
    db.exec("BEGIN IMMEDIATE");
    fillWithZeros(`${file}-wal`);
    db.exec("ROLLBACK");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    if (!(toStoreError(error) instanceof StoreError)) throw error;
  } finally {
    db.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  }
}

/** SQLite does not mistake zeros after its last frame for a frame. */
function fillWithZeros(wal: string): void {
  const file = openSync(wal, "r+");
  try {
    const length = fstatSync(file).size;
    const { bavail, bsize } = statfsSync(wal);
    if (bavail * bsize < WAL_BYTES - length + RESERVED_BYTES) return;
    try {
      for (let at = length; at < WAL_BYTES; at += ZEROS.length) {
        writeSync(file, ZEROS, 0, Math.min(ZEROS.length, WAL_BYTES - at), at);
      }
      fdatasyncSync(file);
    } catch (error) {
      ftruncateSync(file, length);
      throw error;
    }
  } finally {
    closeSync(file);
  }
}
