/**
 * Talon's LoopState (T-3.1), as a projection (design §4). The phase says what is being done now: after an EXECUTE entry
 * the tool runs, after INFER the calls are validated.
 */
import type { Entry, MachineState } from "../entry.ts";
import { budgetAfter, stateAfter, turnsBegun } from "./run-snapshot.ts";

export type LoopPhase = "planning" | "deciding" | "executing" | "evaluating" | "compressing" | "done";

export interface LoopState {
  readonly phase: LoopPhase;
  readonly iteration: number;
  readonly maxIterations: number;
  readonly goal: string;
  readonly pending: readonly string[];
  readonly completed: readonly string[];
  readonly totalTokensUsed: number;
  /** US dollars. */
  readonly totalCost: number;
}

/** Facts beyond the entries: the session's checkpoint, the contract's limit, and the work in flight. */
export interface LoopSurroundings {
  readonly goals: readonly string[];
  readonly openLoops: readonly string[];
  readonly closedLoops: readonly string[];
  readonly maxInferences: number;
  readonly isCompacting: boolean;
}

export function loopState(entries: readonly Entry[], around: LoopSurroundings): LoopState {
  const last = entries.at(-1);
  const { tokens, spendMicrousd } = budgetAfter(entries);
  return {
    phase: around.isCompacting ? "compressing" : PHASES[last?.kind === "EXECUTE" ? "EXECUTE" : stateAfter(last)],
    iteration: turnsBegun(last),
    maxIterations: around.maxInferences,
    goal: around.goals.join("; "),
    pending: around.openLoops,
    completed: around.closedLoops,
    totalTokensUsed: tokens,
    totalCost: spendMicrousd / 1_000_000,
  };
}

const PHASES: Readonly<Record<MachineState, LoopPhase>> = {
  PRECHECK: "planning",
  INFER: "planning",
  VALIDATE_CALLS: "deciding",
  EXECUTE: "executing",
  OBSERVE: "evaluating",
  COMMIT: "evaluating",
  TERMINATE: "done",
};
