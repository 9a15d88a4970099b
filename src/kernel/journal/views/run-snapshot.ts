/**
 * The state of a run (M-D): the only source a user interface derives its state from. Built from entries here and from
 * the machine's own state in `machine/snapshot.ts`; both give the same snapshot after every step.
 */
import { hashWire } from "../../vocabulary/hash.ts";
import type { Hash, RunId } from "../../vocabulary/identifiers.ts";
import { CLEAN_LABELS, type Labels } from "../../vocabulary/labels.ts";
import { genesisHash } from "../chain.ts";
import { type Budget, type Entry, type MachineState, NOTHING_SPENT } from "../entry.ts";

export interface RunSnapshot {
  readonly runId: RunId;
  readonly contractHash: Hash;
  readonly seq: number;
  readonly head: Hash;
  readonly state: MachineState;
  /** The turn the run is in, as its next entry will name it. */
  readonly stepId: string;
  readonly outcome: string | null;
  readonly reason: string | null;
  /** As of the last COMMIT. */
  readonly budget: Budget;
  readonly labels: Labels;
}

export function snapshotOfEntries(runId: RunId, contractHash: Hash, entries: readonly Entry[]): RunSnapshot {
  const last = entries.at(-1);
  const ending = last?.kind === "TERMINATE" ? last.decided : null;
  return {
    runId,
    contractHash,
    seq: last?.seq ?? 0,
    head: last?.hash ?? genesisHash(contractHash),
    state: stateAfter(last),
    stepId: `step-${turnsBegun(last)}`,
    outcome: ending?.outcome ?? null,
    reason: ending?.reason ?? null,
    budget: budgetAfter(entries),
    labels: last?.labels ?? CLEAN_LABELS,
  };
}

/** Turns of the loop, the one that is being inferred included: the last entry names its own. */
export function turnsBegun(last: Entry | undefined): number {
  const turn = last === undefined ? 0 : Number(last.stepId.slice("step-".length));
  return stateAfter(last) === "INFER" ? turn + 1 : turn;
}

export function budgetAfter(entries: readonly Entry[]): Budget {
  return entries.findLast((entry) => entry.kind === "COMMIT")?.decided.budget ?? NOTHING_SPENT;
}

export function stateAfter(last: Entry | undefined): MachineState {
  switch (last?.kind) {
    case undefined:
      return "PRECHECK";
    case "run.created":
      return last.decided.verdicts.every(({ failure }) => failure === null) ? "INFER" : "COMMIT";
    case "INFER":
      return "VALIDATE_CALLS";
    case "VALIDATE_CALLS":
      return last.decided.calls.some(({ decision }) => decision === "allow") ? "EXECUTE" : "COMMIT";
    case "EXECUTE":
    case "OBSERVE":
      return "OBSERVE";
    case "COMMIT":
      return last.decided.next;
    case "TERMINATE":
      return "TERMINATE";
  }
}

/** The state digest (M-D, M-P3): equal digests mean that interface and runtime see the same state of the same run. */
export function digestOf(snapshot: RunSnapshot): Hash {
  return hashWire(snapshot);
}
