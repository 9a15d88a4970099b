/**
 * Deadlines, all on the `elapsedMs` of events, never on a clock: replaying yesterday's journal must time out at the
 * step where it did yesterday. A timer that fires early is ignored; of a result and a timeout the first to arrive wins.
 * A parked run has no deadline: approvals and resolutions carry their own, outside the machine.
 */
import type { EventOf, RunEvent } from "../journal/event.ts";
import type { FailureReason } from "../vocabulary/failures.ts";
import type { RunState } from "./state.ts";
import { isParked } from "./waiting.ts";

/** How long a stopped effect may still report its result. */
export const GRACE_MS = 2_000;

export type Timer = EventOf<"timer.fired">["timer"];
export interface Deadline {
  readonly timer: Timer;
  readonly atMs: number;
}

const TIMERS: readonly Timer[] = ["tool", "step", "run", "grace"];

export function nextDeadline(state: RunState): Deadline | null {
  let next: Deadline | null = null;
  for (const timer of TIMERS) {
    const atMs = deadlineOf(state, timer);
    if (atMs !== null && (next === null || atMs < next.atMs)) next = { timer, atMs };
  }
  return next;
}

export function isDue(state: RunState, timer: Timer): boolean {
  const atMs = deadlineOf(state, timer);
  return atMs !== null && state.elapsedMs >= atMs;
}

/** The ways any wait can end from outside: a cancellation, or the deadline of the step or the run. */
export function interruptionOf(state: RunState, event: RunEvent): FailureReason | null {
  if (event.type === "cancel.requested") return "run.cancelled";
  if (event.type === "restore.resolved") return "run.restored";
  if (event.type !== "timer.fired" || !isDue(state, event.timer)) return null;
  if (event.timer === "run") return "run.timeout";
  return event.timer === "step" ? "step.timeout" : null;
}

export function stepDeadline(state: RunState): number {
  return state.stepStartedMs + state.contract.stepTimeoutMs;
}

function deadlineOf(state: RunState, timer: Timer): number | null {
  const { phase, contract } = state;
  if (phase.at === "TERMINATE" || isParked(state)) return null;
  const stopping = phase.at === "OBSERVE" ? phase.stopping : null;
  if (stopping !== null) return timer === "grace" ? stopping.sinceMs + GRACE_MS : null;
  switch (timer) {
    case "run":
      return contract.totalTimeoutMs;
    case "step":
      return stepDeadline(state);
    case "tool":
      return phase.at === "OBSERVE" && !phase.resolving
        ? phase.dispatchedMs + (phase.inFlight[0]?.timeoutMs ?? 0)
        : null;
    case "grace":
      return null;
  }
}
