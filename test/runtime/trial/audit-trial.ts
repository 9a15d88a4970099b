/** What must hold of a home however its runs went: every chain verifies, every journal folds, the ledger agrees. */
import { expect } from "vitest";
import { auditHome, type JournalFacts } from "../../../src/kernel/journal/audit-home.ts";
import { genesisHash } from "../../../src/kernel/journal/chain.ts";
import type { Entry } from "../../../src/kernel/journal/entry.ts";
import { toLedgerLine, verifyLedger } from "../../../src/kernel/journal/ledger.ts";
import { verifyJournal } from "../../../src/kernel/journal/verify-journal.ts";
import { lifecycleEvents } from "../../../src/kernel/journal/views/lifecycle-events.ts";
import { runSummary } from "../../../src/kernel/journal/views/run-summary.ts";
import type { RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { terminalStatus } from "../../../src/kernel/vocabulary/outcome.ts";
import type { StoredRun } from "../../../src/runtime/ports/store.ts";
import { contractOf } from "../../../src/runtime/run/read-run.ts";
import { replayRun } from "../../../src/runtime/run/replay-run.ts";
import { TRUSTED } from "../../kernel/journal/toy-key.ts";
import type { Trial } from "./open-trial.ts";

const PAGE = 500;

/** Every run of the home is expected to have ended. */
export async function auditTrial(trial: Trial): Promise<readonly StoredRun[]> {
  const { store } = trial;
  expect(await store.openRuns(0, 1)).toEqual([]);
  const runs = await allRuns(trial);
  const journals = new Map<RunId, JournalFacts>();
  for (const run of runs) journals.set(run.runId, await auditRun(trial, run));
  const ledger = await store.readLedger(0, 20 * PAGE);
  const verified = verifyLedger(ledger.map((entry) => `${toLedgerLine(entry)}\n`).join(""), { homeId: store.homeId });
  expect(verified.ok).toBe(true);
  expect(auditHome({ homeId: store.homeId, ledger, journals, checkpoints: [], trusted: TRUSTED })).toEqual([]);
  const sealed = ledger.flatMap((entry) => (entry.kind === "run.sealed" ? [entry.data.runId] : []));
  expect(sealed.toSorted()).toEqual(runs.map(({ runId }) => runId).toSorted());
  return runs;
}

async function allRuns({ store }: Trial): Promise<readonly StoredRun[]> {
  const runs: StoredRun[] = [];
  for (;;) {
    const page = await store.listRuns({ limit: PAGE, offset: runs.length });
    runs.push(...page.runs);
    if (runs.length >= page.total) return runs;
  }
}

async function auditRun({ store, assistant }: Trial, run: StoredRun): Promise<JournalFacts> {
  const { runId, contractHash, outcome, reason } = run;
  const lines = await store.readEntries(runId, 0, PAGE);
  const verified = verifyJournal(lines.map((line) => `${line}\n`).join(""), { contractHash });
  if (!verified.ok) throw new Error(`${runId} entry ${verified.entry}: ${verified.problem}`);
  const { entries, head } = verified;
  expect(replayRun(runId, contractOf(run), entries)).toEqual({
    isReproduced: true,
    outcome,
    headHash: head,
    divergedAt: null,
  });
  expect(endingsOf(entries)).toEqual([outcome]);
  const record = await assistant.run(runId);
  const status = outcome === null ? null : terminalStatus(outcome);
  expect(record).toMatchObject({ id: runId, outcome, reason, status, head_hash: head, contract_hash: contractHash });
  expect(run.status).toBe(status);
  expect(runSummary(entries)).toMatchObject({ outcome });
  const terminal = lifecycleEvents(entries).at(-1);
  expect(terminal?.event_type).toBe(`run.${status}`);
  return {
    seq: entries.length,
    outcome,
    hashAt: (seq) => (seq === 0 ? genesisHash(contractHash) : (entries[seq - 1]?.hash ?? null)),
  };
}

function endingsOf(entries: readonly Entry[]): readonly (string | null)[] {
  return entries.flatMap((entry) => (entry.kind === "TERMINATE" ? [entry.decided.outcome] : []));
}
