/**
 * Rewrites the records of runs whose content was erased: the same views over what is left. Their audit lines lose the inputs of
 * calls and keep the refs. Every step can be repeated.
 */
import { readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { auditEvents, auditFileOf } from "../../kernel/journal/views/audit-events.ts";
import { isAgentId } from "../../kernel/vocabulary/agent-id.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Store } from "../../runtime/ports/store.ts";
import { readWholeJournal } from "../../runtime/run/read-run.ts";
import { rewriteLines } from "./rewrite-lines.ts";
import { folderFiles } from "./run-projection.ts";

export async function eraseRunRecords(store: Store, homeDirectory: string, runIds: readonly RunId[]): Promise<void> {
  /** By file, then by event. */
  const lines = new Map<string, Map<string, string>>();
  for (const runId of runIds) {
    const run = await store.findRun(runId);
    // The name becomes a path.
    if (run === null || !isAgentId(run.agentId)) continue;
    const { entries } = await readWholeJournal(store, runId);
    const runs = join(homeDirectory, "agents", run.agentId, "runs");
    await rm(join(runs, `.${runId}.new`), { recursive: true, force: true });
    for (const [name, text] of Object.entries(folderFiles(run, entries))) await replace(join(runs, runId, name), text);
    for (const event of auditEvents(entries)) {
      const path = join(homeDirectory, auditFileOf(run.agentId, event.ts));
      const ofFile = lines.get(path) ?? new Map<string, string>();
      lines.set(path, ofFile.set(`${runId} ${event.seq}`, JSON.stringify(event)));
    }
  }
  for (const [path, ofFile] of lines) {
    const eventOf = (line: string): string => {
      const [, runId, seq] = /"run_id":"([\w-]+)".*?"seq":(\d+)/.exec(line) ?? [];
      return `${runId} ${seq}`;
    };
    await rewriteLines(path, (line) => ofFile.get(eventOf(line)) ?? line);
    // Ends of lines that a crash left.
    await rewriteLines(`${path}.torn`, (line) => (runIds.some((runId) => line.includes(runId)) ? null : line));
  }
}

/** Where there is such a file, and it holds something else. */
async function replace(path: string, text: string): Promise<void> {
  const before = await readFile(path, "utf8").catch(() => null);
  if (before === null || before === text) return;
  await writeFile(`${path}.erasing`, text, { mode: 0o600, flush: true });
  await rename(`${path}.erasing`, path);
}

/** Of runs that were forgotten: their folders and audit lines. */
export async function removeRunRecords(store: Store, homeDirectory: string, runIds: readonly RunId[]): Promise<void> {
  const files = new Set<string>();
  for (const runId of runIds) {
    const run = await store.findRun(runId);
    if (run === null || !isAgentId(run.agentId)) continue;
    const { entries } = await readWholeJournal(store, runId);
    for (const event of auditEvents(entries)) files.add(join(homeDirectory, auditFileOf(run.agentId, event.ts)));
    await rm(join(homeDirectory, "agents", run.agentId, "runs", runId), { recursive: true, force: true });
  }
  const isOf = (line: string): boolean => runIds.some((runId) => line.includes(`"run_id":"${runId}"`));
  for (const path of files) {
    await rewriteLines(path, (line) => (isOf(line) ? null : line));
    const isEmpty = await stat(path).then(
      ({ size }) => size === 0,
      () => false,
    );
    if (isEmpty) await rm(path);
  }
}
