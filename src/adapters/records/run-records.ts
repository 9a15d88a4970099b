/**
 * Records of ended runs, written from the store: a folder for each run, and lines in the audit file of its agent and day.
 *
 * R1. The ledger says in which order runs ended, and the files follow it. The place in the ledger is kept once the files are
 *     synced; after a crash the rest is written, and nothing twice.
 * R2. A folder appears with all its files or not at all. Audit lines are only ever appended; those of a run keep its order,
 *     and each goes to the file of the UTC day that its `ts` names, whatever the clock did.
 * R3. A run that cannot be read is reported and passed over: it must not hold up those after it.
 */
import { mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { LedgerEntryOf, LedgerHead } from "../../kernel/journal/ledger.ts";
import type { Lookup } from "../../kernel/journal/views/body-content.ts";
import { isAgentId } from "../../kernel/vocabulary/agent-id.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import { type Store, type StoredRun, StoreError } from "../../runtime/ports/store.ts";
import { readBodies, readWholeJournal } from "../../runtime/run/read-run.ts";
import { AppendOnlyFile } from "./append-only-file.ts";
import { LedgerPlace } from "./ledger-place.ts";
import { type AuditLine, auditLines, folderFiles } from "./run-projection.ts";

export interface RunRecordsParts {
  readonly store: Store;
  readonly homeDirectory: string;
  /** A run was passed over. */
  readonly onUnreadable: (runId: string, error: unknown) => void;
}

const PAGE = 100;
const MAX_OPEN = 200;

interface AuditFile {
  readonly file: AppendOnlyFile;
  /** Of each run, the last event that the file held when it was opened. */
  readonly held: ReadonlyMap<string, number>;
  lines: string[];
}

export class RunRecords {
  readonly #parts: RunRecordsParts;
  readonly #place: LedgerPlace;
  readonly #files = new Map<string, AuditFile>();
  /** Everything before has been written, so a file holds nothing of what comes. */
  #isCaughtUp = false;

  constructor(parts: RunRecordsParts) {
    this.#parts = parts;
    this.#place = new LedgerPlace(join(parts.homeDirectory, "agents", ".run-records"), parts.store);
  }

  /** True if a run has ended whose records may be missing. */
  async hasWork(): Promise<boolean> {
    const page = await this.#parts.store.readLedger(await this.#place.read(), PAGE);
    return page.length === PAGE || page.some(({ kind }) => kind === "run.sealed");
  }

  /** Writes the records of some ended runs, in order; false when none is left. */
  async project(maxRuns: number): Promise<boolean> {
    const { store } = this.#parts;
    const page = await store.readLedger(await this.#place.read(), PAGE);
    const sealed = page.filter((entry) => entry.kind === "run.sealed");
    const wanted = sealed.slice(0, maxRuns);
    const last = sealed.length > maxRuns ? wanted.at(-1) : page.at(-1);
    const isLast = page.length < PAGE && wanted.length === sealed.length;
    if (last !== undefined) await this.#write(wanted, last);
    if (isLast) this.#isCaughtUp = true;
    if (isLast || this.#files.size > MAX_OPEN) this.#files.clear();
    return !isLast;
  }

  async #write(ended: readonly LedgerEntryOf<"run.sealed">[], last: LedgerHead): Promise<void> {
    try {
      for (const { data } of ended) await this.#readable(data.runId);
      for (const open of this.#files.values()) {
        if (open.lines.length === 0) continue;
        await open.file.append(open.lines);
        await open.file.sync();
        open.lines = [];
      }
      await this.#place.keep(last);
    } catch (error) {
      // Some of it may be written: look before the next try.
      this.#files.clear();
      this.#isCaughtUp = false;
      throw error;
    }
  }

  async #readable(runId: RunId): Promise<void> {
    try {
      await this.#projectRun(runId);
    } catch (error) {
      if (isOfTheMedium(error)) throw error;
      this.#parts.onUnreadable(runId, error);
    }
  }

  async #projectRun(runId: RunId): Promise<void> {
    const { store, homeDirectory } = this.#parts;
    const run = await store.findRun(runId);
    // The name becomes a path.
    if (run === null || !isAgentId(run.agentId)) return;
    const { entries } = await readWholeJournal(store, runId);
    const calls = entries.flatMap((entry) => (entry.kind === "VALIDATE_CALLS" ? entry.decided.calls : []));
    const bodies = await readBodies(store, run.sessionId, [...new Set(calls.map(({ argsRef }) => argsRef))], runId);
    const lookup: Lookup = (ref) => bodies.get(ref)?.text ?? null;
    const folder = join(homeDirectory, "agents", run.agentId, "runs", runId);
    if (!(await exists(folder))) await writeFolder(folder, run, entries);
    for (const line of auditLines(run, entries, lookup)) await this.#addLine(runId, line);
  }

  async #addLine(runId: RunId, { file, seq, line }: AuditLine): Promise<void> {
    const path = join(this.#parts.homeDirectory, file);
    const known = this.#files.get(path) ?? (await this.#open(path));
    this.#files.set(path, known);
    if (seq > (known.held.get(runId) ?? 0)) known.lines.push(line);
  }

  async #open(path: string): Promise<AuditFile> {
    const file = new AppendOnlyFile(path, Number.POSITIVE_INFINITY);
    const held = new Map<string, number>();
    if (!this.#isCaughtUp) {
      for await (const line of file.lines()) {
        const [, runId, seq] = /"run_id":"([\w-]+)".*?"seq":(\d+)/.exec(line) ?? [];
        if (runId !== undefined) held.set(runId, Number(seq));
      }
    }
    return { file, held, lines: [] };
  }
}

type Entries = Awaited<ReturnType<typeof readWholeJournal>>["entries"];

async function writeFolder(folder: string, run: StoredRun, entries: Entries): Promise<void> {
  const aside = join(dirname(folder), `.${run.runId}.new`);
  await rm(aside, { recursive: true, force: true });
  await mkdir(aside, { recursive: true, mode: 0o700 });
  for (const [name, text] of Object.entries(folderFiles(run, entries))) {
    await using file = await open(join(aside, name), "wx", 0o600);
    await file.writeFile(text);
    await file.datasync();
  }
  await rename(aside, folder);
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
}

/** Not about one run: nothing can be read or written at the moment. */
function isOfTheMedium(error: unknown): boolean {
  if (error instanceof StoreError) return error.code !== "store.corrupt";
  return error instanceof Error && "syscall" in error;
}
