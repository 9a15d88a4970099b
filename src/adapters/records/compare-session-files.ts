/**
 * Compares session files with the turns that the database holds, in the order of the ledger, one turn in memory at a time.
 *
 * N1. A turn is in its file once, line by line as it is projected. Of two turns of one session that ended in another order than
 *     they began, either may come first: a file that is written late has them in the other order.
 * N2. Pieces of answers (`partial`) are in no database: they are passed over.
 */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { DEFAULT_LIMITS } from "../../assistant/context/context-limits.ts";
import { importedTurn } from "../../assistant/context/imported-turn.ts";
import { type SessionTurn, turnOf } from "../../assistant/context/session-turn.ts";
import { channelClassOf } from "../../assistant/sessions/channel-class.ts";
import { sessionFileName, turnLines } from "../../assistant/sessions/session-file.ts";
import type { FileFinding } from "../../assistant/verification/verify-home.ts";
import type { Entry } from "../../kernel/journal/entry.ts";
import type { Lookup } from "../../kernel/journal/views/body-content.ts";
import { asRunId, type SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { PlacedRun, Store } from "../../runtime/ports/store.ts";
import type { StoredSession } from "../../runtime/ports/stored-session.ts";
import type { Toolbox } from "../../runtime/ports/toolbox.ts";
import { contractOf } from "../../runtime/run/read-run.ts";
import { COMPACTION_SOURCE } from "../../runtime/run/run-rules.ts";
import { compareWhole, LineComparison, OpenComparisons } from "./compare-lines.ts";
import { IGNORED, namesIn } from "./compare-run-records.ts";
import { LedgerPlace } from "./ledger-place.ts";
import { type FileLine, LineReader } from "./line-reader.ts";

interface Turn {
  readonly id: string;
  readonly position: number;
  readonly sessionId: SessionId;
  readonly lines: readonly string[];
  readonly isRequired: boolean;
}

interface SessionFile {
  readonly name: string;
  readonly comparison: LineComparison;
  /** Turns that came before their place in the ledger. */
  readonly ahead: Map<string, readonly FileLine[]>;
}

const PAGE = 500;

export class SessionFilesComparison {
  readonly #home: string;
  readonly #store: Store;
  readonly #summarize: Toolbox["summarize"];
  readonly #place: LedgerPlace;
  readonly #files = new Map<string, SessionFile>();
  readonly #open = new OpenComparisons();
  /** The first turns of sessions that get a file with their second. */
  readonly #first = new Map<SessionId, Turn>();
  readonly #foldsCase: boolean;
  #writtenTo = 0;

  constructor(homeDirectory: string, store: Store, summarize: Toolbox["summarize"]) {
    this.#home = homeDirectory;
    this.#store = store;
    this.#summarize = summarize;
    this.#place = new LedgerPlace(join(homeDirectory, "agents", ".session-files"), store);
    const inodeOf = (name: string) => statSync(join(homeDirectory, name), { throwIfNoEntry: false })?.ino;
    this.#foldsCase = inodeOf("AGENTS") !== undefined && inodeOf("AGENTS") === inodeOf("agents");
  }

  async begin(): Promise<void> {
    this.#writtenTo = await this.#place.read();
  }

  async ended(run: PlacedRun, ledgerSeq: number, entries: readonly Entry[], lookup: Lookup): Promise<void> {
    if (run.source === COMPACTION_SOURCE) return;
    const session = await this.#store.findSession(run.sessionId);
    if (session === null || isRunAlone(session)) return;
    const turn = turnOf(run, entries, lookup, this.#summarize, DEFAULT_LIMITS);
    if (turn === null) return;
    const isLocal = contractOf(run).channelClass === "cli_local";
    const expected = this.#turn(session, turn, isLocal, ledgerSeq <= this.#writtenTo);
    const { sessionId } = session;
    if (session.key.split(":")[4] !== "run" || session.importedMessages > 0) return this.#compare(session, expected);
    const first = this.#first.get(sessionId);
    if (first === undefined) {
      this.#first.set(sessionId, expected);
      return;
    }
    if (first.lines.length > 0) {
      this.#first.set(sessionId, { ...first, lines: [] });
      await this.#compare(session, { ...first, isRequired: expected.isRequired });
    }
    await this.#compare(session, expected);
  }

  async imported(sessionId: SessionId, ledgerSeq: number): Promise<void> {
    const session = await this.#store.findSession(sessionId);
    if (session === null) return;
    const isLocal = channelClassOf(session.channel) === "cli_local";
    const all: SessionTurn[] = [];
    for (let before = 0; ; before = all[0]?.position ?? 0) {
      const page = await this.#store.importedTurns(sessionId, { after: 0, before }, PAGE);
      all.unshift(...page.map((stored) => importedTurn(sessionId, stored)));
      if (page.length < PAGE) break;
    }
    const isRequired = ledgerSeq <= this.#writtenTo;
    for (const turn of all) await this.#compare(session, this.#turn(session, turn, isLocal, isRequired));
  }

  async finish(isNewer: (runId: string) => Promise<boolean>): Promise<readonly FileFinding[]> {
    for (const [sessionId, turn] of this.#first) {
      const session = turn.lines.length === 0 ? null : await this.#store.findSession(sessionId);
      if (session !== null) await this.#compare(session, { ...turn, isRequired: false });
    }
    const findings: FileFinding[] = [];
    for (const file of this.#files.values()) {
      const { comparison, ahead } = file;
      for (let line = nextOf(comparison); line !== null; line = nextOf(comparison)) {
        const id = turnIn(line.text);
        if (id !== null && (await isNewer(id))) comparison.reader.take();
        else comparison.unexpected();
      }
      for (const lines of ahead.values()) for (const line of lines) comparison.find("file.line-unexpected", line);
      findings.push(...comparison.findings);
      comparison.reader.park();
    }
    for (const agent of namesIn(join(this.#home, "agents"))) {
      for (const name of namesIn(join(this.#home, "agents", agent, "sessions"))) {
        const file = `agents/${agent}/sessions/${name}`;
        const isKnown = this.#files.has(file.replace(/(?<=\.jsonl)\.\d+$/, ""));
        if (IGNORED.test(name) || isKnown || holdsPiecesOnly(join(this.#home, file))) continue;
        findings.push({ code: "file.unexpected", file, line: null, ledgerSeq: null });
      }
    }
    return findings;
  }

  #turn({ sessionId, channel }: StoredSession, turn: SessionTurn, isLocal: boolean, isRequired: boolean): Turn {
    const { id, position } = turn;
    return { id, position, sessionId, lines: turnLines(turn, { sessionId, channel, isLocal }), isRequired };
  }

  async #compare(session: StoredSession, turn: Turn): Promise<void> {
    const file = this.#fileOf(session);
    const { comparison, ahead } = file;
    const early = ahead.get(turn.id);
    if (early !== undefined) {
      ahead.delete(turn.id);
      comparison.findings.push(...compareWhole(file.name, turn.lines, early));
      return;
    }
    for (let line = nextOf(comparison); line !== null; line = nextOf(comparison)) {
      const id = turnIn(line.text);
      if (id === null || id === turn.id || ahead.has(id) || !(await this.#mayBeEarlier(id, turn))) break;
      ahead.set(id, takeTurn(comparison, id));
    }
    for (const line of turn.lines) {
      nextOf(comparison);
      comparison.expect(line, turn.isRequired);
    }
    for (const line of takeTurn(comparison, turn.id)) comparison.find("file.line-unexpected", line);
  }

  /** Of two turns of a session that ended in another order than they began, either may come first. */
  async #mayBeEarlier(id: string, { sessionId, position }: Turn): Promise<boolean> {
    const run = await this.#store.findRun(asRunId(id));
    return run !== null && run.sessionId === sessionId && run.outcome !== null && run.position < position;
  }

  #fileOf({ agentId, key }: StoredSession): SessionFile {
    const name = `agents/${agentId}/sessions/${sessionFileName(key, this.#foldsCase)}`;
    const known = this.#files.get(name);
    const file = known ?? {
      name,
      comparison: new LineComparison(this.#home, [...this.#segmentsOf(name), name], messageIdOf),
      ahead: new Map(),
    };
    this.#files.set(name, file);
    this.#open.use(file.comparison);
    return file;
  }

  #segmentsOf(name: string): readonly string[] {
    const segments: string[] = [];
    while (existsSync(join(this.#home, `${name}.${segments.length + 1}`))) {
      segments.push(`${name}.${segments.length + 1}`);
    }
    return segments;
  }
}

/** It was never continued: its session is the run. */
function isRunAlone({ key, runs, importedMessages }: StoredSession): boolean {
  return key.split(":")[4] === "run" && runs < 2 && importedMessages === 0;
}

/** The next line that is no piece of an answer. */
function nextOf({ reader }: LineComparison): FileLine | null {
  for (let line = reader.peek(); line !== null; line = reader.peek()) {
    if (!PARTIAL.test(line.text)) return line;
    reader.take();
  }
  return null;
}

function takeTurn(comparison: LineComparison, id: string): readonly FileLine[] {
  const lines: FileLine[] = [];
  for (let line = nextOf(comparison); line !== null && turnIn(line.text) === id; line = nextOf(comparison)) {
    lines.push(line);
    comparison.reader.take();
  }
  return lines;
}

/** Of a run that was never continued, while pieces of answers are kept. */
function holdsPiecesOnly(path: string): boolean {
  const reader = new LineReader([path]);
  let line = reader.take();
  let isSo = line !== null;
  for (; line !== null && isSo; line = reader.take()) isSo = line.isWhole && PARTIAL.test(line.text);
  reader.park();
  return isSo;
}

const PARTIAL = /^\{"session_id":"[\w-]+","run_id":"[\w-]+","role":"assistant","partial":true,"attempt":\d+,/;

function turnIn(line: string): string | null {
  return /"(?:run_id|imported_turn)":"([\w-]+)"/.exec(line)?.[1] ?? null;
}

function messageIdOf(line: string): string | null {
  return /^\{"id":"([\w-]+)"/.exec(line)?.[1] ?? null;
}
