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

/** How far a run has been folded: `ahead` are entries that the machine derived and that have not been compared yet. */
export interface Fold {
  readonly seq: number;
  readonly state: RunState;
  readonly ahead: readonly Entry[];
}

export function startFold(runId: RunId, contract: ExecutionContract): Fold {
  return { seq: 0, state: startRun(runId, contract), ahead: [] };
}

export type FoldedEntry =
  /** `derived`: what the machine made of the events, with the hash of the given entry. */
  | { readonly ok: true; readonly fold: Fold; readonly derived: Entry }
  /** The machine makes another entry of the same events. `state` is the one before the event that shows it. */
  | { readonly ok: false; readonly state: RunState };

export function foldEntry({ seq, state: before, ahead }: Fold, entry: Entry): FoldedEntry {
  const derived = [...ahead];
  let state = before;
  for (const event of eventsOf(entry)) {
    const { entries, state: after } = step(state, event);
    derived.push(...entries);
    if (entries.length > 0 && derived[0]?.hash !== entry.hash) return { ok: false, state };
    state = after;
  }
  const [first, ...rest] = derived;
  if (first?.hash !== entry.hash) return { ok: false, state };
  return { ok: true, fold: { seq: seq + 1, state, ahead: rest }, derived: first };
}

export function foldRun(runId: RunId, contract: ExecutionContract, entries: readonly Entry[]): Folded {
  let fold = startFold(runId, contract);
  let whole = fold.state;
  for (const entry of entries) {
    const next = foldEntry(fold, entry);
    if (!next.ok) return { ok: false, divergedAt: fold.seq + 1, state: next.state };
    fold = next.fold;
    if (fold.ahead.length === 0) whole = fold.state;
  }
  const { seq, state, ahead } = fold;
  // Entries are missing within a step: the run got as far as the step before it.
  return ahead.length === 0 ? { ok: true, state } : { ok: false, divergedAt: seq + 1, state: whole };
}
