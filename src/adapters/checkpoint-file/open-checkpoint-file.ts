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
const NEWLINE = 0x0a;
const NOT_READ = { records: [], bad: null };

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
  /** The newest checkpoint. */
  readonly last: Extract<CheckpointRecord, { readonly kind: "checkpoint" }> | null;
}

export async function openCheckpointFile(file: string): Promise<CheckpointFile> {
  const bytes = await readCheckpointFile(file);
  const whole = bytes.lastIndexOf(NEWLINE) + 1;
  if (whole < bytes.length) await truncate(file, whole);
  let size = whole;
  const kept: string[] = [];
  return {
    last: lastCheckpoint(bytes.subarray(0, whole)),
    keep: (record) => {
      kept.push(`${toRecordLine(record)}\n`);
    },
    async append(record) {
      const line = `${toRecordLine(record)}\n`;
      const { records, bad } = size + line.length > MAX_BYTES ? readCheckpointRecords(await readFile(file)) : NOT_READ;
      // A damaged file stays as it is: verification names its line.
      if (records.length > 1 && bad === null) {
        const lost = records.filter(({ kind }) => kind === "wal.lost").map((record) => `${toRecordLine(record)}\n`);
        const text = [...new Set([...lost, ...kept, line])].join("");
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

/** Mostly it is the last line; a start reads no more. */
function lastCheckpoint(lines: Uint8Array): CheckpointFile["last"] {
  const isCheckpoint = (record: CheckpointRecord) => record.kind === "checkpoint";
  const lastLine = lines.subarray(lines.subarray(0, -1).lastIndexOf(NEWLINE) + 1);
  const last = readCheckpointRecords(lastLine).records.findLast(isCheckpoint);
  return last ?? readCheckpointRecords(lines).records.findLast(isCheckpoint) ?? null;
}
