/**
 * Which parameter the last runs ask to have moved.
 *
 * M1. Hard failures override: while one of their rules applies, no other rule is looked at.
 * M2. A rule applies when enough of the last runs showed its signal: one strange run moves nothing.
 * M3. Rules that want a parameter moved both ways cancel each other, so a delta never contradicts what asked for it.
 */
import type { Dimension } from "./averages.ts";
import type { Measured, Signal } from "./perf-vector.ts";
import type { Direction, MovedParameter, PolicyState } from "./policy-state.ts";

export interface Proposal {
  readonly parameter: MovedParameter;
  readonly direction: Direction;
  /** What must get better for the mutation to stay. */
  readonly aim: Dimension;
  readonly signal: Signal;
}

interface Rule extends Proposal {
  /** Only runs that failed count. */
  readonly isHard: boolean;
}

/** In the order in which they are tried. */
const RULES: readonly Rule[] = [
  hard("malformed-without-retry", "retryTolerance", 1),
  hard("answer-cut-off", "verbosityBias", 1),
  hard("ran-out-of-tokens", "verbosityBias", -1),
  hard("ran-out-of-inferences", "stepLimitMultiplier", 1),
  hard("ran-out-of-time", "stepLimitMultiplier", 1),
  hard("ran-out-of-time", "autonomyBias", 1),
  hard("repeated-itself", "autonomyBias", -1),
  hard("malformed", "autonomyBias", -1),
  { ...hard("retried-in-vain", "retryTolerance", -1), aim: "retryCount" },
  { ...hard("repeated-itself", "stepLimitMultiplier", -1), aim: "budgetEfficiency" },
  soft("answer-cut-off", "verbosityBias", 1, "retryCount"),
  soft("malformed", "autonomyBias", -1, "retryCount"),
  soft("duplicate-calls", "autonomyBias", -1, "duplicateCallRatio"),
  soft("wasteful", "autonomyBias", 1, "budgetEfficiency"),
];

/** A smaller number of runs may be chance. */
const LEAST_RUNS = 3;
const LEAST_SHARE = 0.2;

/** In the order in which they should be tried; empty: nothing asks for a change. */
export function proposeMutations(runs: readonly Measured[]): readonly Proposal[] {
  const enough = Math.max(LEAST_RUNS, Math.ceil(runs.length * LEAST_SHARE));
  const applying = RULES.filter(({ signal, isHard }) => {
    const showing = runs.filter(({ signals, vector }) => {
      return signals.includes(signal) && (!isHard || vector.hardFailures > 0);
    });
    return showing.length >= enough;
  });
  const hardOnes = applying.filter(({ isHard }) => isHard);
  const decisive = hardOnes.length > 0 ? hardOnes : applying;
  return decisive
    .filter(({ parameter, direction }) => {
      return !decisive.some((other) => other.parameter === parameter && other.direction !== direction);
    })
    .map(({ parameter, direction, aim, signal }) => ({ parameter, direction, aim, signal }));
}

/** Of the last window so many answers must have ignored an anomaly for a critic to be asked. */
const CRITIQUE_AFTER = 3;

/** The predicate that alone switches `critiqueEnabled`: off again when no answer of two windows ignored one. */
export function wantsCritique(
  { critiqueEnabled }: Pick<PolicyState, "critiqueEnabled">,
  runs: readonly Pick<Measured, "vector">[],
  window: number,
): boolean {
  const ignoring = (last: number): number =>
    runs.slice(-last).filter(({ vector }) => vector.anomalyIgnoredCount > 0).length;
  if (!critiqueEnabled) return ignoring(window) >= CRITIQUE_AFTER;
  return runs.length < 2 * window || ignoring(2 * window) > 0;
}

function hard(signal: Signal, parameter: MovedParameter, direction: Direction): Rule {
  return { signal, parameter, direction, aim: "hardFailures", isHard: true };
}

function soft(signal: Signal, parameter: MovedParameter, direction: Direction, aim: Dimension): Rule {
  return { signal, parameter, direction, aim, isHard: false };
}
