/**
 * The audit of a home: do ledger, journals and checkpoints agree? A run that vanished whole, and everything that a
 * checkpoint covers and that is gone or changed, is found; so a roll-back of the whole home shows against a checkpoint
 * kept elsewhere. No findings means no contradictions.
 */
import type { Hash, RunId } from "../vocabulary/identifiers.ts";
import type { Outcome } from "../vocabulary/outcome.ts";
import { genesisHash } from "./chain.ts";
import { coversItsRuns, isSigned, type OpenRun, type SignedCheckpoint, type TrustedKey } from "./checkpoint.ts";
import { type LedgerEntry, startLedger } from "./ledger.ts";

/** The facts of a journal that the audit needs; `verifyJournal` verifies the journal itself. */
export interface JournalFacts {
  readonly seq: number;
  readonly outcome: Outcome | null;
  /** Over what the run was accepted with beside its contract; absent where only the journal is known. */
  readonly rowHash?: Hash;
  /** The hash of the entry with this seq; of 0, the chain's beginning; null beyond its end. */
  readonly hashAt: (seq: number) => Hash | null;
}

export interface Home {
  readonly homeId: string;
  readonly ledger: readonly LedgerEntry[];
  readonly journals: ReadonlyMap<RunId, JournalFacts>;
  /** Those kept elsewhere; the ledger's own are looked at too. */
  readonly checkpoints: readonly SignedCheckpoint[];
  readonly trusted: TrustedKey;
}

export type FindingCode =
  | "ledger.rolled-back"
  | "ledger.rewritten"
  | "checkpoint.forged"
  | "checkpoint.run-unlisted"
  | "run.created-twice"
  | "run.sealed-unopened"
  | "run.missing"
  | "run.unannounced"
  | "run.contract-swapped"
  | "run.row-rewritten"
  | "run.truncated"
  | "run.rewritten"
  | "run.seal-missing"
  | "run.outcome-differs";

export interface Finding {
  readonly code: FindingCode;
  readonly runId: RunId | null;
  /** The ledger entry that is bad, missing, or contradicted. */
  readonly ledgerSeq: number | null;
}

export function auditHome(home: Home): readonly Finding[] {
  const { runs, findings } = readRuns(home.ledger);
  const checkpoints = [...home.ledger.flatMap(checkpointsIn), ...home.checkpoints];
  const openAt = readOpenRuns(home.ledger, new Set(checkpoints.map(({ ledgerSeq }) => ledgerSeq)));
  return distinct([
    ...findings,
    ...[...runs].flatMap(([runId, run]) => auditRun(runId, run, home.journals.get(runId))),
    ...[...home.journals.keys()].flatMap((runId) => (runs.has(runId) ? [] : [found("run.unannounced", runId, null)])),
    ...checkpoints.flatMap((checkpoint) => auditCheckpoint(checkpoint, home, openAt.get(checkpoint.ledgerSeq))),
  ]);
}

interface LedgerRun {
  readonly created: Extract<LedgerEntry, { kind: "run.created" }>;
  readonly seal: Extract<LedgerEntry, { kind: "run.sealed" }> | null;
}

function readRuns(ledger: readonly LedgerEntry[]) {
  const runs = new Map<RunId, LedgerRun>();
  const findings: Finding[] = [];
  for (const entry of ledger) {
    if (entry.kind === "run.created") {
      const { runId } = entry.data;
      if (runs.has(runId)) findings.push(found("run.created-twice", runId, entry.seq));
      else runs.set(runId, { created: entry, seal: null });
    } else if (entry.kind === "run.sealed") {
      const { runId } = entry.data;
      const run = runs.get(runId);
      if (run?.seal !== null) findings.push(found("run.sealed-unopened", runId, entry.seq));
      else runs.set(runId, { ...run, seal: entry });
    }
  }
  return { runs, findings };
}

function auditRun(runId: RunId, run: LedgerRun, journal: JournalFacts | undefined): readonly Finding[] {
  const { seq, data } = run.created;
  if (journal === undefined) return [found("run.missing", runId, seq)];
  const isUnderItsContract = journal.hashAt(0) === genesisHash(data.contractHash);
  const swapped = isUnderItsContract ? [] : [found("run.contract-swapped", runId, seq)];
  const isRowSame = [data.rowHash, undefined].includes(journal.rowHash) || data.rowHash === undefined;
  const rewritten = isRowSame ? [] : [found("run.row-rewritten", runId, seq)];
  return [...swapped, ...rewritten, ...auditSeal(runId, run, journal)];
}

