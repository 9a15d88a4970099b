/**
 * Writes as they are sent to the writer thread: the entries of an append as one text. An object per line takes twice as
 * long to copy between threads, and the database stores the text as it is.
 */
import type { Write } from "../../runtime/ports/store.ts";
import { LINE_BREAK } from "./journal.ts";
import type { WriteOf } from "./transaction.ts";

export interface PackedAppend extends Omit<WriteOf<"append-entries">, "lines" | "takeEncoded"> {
  /** How many entries the text has. */
  readonly count: number;
  readonly entries: string;
}
export type PackedWrite = PackedAppend | Exclude<Write, { readonly type: "append-entries" }>;

export function pack(writes: readonly Write[]): readonly PackedWrite[] {
  return writes.map((write) => (write.type === "append-entries" ? packAppend(write) : write));
}

function packAppend(write: WriteOf<"append-entries">): PackedAppend {
  const { type, runId, epoch, after, head, bodies } = write;
  const entries = write.takeEncoded?.() ?? write.lines;
  return { type, runId, epoch, after, head, bodies, count: entries.length, entries: entries.join(LINE_BREAK) };
}
