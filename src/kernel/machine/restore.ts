/**
 * A home restored from a backup: what its open runs did after the backup was taken is unknown.
 *
 * 1. A run that may have acted since parks, whatever it was doing, until a person says whether it may go on. Until
 *    then nothing is asked of a model and nothing is performed.
 * 2. `retry` continues it from the backup; an effect that was in flight then is asked about by itself. Any other answer
 *    ends it.
 * 3. Each restore asks once. A run that may not call tools has no effects and simply goes on.
 */
import type { EventOf } from "../journal/event.ts";
import { effectsInDoubt, outstandingCommands, resolutionQuestion, restoreQuestion } from "./outstanding.ts";
import { type RunState, toolsOf } from "./state.ts";
import { emit, type Moved, type Turn, update, wait } from "./turn.ts";

export function askAfterRestore(turn: Turn, { restoreId }: EventOf<"run.restored">): Moved | null {
  const { state } = turn;
  if (state.restored?.id === restoreId || !mayHaveActed(state)) return null;
  const parked = update(turn, { restored: { id: restoreId, isOpen: true } });
  return wait(emit(parked, restoreQuestion(state, restoreId)));
}

export function settleRestore(turn: Turn): Turn {
  const { restored } = turn.state;
  return update(turn, { restored: restored && { ...restored, isOpen: false } });
}

export function continueAfterRestore(turn: Turn): Moved {
  const { state } = turn;
  const { phase } = state;
  const [doubtful] = effectsInDoubt(state);
  if (phase.at === "OBSERVE" && phase.stopping === null && doubtful !== undefined) {
    return wait(emit(update(turn, { phase: { ...phase, resolving: true } }), resolutionQuestion(state, doubtful)));
  }
  return wait(emit(turn, ...outstandingCommands(state)));
}

/** Before a run is accepted its tools may not be known yet. */
function mayHaveActed(state: RunState): boolean {
  if (state.contract.toolPolicy === "forbidden") return false;
  return state.contract.allowedTools === null || toolsOf(state).length > 0;
}
