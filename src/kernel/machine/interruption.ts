/** What can end any wait from outside: a cancellation, or the step's or the run's deadline. */
import type { RunEvent } from "../journal/event.ts";
import type { FailureReason } from "../vocabulary/failures.ts";
import { isDue } from "./deadline.ts";
import type { RunState } from "./state.ts";

export function interruptionOf(state: RunState, event: RunEvent): FailureReason | null {
  if (event.type === "cancel.requested") return "run.cancelled";
  if (event.type !== "timer.fired" || !isDue(state, event.timer)) return null;
  if (event.timer === "run") return "run.timeout";
  return event.timer === "step" ? "step.timeout" : null;
}
