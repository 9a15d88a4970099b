/** The runtime's side of M-D: the same snapshot that a view derives from entries, here from the machine's own state. */
import type { RunSnapshot } from "../journal/views/run-snapshot.ts";
import { CLEAN_LABELS } from "../vocabulary/labels.ts";
import { type RunState, stepId } from "./state.ts";

export function snapshotOf(state: RunState): RunSnapshot {
  const { chain, phase, committedBudget } = state;
  const { seq, hash: head } = chain;
  const { runId, contractHash } = chain.frame;
  const { outcome, reason } = phase.at === "TERMINATE" ? phase : { outcome: null, reason: null };
  return {
    runId,
    contractHash,
    seq,
    head,
    state: phase.at,
    stepId: stepId(state),
    outcome,
    reason,
    budget: committedBudget,
    // Before its first entry a run has shown nobody anything.
    labels: seq === 0 ? CLEAN_LABELS : state.labels,
  };
}
