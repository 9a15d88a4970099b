/**
 * Simulated populations of runs: what a run does depends on the PolicyState it was drafted under and on chance, drawn from
 * a seed. `govern` lets the governor see them one after the other.
 */
import {
  type Advanced,
  advance,
  newTier,
  type PolicyChange,
  type TierRecord,
} from "../../../src/kernel/governance/governor.ts";
import { type MeasuredRun, measureRun } from "../../../src/kernel/governance/perf-vector.ts";
import { NEUTRAL_STATE, type PolicyState } from "../../../src/kernel/governance/policy-state.ts";
import { TIER_RULES, type TierRules } from "../../../src/kernel/governance/tier-rules.ts";
import type { ModelTier } from "../../../src/kernel/vocabulary/model-tier.ts";
import { derive, type Random } from "../../simulate/random.ts";

export const LIMITS = { maxInferences: 10, maxTokensConsumed: 200_000, totalTimeoutMs: 600_000, maxFormatRetries: 1 };

export const CALM: MeasuredRun = {
  outcome: "COMPLETED_WITH_TOOLS",
  reason: null,
  steps: 3,
  inferences: 3,
  format_retries: 0,
  tokens: 9_000,
  elapsed_ms: 30_000,
  calls: { proposed: 3, skipped: 0, duplicate: 0 },
  error_log: [],
};

/** One answer was malformed and asked for again. */
export function retried(code: string): MeasuredRun {
  return { ...CALM, steps: 4, inferences: 4, format_retries: 1, error_log: [{ code }] };
}

export function failed(outcome: string, reason: string): MeasuredRun {
  return { ...CALM, outcome, reason, error_log: [{ code: reason }] };
}

export interface Behaviour {
  readonly run: MeasuredRun;
  readonly anomaliesIgnored?: number;
}
export type Population = (state: PolicyState, random: Random, index: number) => Behaviour;

export interface Governed {
  readonly record: TierRecord;
  readonly changes: readonly (PolicyChange & { readonly run: number })[];
  /** The state that each run was drafted under. */
  readonly states: readonly PolicyState[];
}

export function govern(
  population: Population,
  {
    runs,
    seed,
    tier = "mid",
    rules = TIER_RULES[tier],
  }: { runs: number; seed: number; tier?: ModelTier; rules?: TierRules },
): Governed {
  const random = derive(seed, "population");
  let record = newTier(tier);
  const changes: (PolicyChange & { run: number })[] = [];
  const states: PolicyState[] = [];
  for (let index = 0; index < runs; index += 1) {
    const { state } = record;
    states.push(state);
    const { run, anomaliesIgnored = 0 } = population(state, random, index);
    const { stepLimitMultiplier, retryTolerance } = state;
    const limits = {
      ...{ ...LIMITS, stepLimitMultiplier, maxFormatRetries: retryTolerance },
      maxInferences: LIMITS.maxInferences * stepLimitMultiplier,
      totalTimeoutMs: LIMITS.totalTimeoutMs * stepLimitMultiplier,
    };
    const measured = measureRun(run, limits, anomaliesIgnored);
    if (measured === null) continue;
    const advanced: Advanced = advance(record, { runId: `run_${index}`, state, measured }, rules);
    if (advanced.change !== null) changes.push({ ...advanced.change, run: index });
    record = advanced.record;
  }
  return { record, changes, states };
}

export function isNeutral(state: PolicyState): boolean {
  return Object.entries(NEUTRAL_STATE).every(([parameter, value]) => state[parameter as keyof PolicyState] === value);
}
