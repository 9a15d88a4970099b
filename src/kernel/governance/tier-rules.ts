/** How fast governance moves in each tier, and how much worse it lets things get: the higher, the faster and the stricter. */
import type { ModelTier } from "../vocabulary/model-tier.ts";

export interface TierRules {
  /** Runs that must be measured before anything is moved. */
  readonly warmupRuns: number;
  /** Runs that are looked at together: what asks for a mutation, and how long one is on trial. */
  readonly windowRuns: number;
  /** Runs for which nothing is moved after a rollback. */
  readonly freezeRuns: number;
  /** How much worse a dimension may get, as a cost from 0 to 1. */
  readonly tolerance: number;
  /** Standard errors that a worsening must exceed to count. */
  readonly errors: number;
}

export const TIER_RULES: Readonly<Record<ModelTier, TierRules>> = {
  cheap: { warmupRuns: 48, windowRuns: 24, freezeRuns: 72, tolerance: 0.12, errors: 2 },
  mid: { warmupRuns: 32, windowRuns: 16, freezeRuns: 48, tolerance: 0.08, errors: 1.5 },
  premium: { warmupRuns: 20, windowRuns: 10, freezeRuns: 30, tolerance: 0.05, errors: 1 },
};
