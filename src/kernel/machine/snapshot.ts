/** The runtime's side of M-D: the snapshot that a view derives from entries, here from the machine's state. */
import type { RunSnapshot } from "../journal/views/run-snapshot.ts";
import type { Hash } from "../vocabulary/identifiers.ts";
import { CLEAN_LABELS } from "../vocabulary/labels.ts";
import { type RunState, stepId } from "./state.ts";

/** `head` is the hash of its last entry. */
export function snapshotOf(state: RunState, head: Hash = state.chain.linked.hash): RunSnapshot {
  const { chain, phase, committedBudget } = state;
  const { seq, frame } = chain;
  const { runId, contractHash } = frame;
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
    // Before its first entry a run has no labels.
    labels: seq === 0 ? CLEAN_LABELS : state.labels,
  };
}