function auditSeal(runId: RunId, { created, seal }: LedgerRun, journal: JournalFacts): readonly Finding[] {
  if (seal === null) return journal.outcome === null ? [] : [found("run.seal-missing", runId, created.seq)];
  const { seq, head, outcome } = seal.data;
  if (journal.seq < seq) return [found("run.truncated", runId, seal.seq)];
  const isAsSealed = journal.outcome !== null && journal.seq === seq && journal.hashAt(seq) === head;
  if (!isAsSealed) return [found("run.rewritten", runId, seal.seq)];
  return journal.outcome === outcome ? [] : [found("run.outcome-differs", runId, seal.seq)];
}

function auditCheckpoint(
  checkpoint: SignedCheckpoint,
  { homeId, ledger, journals, trusted }: Home,
  openRuns: ReadonlySet<RunId> | undefined,
): readonly Finding[] {
  const { ledgerSeq, head } = checkpoint;
  // An unsigned claim proves nothing, for or against the home.
  if (!isSigned(checkpoint, trusted) || !coversItsRuns(checkpoint))
    return [found("checkpoint.forged", null, ledgerSeq)];
  const covered = checkpoint.openRuns.flatMap((run) => auditOpenRun(run, ledgerSeq, journals.get(run.runId)));
  if (openRuns === undefined) return [found("ledger.rolled-back", null, ledger.length + 1), ...covered];
  const hash = ledgerSeq === 0 ? startLedger(homeId).hash : ledger[ledgerSeq - 1]?.hash;
  if (hash !== head) return [found("ledger.rewritten", null, ledgerSeq), ...covered];
  const unlisted = isFirstPage(checkpoint, openRuns) ? [] : unlistedIn(checkpoint, openRuns);
  return [...covered, ...unlisted.map((runId) => found("checkpoint.run-unlisted", runId, ledgerSeq))];
}

function unlistedIn({ openRuns }: SignedCheckpoint, open: ReadonlySet<RunId>): readonly RunId[] {
  const listed = new Set(openRuns.map(({ runId }) => runId));
  return [...open].filter((runId) => !listed.has(runId));
}

/** What earlier versions signed of the open runs: the oldest, up to one page. */
const FIRST_PAGE = 1000;

/** Such a checkpoint says nothing about the runs after its page. Which runs were the oldest, the chain before it says. */
function isFirstPage(checkpoint: SignedCheckpoint, open: ReadonlySet<RunId>): boolean {
  if (checkpoint.openRuns.length !== FIRST_PAGE || open.size <= FIRST_PAGE) return false;
  return unlistedIn(checkpoint, new Set([...open].slice(0, FIRST_PAGE))).length === 0;
}

function auditOpenRun(
  { runId, seq, head }: OpenRun,
  ledgerSeq: number,
  journal: JournalFacts | undefined,
): readonly Finding[] {
  if (journal === undefined) return [found("run.missing", runId, ledgerSeq)];
  if (journal.seq < seq) return [found("run.truncated", runId, ledgerSeq)];
  return journal.hashAt(seq) === head ? [] : [found("run.rewritten", runId, ledgerSeq)];
}

/** The runs that were open after each of these entries; nothing for what lies beyond the end. */
function readOpenRuns(
  ledger: readonly LedgerEntry[],
  wanted: ReadonlySet<number>,
): ReadonlyMap<number, ReadonlySet<RunId>> {
  const open = new Set<RunId>();
  const openAt = new Map<number, ReadonlySet<RunId>>([[0, new Set()]]);
  for (const entry of ledger) {
    if (entry.kind === "run.created") open.add(entry.data.runId);
    if (entry.kind === "run.sealed") open.delete(entry.data.runId);
    if (wanted.has(entry.seq)) openAt.set(entry.seq, new Set(open));
  }
  return openAt;
}

function checkpointsIn(entry: LedgerEntry): readonly SignedCheckpoint[] {
  return entry.kind === "checkpoint.signed" ? [entry.data] : [];
}

function found(code: FindingCode, runId: RunId | null, ledgerSeq: number | null): Finding {
  return { code, runId, ledgerSeq };
}

/** Several checkpoints may miss the same thing: report it once. */
function distinct(findings: readonly Finding[]): readonly Finding[] {
  const byMatter = new Map<string, Finding>();
  for (const finding of findings) {
    const matter = `${finding.code} ${finding.runId ?? finding.ledgerSeq}`;
    if (!byMatter.has(matter)) byMatter.set(matter, finding);
  }
  return [...byMatter.values()];
}
