/**
 * The log's file, made long enough beforehand: a sync that also has to record a new length takes twice as long.
 *
 * L1. It spares time and nothing else: without room to spare, for what is written and carried over later too, or while
 *     somebody else writes, it is left undone.
 * L2. Whoever opens a home does not wait for it.
 */
import { closeSync, fdatasyncSync, fstatSync, ftruncateSync, openSync, statfsSync, writeSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../../runtime/ports/store.ts";
import { toStoreError } from "./sqlite-failure.ts";

/** A quiet home's log never grows beyond; under load the rest costs its double syncs once, and is then used again. */
const LOG_BYTES = 4 * 1024 * 1024;
const ZEROS = new Uint8Array(256 * 1024);
const PATIENCE_MS = 20;
/** What has to be free besides: a disk that the log has filled takes no run any more. */
const SPARED_BYTES = 4 * LOG_BYTES;

/** Afterwards the connection waits for others as long as `busyTimeoutMs` says. */
export function lengthenLog(db: DatabaseSync, file: string, busyTimeoutMs: number): void {
  db.exec(`PRAGMA busy_timeout = ${PATIENCE_MS}`);
  try {
    // Whoever else would write to the log waits for this transaction.
    db.exec("BEGIN IMMEDIATE");
    fillUp(`${file}-wal`);
    db.exec("ROLLBACK");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    if (!(toStoreError(error) instanceof StoreError)) throw error;
  } finally {
    db.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  }
}

/** SQLite takes zeros behind its last frame for what they are: no frame. */
function fillUp(log: string): void {
  const file = openSync(log, "r+");
  try {
    const length = fstatSync(file).size;
    const { bavail, bsize } = statfsSync(log);
    if (bavail * bsize < LOG_BYTES - length + SPARED_BYTES) return;
    try {
      for (let at = length; at < LOG_BYTES; at += ZEROS.length) {
        writeSync(file, ZEROS, 0, Math.min(ZEROS.length, LOG_BYTES - at), at);
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
