/**
 * Checkpoints kept outside the database, one canonical JSON object a line: in a file of the home, or exported. A line also
 * says that the write-ahead log of the database was gone when the home was opened.
 */
import { type Static, Type } from "typebox";
import { closed } from "../vocabulary/schema-primitives.ts";
import { canonicalWire } from "../vocabulary/wire-case.ts";
import { SignedCheckpointSchema } from "./checkpoint.ts";
import { parserByKind } from "./parse-by-kind.ts";
import { type BadEntry, parseCanonical, readRecords } from "./read-records.ts";

const Text = Type.String({ minLength: 1 });

const RecordSchemas = {
  checkpoint: Type.Object(
    {
      kind: Type.Literal("checkpoint"),
      ts: Text,
      homeId: Text,
      publicKey: Text,
      checkpoint: SignedCheckpointSchema,
    },
    closed,
  ),
  "wal.lost": Type.Object({ kind: Type.Literal("wal.lost"), ts: Text }, closed),
};
export type CheckpointRecord = Readonly<Static<(typeof RecordSchemas)[keyof typeof RecordSchemas]>>;

const parseRecord = parserByKind<CheckpointRecord>(RecordSchemas);

export function toRecordLine(record: CheckpointRecord): string {
  return canonicalWire(record);
}

/** A torn last line is a write that was cut off. */
export function readCheckpointRecords(file: string | Uint8Array): {
  readonly records: readonly CheckpointRecord[];
  readonly bad: BadEntry | null;
} {
  const { entries, bad } = readRecords(file, (line) => {
    const parsed = parseCanonical(line);
    return parsed.ok ? parseRecord(parsed.value) : parsed;
  });
  return { records: entries, bad };
}
