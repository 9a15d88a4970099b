/**
 * Can anybody tell from the journal that this crash happened?
 *
 * `hidden`: no. What was under way is asked for again from where the last entry stands, and answered alike, so the run
 *   goes on as if nothing had been: its journal ends with the same hash as one without the crash.
 * `shifted`: the same things happen, but not at the same moment of the run's own time: a deadline or something from
 *   outside may now come first.
 * `in-doubt`: an opaque effect may or may not have happened; a person decides.
 */
import { effectsInDoubt } from "../../src/kernel/machine/outstanding.ts";
import type { RunState } from "../../src/kernel/machine/state.ts";
import type { CrashTrace } from "./simulated-run.ts";
import type { World } from "./world.ts";

export interface CrashCircumstances {
  readonly world: World;
  /** The state that was lost, and the one that was folded from the journal. */
  readonly lost: RunState;
  readonly resumed: RunState;
  /** Something from outside was on its way. */
  readonly isTriggerArmed: boolean;
}

export function crashTrace({ world, lost, resumed, isTriggerArmed }: CrashCircumstances): CrashTrace {
  if (effectsInDoubt(resumed).length > 0) return "in-doubt";
  const wasStopping = lost.phase.at === "OBSERVE" && lost.phase.stopping !== null;
  const heardOutside = lost.heard.some((event) => event.type === "policy.narrowed");
  const isShifted = wasStopping || heardOutside || isTriggerArmed || isGroupHalfDone(resumed);
  return isShifted || world.plansChange ? "shifted" : "hidden";
}

/** Readers that were dispatched together start anew together, but the first ones have answered already. */
function isGroupHalfDone({ phase, elapsedMs }: RunState): boolean {
  return phase.at === "OBSERVE" && phase.inFlight[0]?.child === null && phase.dispatchedMs < elapsedMs;
}
