/**
 * Was the write-ahead log (WAL) removed while it held commits that the database file has not? The last process to close takes
 * the log and its index (-shm) away together; an index that counts more frames than were copied into the database, without a
 * log, means that those are lost. Any process that opens the database makes a new index, so this is looked at before.
 */
import { existsSync, readFileSync } from "node:fs";
import { endianness } from "node:os";

/** The layout of the index's head: sqlite.org/walformat.html. */
const HEAD_BYTES = 136;
const IS_INITIALIZED = 12;
const LAST_FRAME = 16;
const FRAMES_COPIED = 96;

export function isWalLost(file: string): boolean {
  if (existsSync(`${file}-wal`) || !existsSync(file)) return false;
  const index = readIndex(`${file}-shm`);
  if (index === null || index.length < HEAD_BYTES || index[IS_INITIALIZED] !== 1) return false;
  const numberAt = (at: number): number => (endianness() === "LE" ? index.readUInt32LE(at) : index.readUInt32BE(at));
  return numberAt(LAST_FRAME) > numberAt(FRAMES_COPIED);
}

function readIndex(file: string): Buffer | null {
  try {
    return readFileSync(file);
  } catch {
    // Absent or unreadable: it says nothing.
    return null;
  }
}
