/**
 * Rolling averages of PerfVectors, and how two of them compare.
 *
 * Every dimension is turned into a cost from 0 (best) to 1, so that one tolerance holds for all of them. What differs by
 * less than chance would explain is no difference.
 */
import type { PerfVector } from "./perf-vector.ts";

/** Hard failures first: they decide before all others. */
export const DIMENSIONS = [
  "hardFailures",
  "protocolCompliance",
  "retryCount",
  "anomalyIgnoredCount",
  "duplicateCallRatio",
  "budgetEfficiency",
] as const satisfies readonly (keyof PerfVector)[];
export type Dimension = (typeof DIMENSIONS)[number];

interface Moments {
  readonly mean: number;
  readonly variance: number;
}

export interface Averages {
  readonly runs: number;
  readonly costs: Readonly<Record<Dimension, Moments>>;
}

/** Two retries, or two ignored anomalies, are as bad as it gets. */
const WORST_COUNT = 2;

function costs(vector: PerfVector): Readonly<Record<Dimension, number>> {
  const ofCount = (count: number): number => Math.min(1, count / WORST_COUNT);
  return {
    hardFailures: Math.min(1, vector.hardFailures),
    protocolCompliance: 1 - vector.protocolCompliance,
    retryCount: ofCount(vector.retryCount),
    anomalyIgnoredCount: ofCount(vector.anomalyIgnoredCount),
    duplicateCallRatio: vector.duplicateCallRatio,
    budgetEfficiency: 1 - vector.budgetEfficiency,
  };
}

export const NO_AVERAGES: Averages = {
  runs: 0,
  costs: mapDimensions(() => ({ mean: 0, variance: 0 })),
};

/** After `memory` runs older ones count for less and less. */
export function averagedWith(averages: Averages, vector: PerfVector, memory: number): Averages {
  const runs = averages.runs + 1;
  const weight = 1 / Math.min(runs, memory);
  const of = costs(vector);
  return {
    runs: Math.min(runs, memory),
    costs: mapDimensions((dimension) => {
      const { mean, variance } = averages.costs[dimension];
      const difference = of[dimension] - mean;
      return {
        mean: mean + weight * difference,
        variance: (1 - weight) * (variance + weight * difference * difference),
      };
    }),
  };
}

export function averagesOf(vectors: readonly PerfVector[]): Averages {
  return vectors.reduce((averages, vector) => averagedWith(averages, vector, vectors.length), NO_AVERAGES);
}

const WEIGHTS = {
  protocolCompliance: 0.3,
  retryCount: 0.2,
  anomalyIgnoredCount: 0.2,
  duplicateCallRatio: 0.15,
  budgetEfficiency: 0.15,
} as const satisfies Partial<Record<Dimension, number>>;

/** One number for plots and for the order of checkpoints: 1 is best, and a hard failure counts as 0. */
export function scoreOf({ costs: of }: Pick<Averages, "costs">): number {
  const soft = Object.entries(WEIGHTS).reduce((sum, [dimension, weight]) => {
    return sum + weight * of[dimension as Dimension].mean;
  }, 0);
  return Math.max(0, (1 - of.hardFailures.mean) * (1 - soft));
}

/**
 * By how much `after` is worse than `before` in a dimension; negative: it is better. Zero where the difference is within
 * `errors` standard errors.
 */
export function worsening(before: Averages, after: Averages, dimension: Dimension, errors: number): number {
  const a = before.costs[dimension];
  const b = after.costs[dimension];
  const difference = b.mean - a.mean;
  return Math.abs(difference) <= errors * standardError(before, after, dimension) ? 0 : difference;
}

/** With the larger variance of the two: a few runs that were all alike say little about how much runs differ. */
function standardError(before: Averages, after: Averages, dimension: Dimension): number {
  if (before.runs === 0 || after.runs === 0) return 1;
  const variance = Math.max(before.costs[dimension].variance, after.costs[dimension].variance);
  return Math.sqrt(variance * (1 / before.runs + 1 / after.runs));
}

function mapDimensions<Value>(value: (dimension: Dimension) => Value): Record<Dimension, Value> {
  return Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, value(dimension)])) as Record<Dimension, Value>;
}
