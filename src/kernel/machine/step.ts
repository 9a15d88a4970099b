/**
 * The machine: `decide(state, event) → { state, commands, transitions }`. Total, synchronous, deterministic. `step` links
 * the transitions at once; the driver decides first and links later.
 *
 *   PRECHECK → INFER → VALIDATE_CALLS → EXECUTE → OBSERVE → COMMIT → (INFER | TERMINATE)
 *
 * S1. An event the current state does not wait for changes nothing and is not recorded.
 * S2. Every move is an edge of `edges.ts`; TERMINATE is reached through COMMIT only.
 * S3. A defect in our own code ends the run FAILED_CONTRACT_VIOLATION, reason `defect`, with a sealed journal. It is
 *     recorded as the event `defect.found`, so that replay ends where the run did.
 */
import { linkEntries, type Transition } from "../journal/chain.ts";
import type { Entry, MachineState } from "../journal/entry.ts";
import { isRunEvent, type RunEvent } from "../journal/event.ts";
import { Defect, unreachable } from "../vocabulary/defect.ts";
import { hashBytes } from "../vocabulary/hash.ts";
import type { Command } from "./command.ts";
import { enterCommit } from "./commit.ts";
import { isEdge } from "./edges.ts";
import { enterExecute } from "./execute.ts";
import { enterInfer, handleInInfer } from "./infer.ts";
import { abandonCalls, enterObserve, handleInObserve } from "./observe.ts";
import { handleInPrecheck, recordCreated } from "./precheck.ts";
import { askAfterRestore, continueAfterRestore, settleRestore } from "./restore.ts";
import type { RunState } from "./state.ts";
import { enterTerminate } from "./terminate.ts";
import { beginTurn, emit, fail, type Move, type Moved, type Turn, update, wait } from "./turn.ts";
import { enterValidateCalls, handleInValidateCalls } from "./validate-calls.ts";

export interface Decision {
  readonly state: RunState;
  readonly commands: readonly Command[];
  readonly transitions: readonly Transition[];
  /** The error in our own code, for the log; the journal holds only its id. */
  readonly defect: { readonly errorId: string; readonly error: unknown } | null;
}

export interface StepResult extends Omit<Decision, "transitions"> {
  readonly entries: readonly Entry[];
}

export function decide(state: RunState, event: RunEvent): Decision {
  try {
    return { ...work(state, notBefore(state, event)), defect: null };
  } catch (error) {
    const errorId = errorIdAt(state, error);
    const { ts, elapsedMs } = state;
    return { ...work(state, { type: "defect.found", ts, elapsedMs, errorId }), defect: { errorId, error } };
  }
}

export function step(before: RunState, event: RunEvent): StepResult {
  const { state, commands, transitions, defect } = decide(before, event);
  if (transitions.length === 0) return { state, commands, entries: [], defect };
  const { entries, head } = linkEntries(before.chain.linked.hash, transitions);
  const linked = { seq: state.chain.seq, hash: head };
  return { state: { ...state, chain: { ...state.chain, linked } }, commands, entries, defect };
}

/** The same error at the same place of the same run has the same id. */
export function errorIdAt({ chain, elapsedMs }: RunState, error: unknown): string {
  return hashBytes(`${chain.frame.runId} ${chain.seq} ${elapsedMs} ${String(error)}`).slice(0, 16);
}

function work(state: RunState, event: RunEvent): Turn {
  if (!isRunEvent(event)) throw new Defect(`not an event: ${event.type}`);
  let moved = isForAnotherStep(state, event) ? null : hear(beginTurn(state, event), event);
  if (moved === null) return { state, commands: [], transitions: [] };
  let at: MachineState = state.phase.at;
  while (moved.move !== null) {
    if (!isEdge(at, moved.move.to)) throw new Defect(`no edge from ${at} to ${moved.move.to}`);
    at = moved.move.to;
    moved = enter(moved.turn, moved.move);
  }
  return moved.turn;
}

/** An answer to a command of an earlier step: late, or repeated. */
function isForAnotherStep(state: RunState, event: RunEvent): boolean {
  return "step" in event && event.step !== state.step;
}

function hear(turn: Turn, event: RunEvent): Moved | null {
  const { phase } = turn.state;
  if (phase.at === "TERMINATE") return null;
  if (event.type === "defect.found") return fail(abandon(turn, phase), "defect");
  if (event.type === "policy.narrowed") return wait(update(turn, { live: event.live }));
  if (event.type === "run.restored") return askAfterRestore(turn, event);
  if (turn.state.restored?.isOpen) return hearAfterRestore(turn, event);
  if (event.type === "restore.resolved") return null;
  return hearInPhase(turn, event);
}

function hearInPhase(turn: Turn, event: RunEvent): Moved | null {
  const { phase } = turn.state;
  switch (phase.at) {
    case "PRECHECK":
      return handleInPrecheck(turn, phase, event);
    case "INFER":
      return handleInInfer(turn, phase, event);
    case "VALIDATE_CALLS":
      return handleInValidateCalls(turn, phase, event);
    case "OBSERVE":
      return handleInObserve(turn, phase, event);
    case "TERMINATE":
      return null;
    default:
      return unreachable(phase, "phase");
  }
}

/** While it is open whether the run may go on, it hears only what ends it and what it was accepted with. */
function hearAfterRestore(turn: Turn, event: RunEvent): Moved | null {
  if (event.type === "run.accepted") {
    const accepted = hearInPhase(turn, event);
    return accepted?.move === null ? wait({ ...accepted.turn, commands: [] }) : accepted;
  }
  if (event.type !== "restore.resolved" && event.type !== "cancel.requested") return null;
  const settled = settleRestore(turn);
  const mayGoOn = event.type === "restore.resolved" && event.decision === "retry";
  return (mayGoOn ? null : hearInPhase(settled, event)) ?? continueAfterRestore(settled);
}

function enter(turn: Turn, move: Move): Moved {
  switch (move.to) {
    case "INFER":
      return enterInfer(turn, move);
    case "VALIDATE_CALLS":
      return enterValidateCalls(turn, move);
    case "EXECUTE":
      return enterExecute(turn, move);
    case "OBSERVE":
      return enterObserve(turn, move);
    case "COMMIT":
      return enterCommit(turn, move);
    case "TERMINATE":
      return enterTerminate(turn, move);
    default:
      return unreachable(move, "move");
  }
}

/** Even after a defect the journal begins with run.created and all work is stopped. */
function abandon(turn: Turn, phase: RunState["phase"]): Turn {
  const stopped = emit(turn, { type: "stop-work" });
  if (phase.at === "PRECHECK") return recordCreated(stopped, phase.verdicts);
  return phase.at === "OBSERVE" ? abandonCalls(stopped, phase.inFlight) : stopped;
}

/** Elapsed time never runs backwards, even after a restart of the driver. */
function notBefore(state: RunState, event: RunEvent): RunEvent {
  return event.elapsedMs >= state.elapsedMs ? event : { ...event, elapsedMs: state.elapsedMs };
}
