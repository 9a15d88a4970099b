/** What the records of an ended run hold, byte for byte: written by `run-records.ts`, compared by `compare-run-records.ts`. */

import type { Entry } from "../../kernel/journal/entry.ts";
import { toLine } from "../../kernel/journal/journal-lines.ts";
import { auditEvents, auditFileOf } from "../../kernel/journal/views/audit-events.ts";
import type { Lookup } from "../../kernel/journal/views/body-content.ts";
import { lifecycleEvents } from "../../kernel/journal/views/lifecycle-events.ts";
import { runSummary } from "../../kernel/journal/views/run-summary.ts";
import { traceEvents } from "../../kernel/journal/views/trace-events.ts";
import type { StoredRun } from "../../runtime/ports/store.ts";

/** The text of each file of a run's folder, by name. */
export function folderFiles(
  run: Pick<StoredRun, "contract">,
  entries: readonly Entry[],
): Readonly<Record<string, string>> {
  const summary = runSummary(entries);
  const files: Readonly<Record<string, readonly string[]>> = {
    "contract.json": [run.contract],
    "journal.jsonl": entries.map(toLine),
    "trace.jsonl": traceEvents(entries).map((event) => JSON.stringify(event)),
    "events.jsonl": lifecycleEvents(entries).map((event) => JSON.stringify(event)),
    // A journal that breaks off has none.
    ...(summary === null ? {} : { "summary.json": [JSON.stringify(summary)] }),
  };
  const textOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");
  return Object.fromEntries(Object.entries(files).map(([name, lines]) => [name, textOf(lines)]));
}

export interface AuditLine {
  /** Relative to the home. */
  readonly file: string;
  readonly seq: number;
  readonly line: string;
}

/** Of a run that was forgotten, without inputs, also where another run of its session said the same. */
export function auditLines(
  { agentId, erasedAt }: Pick<StoredRun, "agentId" | "erasedAt">,
  entries: readonly Entry[],
  lookup: Lookup,
): readonly AuditLine[] {
  return auditEvents(entries, erasedAt === undefined ? lookup : null).map((event) => ({
    file: auditFileOf(agentId, event.ts),
    seq: event.seq,
    line: JSON.stringify(event),
  }));
}
