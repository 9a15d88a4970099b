/**
 * The home's own file of signed checkpoints, beside the database: what is removed from the one still stands in the other.
 *
 * C1. Lines are only appended; mode 0600. A line that a crash cut short is removed before the next is appended.
 * C2. A file that has grown is replaced by its newest checkpoint, which covers the earlier ones, and what must not be
 *     forgotten: lines that the database contradicts, and lost logs.
 * C3. Not synced: a checkpoint follows what is durable in the database, so one that a power cut takes is only an older state.
 */
import { readFile, rename, truncate, writeFile } from "node:fs/promises";
import type { CheckpointSink } from "../../assistant/verification/keep-checkpoints.ts";
import { type CheckpointRecord, readCheckpointRecords, toRecordLine } from "../../kernel/journal/checkpoint-records.ts";

const MAX_BYTES = 1024 * 1024;
const PRIVATE = 0o600;

/** Empty where there is no file. */
export async function readCheckpointFile(file: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return new Uint8Array();
    throw error;
  }
}

export interface CheckpointFile extends CheckpointSink {
  readonly records: readonly CheckpointRecord[];
}

export async function openCheckpointFile(file: string): Promise<CheckpointFile> {
  const bytes = await readCheckpointFile(file);
  const { records, bad } = readCheckpointRecords(bytes);
  const whole = bytes.lastIndexOf(0x0a) + 1;
  if (whole < bytes.length) await truncate(file, whole);
  let size = whole;
  const kept: string[] = records.filter(({ kind }) => kind === "wal.lost").map((record) => `${toRecordLine(record)}\n`);
  return {
    records,
    keep: (record) => {
      kept.push(`${toRecordLine(record)}\n`);
    },
    async append(record) {
      const line = `${toRecordLine(record)}\n`;
      // A damaged file stays as it is: verification names its line.
      if (size + line.length > MAX_BYTES && size > 2 * line.length && bad === null) {
        const text = [...new Set([...kept, line])].join("");
        await writeFile(`${file}.new`, text, { mode: PRIVATE });
        await rename(`${file}.new`, file);
        size = text.length;
      } else {
        await writeFile(file, line, { mode: PRIVATE, flag: "a" });
        size += line.length;
      }
    },
  };
}
