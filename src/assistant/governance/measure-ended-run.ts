/** Reads an ended run from the store and measures it (M-P4b). */
import { anomaliesIn, type CallResult, countIgnored } from "../../kernel/governance/anomalies.ts";
import { type Measured, measureRun } from "../../kernel/governance/perf-vector.ts";
import type { PolicyState } from "../../kernel/governance/policy-state.ts";
import type { Entry } from "../../kernel/journal/entry.ts";
import { runSummary } from "../../kernel/journal/views/run-summary.ts";
import { runTimeline } from "../../kernel/journal/views/run-timeline.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Store, StoredRun } from "../../runtime/ports/store.ts";
import { findContract, readBodies, readWholeJournal } from "../../runtime/run/read-run.ts";

export interface MeasuredEnding {
  readonly run: StoredRun;
  readonly measured: Measured;
  /** As the contract records it. */
  readonly state: PolicyState;
}

/**
 * Null for a run that says nothing about the policy: it was drafted without one, is a part of another run, or did not end by
 * its own doing.
 */
export async function measureEndedRun(
  store: Pick<Store, "findRun" | "readEntries" | "readBodies">,
  runId: RunId,
): Promise<MeasuredEnding | null> {
  const run = await store.findRun(runId);
  const contract = run === null ? null : findContract(run);
  const state = contract?.policyState ?? null;
  if (run === null || contract === null || state === null || contract.depth > 0) return null;
  const journal = await readWholeJournal(store, runId);
  const summary = journal.ok ? runSummary(journal.entries) : null;
  if (summary === null) return null;
  const anomalies = anomaliesIn(performedCalls(journal.entries));
  const answer = anomalies.length === 0 ? null : await answerOf(store, run);
  const limits = { ...contract, stepLimitMultiplier: state.stepLimitMultiplier };
  const measured = measureRun(summary, limits, countIgnored(anomalies, answer));
  return measured === null ? null : { run, measured, state };
}

function performedCalls(entries: readonly Entry[]): readonly CallResult[] {
  return runTimeline(entries).flatMap((item): readonly CallResult[] => {
    if (item.kind !== "call-ended" || !item.outcome.performed) return [];
    const { ok, truncated, error } = item.outcome;
    return [{ tool: item.call.tool, ok, truncated, code: error?.code ?? null }];
  });
}

async function answerOf(
  store: Pick<Store, "readBodies">,
  { runId, sessionId, answerRef }: StoredRun,
): Promise<string | null> {
  if (answerRef === null) return null;
  const bodies = await readBodies(store, sessionId, [answerRef], runId);
  return bodies.get(answerRef)?.text ?? null;
}
