/**
 * Session files (P-5.2): a projection of the store, off the runs' way.
 *
 * F1. The ledger says in which order runs ended. Each is written once, whatever was interrupted: the place in the ledger is
 *     kept after the files are synced, and a run that a file already names is not written again.
 *     Imported turns are written when the ledger says that they were taken over.
 * F2. A run that was never continued has no file: its session is the run.
 * F3. A file that is missing is begun with everything its session holds. To make all files again, delete them together with
 *     `agents/.session-files`.
 * F4. A failure concerns files only: it is reported, and tried again when the next run has ended. A store that is lost or
 *     closed is reported where that happened.
 */
import { mkdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DEFAULT_LIMITS } from "../../assistant/context/context-limits.ts";
import type { SessionContext } from "../../assistant/context/session-context.ts";
import type { SessionTurn } from "../../assistant/context/session-turn.ts";
import { channelClassOf } from "../../assistant/sessions/channel-class.ts";
import { erasedLine, partialLine, sessionFileName, turnLines } from "../../assistant/sessions/session-file.ts";
import type { LedgerHead } from "../../kernel/journal/ledger.ts";
import { asRunId, type RunId, type SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { type Clock, timestampOf } from "../../runtime/ports/clock.ts";
import { type PlacedRun, type Store, StoreError } from "../../runtime/ports/store.ts";
import type { PendingErasure } from "../../runtime/ports/stored-erasure.ts";
import type { RunRange, StoredSession } from "../../runtime/ports/stored-session.ts";
import { contractOf } from "../../runtime/run/read-run.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { AppendOnlyFile } from "./append-only-file.ts";
import { LedgerPlace } from "./ledger-place.ts";
import { rewriteLines } from "./rewrite-lines.ts";

export interface SessionFilesParts {
  readonly store: Store;
  readonly context: Pick<SessionContext, "turns">;
  readonly clock: Pick<Clock, "nowMs" | "wake">;
  readonly agentsDirectory: string;
  readonly maxBytes: number;
  readonly storePartials: boolean;
  readonly onError: (error: unknown) => void;
}

/** Gathers what ends meanwhile, and lets runs go first. */
const DELAY_MS = 200;
const PAGE = 500;
const MAX_OPEN = 200;

interface OpenFile {
  readonly file: AppendOnlyFile;
  /** Ids of the turns it holds. */
  readonly turns: Set<string>;
  /** Ids of the messages that it holds of a torn turn. */
  readonly held: ReadonlySet<string>;
  isDirty: boolean;
}

export class SessionFiles {
  readonly #parts: SessionFilesParts;
  readonly #place: LedgerPlace;
  readonly #files = new Map<string, OpenFile>();
  #written: number | null = null;
  #foldsCase = false;
  #cancelWake: (() => void) | null = null;
  #wasWoken = false;
  #working: Promise<void> = Promise.resolve();

  constructor(parts: SessionFilesParts) {
    this.#parts = parts;
    this.#place = new LedgerPlace(join(parts.agentsDirectory, ".session-files"), parts.store);
  }

  /** A run has ended, or the home was opened. */
  wake(): void {
    this.#wasWoken = true;
    this.#cancelWake ??= this.#parts.clock.wake(DELAY_MS, () => {
      this.#cancelWake = null;
      this.settle().catch(this.#report);
    });
  }

  /** Resolves when every run that has ended is in its file. */
  settle(): Promise<void> {
    const working = this.#working.then(() => this.#project());
    this.#working = working.catch(() => {});
    return working;
  }

  /** A line says that a turn was forgotten, where its lines were. */
  erase(erased: readonly PendingErasure[]): Promise<void> {
    const working = this.#working.then(async () => {
      this.#written ??= await this.#begin();
      for (const { sessionId, runId } of erased) await this.#erase(sessionId, runId);
    });
    this.#working = working.catch(() => {});
    return working;
  }

  async close(): Promise<void> {
    this.#cancelWake?.();
    this.#cancelWake = null;
    // A command that ends no run leaves the files to the gateway.
    if (this.#wasWoken) await this.settle().catch(this.#report);
  }

  /** Writes the text of a run while it is produced, if the home keeps partial answers and the run is local (P-5.5). */
  follow(runtime: Pick<Runtime, "watch">, runId: RunId): void {
    if (!this.#parts.storePartials) return;
    const stop = runtime.watch(runId, {
      entries: (entries) => {
        if (entries.some(({ kind }) => kind === "TERMINATE")) stop();
      },
      delta: (delta) => {
        this.#working = this.#working.then(() => this.#appendPartial(runId, delta)).catch(this.#report);
      },
      output: () => {},
      broken: () => {},
    });
  }

  readonly #report = (error: unknown): void => {
    const isAway = error instanceof StoreError && ["store.closed", "store.unavailable"].includes(error.code);
    if (!isAway) this.#parts.onError(error);
  };

  async #appendPartial(runId: RunId, delta: Parameters<typeof partialLine>[1]): Promise<void> {
    const found = await this.#find(runId);
    if (found === null || !isLocal(found.run)) return;
    const { session } = found;
    const line = partialLine(runId, delta, session.sessionId, timestampOf(this.#parts.clock.nowMs()));
    const { file } = await this.#open(session);
    await file.append([line]);
  }

  async #erase(sessionId: SessionId, runId: RunId | null): Promise<void> {
    const { store } = this.#parts;
    const session = await store.findSession(sessionId);
    const erasedAt = runId === null ? null : (await store.findRun(runId))?.erasedAt;
    if (session === null || erasedAt === undefined) return;
    const mark = runId === null ? `"session_id":"${sessionId}"` : `"run_id":"${runId}"`;
    let isTold = false;
    const rewrite = (line: string): string | null => {
      if (!line.includes(mark) || (runId === null && !line.includes('"imported_turn":'))) return line;
      if (isTold || runId === null || erasedAt === null) return null;
      isTold = true;
      return erasedLine(sessionId, runId, erasedAt);
    };
    const { file } = await this.#open(session);
    for (const path of await file.paths()) {
      // What a crash left of a line may have lost its end.
      const isOf = (line: string): boolean => line.includes(runId ?? sessionId);
      await rewriteLines(path, path.endsWith(".torn") ? (line) => (isOf(line) ? null : line) : rewrite);
    }
  }

  async #project(): Promise<void> {
    const { store } = this.#parts;
    this.#written ??= await this.#begin();
    for (;;) {
      const page = await store.readLedger(this.#written, PAGE);
      for (const entry of page) {
        if (entry.kind === "run.sealed") await this.#projectRun(asRunId(entry.data.runId));
        else if (entry.kind === "session.imported") await this.#projectImport(entry.data.sessionId);
      }
      const last = page.at(-1);
      if (last !== undefined) await this.#keepPlace(last);
      if (page.length < PAGE) return;
    }
  }

  async #projectRun(runId: RunId): Promise<void> {
    const found = await this.#find(runId);
    if (found === null) return;
    const { run, session } = found;
    if (session.key.split(":")[4] === "run" && session.runs < 2 && session.importedMessages === 0) return;
    const open = await this.#open(session);
    if (open.turns.has(runId)) return;
    const { sessionId } = session;
    // A file is begun with what was said before it.
    if (open.turns.size === 0) await this.#appendEarlier(open, session, run.position);
    const turns = await this.#turns(sessionId, { after: run.position - 1, before: run.position + 1 }, 1);
    await this.#append(open, turns, session, isLocal(run));
  }

  async #appendEarlier(open: OpenFile, session: StoredSession, position: number): Promise<void> {
    for (const turn of await this.#allTurns(session.sessionId, position)) {
      const run = turn.runId === null ? null : await this.#parts.store.findRun(turn.runId);
      const isOfLocal = run === null ? channelClassOf(session.channel) === "cli_local" : isLocal(run);
      await this.#append(open, [turn], session, isOfLocal);
    }
  }

  async #projectImport(sessionId: SessionId): Promise<void> {
    const session = await this.#parts.store.findSession(sessionId);
    if (session === null) return;
    const open = await this.#open(session);
    const imported = await this.#allTurns(sessionId, 0);
    const missing = imported.filter(({ id }) => !open.turns.has(id));
    await this.#append(open, missing, session, channelClassOf(session.channel) === "cli_local");
  }

  async #append(
    open: OpenFile,
    turns: readonly SessionTurn[],
    { sessionId, channel }: StoredSession,
    isLocal: boolean,
  ): Promise<void> {
    const lines = turns.flatMap((turn) => turnLines(turn, { sessionId, channel, isLocal }));
    await open.file.append(lines.filter((line) => !open.held.has(messageIdIn(line) ?? "")));
    for (const { id } of turns) open.turns.add(id);
    open.isDirty = true;
  }

  /** Whatever the limits of prompts are: what is written must not depend on when. */
  #turns(...wanted: [SessionId, RunRange, number]): Promise<readonly SessionTurn[]> {
    return this.#parts.context.turns(...wanted, () => DEFAULT_LIMITS);
  }

  async #allTurns(sessionId: SessionId, end: number): Promise<readonly SessionTurn[]> {
    const all: SessionTurn[] = [];
    for (let before = end; ; ) {
      const page = await this.#turns(sessionId, { after: 0, before }, PAGE);
      const [first] = page;
      if (first === undefined) return all;
      all.unshift(...page);
      before = first.position;
    }
  }

  async #find(runId: RunId): Promise<{ readonly run: PlacedRun; readonly session: StoredSession } | null> {
    const { store } = this.#parts;
    const run = await store.findRun(runId);
    if (run === null || run.source === "compaction") return null;
    const session = await store.findSession(run.sessionId);
    return session === null ? null : { run, session };
  }

  async #open({ agentId, key }: StoredSession): Promise<OpenFile> {
    const { agentsDirectory, maxBytes } = this.#parts;
    const path = join(agentsDirectory, agentId, "sessions", sessionFileName(key, this.#foldsCase));
    const known = this.#files.get(path);
    if (known !== undefined) return known;
    const file = new AppendOnlyFile(path, maxBytes);
    const text = (await file.read()) ?? "";
    const lines = text.split("\n").filter((line) => line !== "" && !line.includes('"partial":true'));
    const turns = new Set(lines.flatMap((line) => turnIn(line) ?? []));
    // A power cut may have torn the last turn: it is completed when its place in the ledger comes again.
    const last = lines.at(-1) ?? "";
    const torn = ENDS_TURN.test(last) ? null : turnIn(last);
    if (torn !== null) turns.delete(torn);
    const held = new Set(lines.filter((line) => turnIn(line) === torn).flatMap((line) => messageIdIn(line) ?? []));
    if (this.#files.size >= MAX_OPEN) {
      await this.#sync();
      this.#files.clear();
    }
    const opened: OpenFile = { file, turns, held, isDirty: false };
    this.#files.set(path, opened);
    return opened;
  }

  async #begin(): Promise<number> {
    const { agentsDirectory } = this.#parts;
    await mkdir(agentsDirectory, { recursive: true, mode: 0o700 });
    this.#foldsCase = await foldsCase(agentsDirectory);
    return await this.#place.read();
  }

  async #keepPlace(entry: LedgerHead): Promise<void> {
    await this.#sync();
    await this.#place.keep(entry);
    this.#written = entry.seq;
  }

  async #sync(): Promise<void> {
    for (const open of this.#files.values()) {
      if (!open.isDirty) continue;
      await open.file.sync();
      open.isDirty = false;
    }
  }
}

/** The answer is the last line of a turn, and all that is left of one that was forgotten says so. */
const ENDS_TURN = /^\{"id":"[\w-]+_answer"|^\{"session_id":"[\w-]+","run_id":"[\w-]+","erased":true,/;

function turnIn(line: string): string | null {
  return /"(?:run_id|imported_turn)":"([\w-]+)"/.exec(line)?.[1] ?? null;
}

function messageIdIn(line: string): string | null {
  return /^\{"id":"([\w-]+)"/.exec(line)?.[1] ?? null;
}

function isLocal(run: PlacedRun): boolean {
  return contractOf(run).channelClass === "cli_local";
}

async function foldsCase(directory: string): Promise<boolean> {
  const probe = join(directory, ".case-probe");
  await writeFile(probe, "", { mode: 0o600 });
  try {
    await stat(join(directory, ".CASE-PROBE"));
    return true;
  } catch {
    return false;
  } finally {
    await rm(probe, { force: true });
  }
}
