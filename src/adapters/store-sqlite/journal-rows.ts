/** Journal lines as they lie in the database: the lines of one append in one row, named by the seq of its last. */
import type { Hash } from "../../kernel/vocabulary/identifiers.ts";
import type { Prepare } from "./connection.ts";

/** Canonical JSON has no line breaks. */
const BREAK = "\n";

const APPEND = "INSERT INTO appends (run, last_seq, lines) VALUES (?, ?, ?)";
const AFTER = "SELECT last_seq, lines FROM appends WHERE run = ? AND last_seq > ? ORDER BY last_seq LIMIT ?";
const LAST = "SELECT last_seq, lines FROM appends WHERE run = ? ORDER BY last_seq DESC LIMIT 1";

export function appendLines(prepare: Prepare, run: number, lastSeq: number, lines: readonly string[]): void {
  prepare(APPEND).run(run, lastSeq, lines.join(BREAK));
}

/** The lines after `seq`, at most `limit`. */
export function linesAfter(prepare: Prepare, run: number, seq: number, limit: number): readonly string[] {
  const found: string[] = [];
  // Each row holds a line or more, so never more rows than lines are needed.
  for (const row of prepare(AFTER).iterate(run, seq, limit)) {
    const lines = String(row["lines"]).split(BREAK);
    const firstSeq = Number(row["last_seq"]) - lines.length + 1;
    found.push(...lines.slice(Math.max(0, seq + 1 - firstSeq)));
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
}

/** The last entry; null before the first. */
export function journalHead(prepare: Prepare, run: number): { readonly seq: number; readonly hash: Hash } | null {
  const row = prepare(LAST).get(run);
  if (row === undefined) return null;
  const last = String(row["lines"]).split(BREAK).at(-1) ?? "";
  const { hash } = JSON.parse(last) as { readonly hash: Hash };
  return { seq: Number(row["last_seq"]), hash };
}
