/**
 * Folding: rebuild a run from its journal by the same `step()` that made it. Derived entries must equal the recorded
 * ones byte for byte, which their hashes show; after a difference the run ends INTERRUPTED `machine.diverged`.
 */
import type { ExecutionContract } from "../contract/contract.ts";
import { type Entry, eventsOf } from "../journal/entry.ts";
import type { RunId } from "../vocabulary/identifiers.ts";
import { type RunState, startRun } from "./state.ts";
import { step } from "./step.ts";

export type Folded =
  | { readonly ok: true; readonly state: RunState }
  | { readonly ok: false; readonly divergedAt: number; readonly state: RunState };

export function foldRun(runId: RunId, contract: ExecutionContract, entries: readonly Entry[]): Folded {
  let state = startRun(runId, contract);
  let derived = 0;
  for (const event of entries.flatMap(eventsOf)) {
    const result = step(state, event);
    for (const entry of result.entries) {
      derived += 1;
      if (entries[derived - 1]?.hash !== entry.hash) return { ok: false, divergedAt: derived, state };
    }
    state = result.state;
  }
  return derived === entries.length ? { ok: true, state } : { ok: false, divergedAt: derived + 1, state };
}
