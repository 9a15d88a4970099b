/**
 * Compares audit files and run folders with what the database says they hold (`run-projection.ts`): what `surety verify`
 * does, in the order of the ledger, one run in memory at a time.
 *
 * C1. What was written when the home was last projected must be there; what ended since may be, in the same order.
 * C2. A file or folder that nothing accounts for is a difference too. `.torn` files and names with a leading dot are none of it.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { FileFinding } from "../../assistant/verification/verify-home.ts";
import type { Entry } from "../../kernel/journal/entry.ts";
import type { Lookup } from "../../kernel/journal/views/body-content.ts";
import { isAgentId } from "../../kernel/vocabulary/agent-id.ts";
import type { Store, StoredRun } from "../../runtime/ports/store.ts";
import { compareWhole, LineComparison, OpenComparisons } from "./compare-lines.ts";
import { LedgerPlace } from "./ledger-place.ts";
import { readLines } from "./line-reader.ts";
import { auditLines, folderFiles } from "./run-projection.ts";

export class RunRecordsComparison {
  readonly #home: string;
  readonly #place: LedgerPlace;
  readonly #audits = new Map<string, LineComparison>();
  readonly #open = new OpenComparisons();
  readonly #folders = new Set<string>();
  readonly #findings: FileFinding[] = [];
  #writtenTo = 0;
  /** Ended runs whose records need not be there yet. */
  pending = 0;

  constructor(homeDirectory: string, store: Pick<Store, "readLedgerLines">) {
    this.#home = homeDirectory;
    this.#place = new LedgerPlace(join(homeDirectory, "agents", ".run-records"), store);
  }

  /** Before the ledger is read: a gateway may write meanwhile. */
  async begin(): Promise<void> {
    this.#writtenTo = await this.#place.read();
  }

  /** In the order of the ledger. */
  ended(run: StoredRun, ledgerSeq: number, entries: readonly Entry[], lookup: Lookup): void {
    if (!isAgentId(run.agentId)) return;
    // Retention also removes the records of what it forgets.
    const isRequired = ledgerSeq <= this.#writtenTo && run.erasedAt === undefined;
    if (ledgerSeq > this.#writtenTo) this.pending += 1;
    this.#compareFolder(run, entries, isRequired);
    for (const { file, line } of auditLines(run, entries, lookup)) {
      const audit = this.#audits.get(file) ?? new LineComparison(this.#home, [file], eventIdOf);
      this.#audits.set(file, audit);
      this.#open.use(audit);
      audit.expect(line, isRequired);
    }
  }

  /** `isNewer`: the run ended after the ledger was read, and accounts for its records. */
  async finish(isNewer: (runId: string) => Promise<boolean>): Promise<readonly FileFinding[]> {
    for (const audit of this.#audits.values()) {
      for (let line = audit.reader.peek(); line !== null; line = audit.reader.peek()) {
        const runId = /"run_id":"([\w-]+)"/.exec(line.text)?.[1];
        if (runId !== undefined && (await isNewer(runId))) audit.reader.take();
        else audit.unexpected();
      }
      this.#findings.push(...audit.findings);
      audit.reader.park();
    }
    for (const agent of namesIn(join(this.#home, "agents"))) {
      for (const name of namesIn(join(this.#home, "agents", agent, "audit"))) {
        const file = `agents/${agent}/audit/${name}`;
        if (!IGNORED.test(name) && !this.#audits.has(file)) this.#unexpected(file);
      }
      for (const runId of namesIn(join(this.#home, "agents", agent, "runs"))) {
        if (this.#folders.has(`${agent}/${runId}`)) continue;
        if (!(await isNewer(runId))) this.#unexpected(`agents/${agent}/runs/${runId}`);
      }
    }
    return this.#findings;
  }

  #compareFolder(run: StoredRun, entries: readonly Entry[], isRequired: boolean): void {
    const { agentId, runId } = run;
    const folder = `agents/${agentId}/runs/${runId}`;
    this.#folders.add(`${agentId}/${runId}`);
    const names = namesIn(join(this.#home, folder));
    if (names.length === 0) {
      if (isRequired) this.#findings.push({ code: "file.missing", file: folder, line: null, ledgerSeq: null });
      return;
    }
    const files = folderFiles(run, entries);
    for (const name of names) if (!Object.hasOwn(files, name)) this.#unexpected(`${folder}/${name}`);
    for (const [name, text] of Object.entries(files)) {
      const file = `${folder}/${name}`;
      if (!names.includes(name)) this.#findings.push({ code: "file.missing", file, line: null, ledgerSeq: null });
      else this.#findings.push(...compareWhole(file, text.trimEnd().split("\n"), readLines(join(this.#home, file))));
    }
  }

  #unexpected(file: string): void {
    this.#findings.push({ code: "file.unexpected", file, line: null, ledgerSeq: null });
  }
}

/** What a crash left of a line, and what erasure was writing. */
export const IGNORED = /\.(?:torn|erasing)$/;

function eventIdOf(line: string): string | null {
  return /^\{"event_id":"([\w-]+)"/.exec(line)?.[1] ?? null;
}

/** Without hidden ones: what is being written has such a name. */
export function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory).filter((name) => !name.startsWith("."));
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return [];
    throw error;
  }
}
