import fc from "fast-check";
import { describe, expect } from "vitest";
import {
  advance,
  bestCheckpoint,
  frozen,
  newTier,
  RING_SIZE,
  rolledBack,
  type TierRecord,
} from "../../../src/kernel/governance/governor.ts";
import { measureRun } from "../../../src/kernel/governance/perf-vector.ts";
import {
  isSameState,
  NEUTRAL_STATE,
  type PolicyState,
  TIER_BOUNDS,
} from "../../../src/kernel/governance/policy-state.ts";
import { TIER_RULES } from "../../../src/kernel/governance/tier-rules.ts";
import { MODEL_TIERS, type ModelTier } from "../../../src/kernel/vocabulary/model-tier.ts";
import { verifies } from "../../requirements.ts";
import { CALM, failed, govern, isNeutral, LIMITS, type Population, retried } from "./population.ts";

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];
const TIER = fc.constantFrom(...MODEL_TIERS);

/** Answers are cut off unless the limit is raised: half as much again is enough. */
const needsLongerAnswers: Population = ({ verbosityBias }, random) => ({
  run: random.chance(verbosityBias >= 1 ? 3 : 60) ? retried("protocol.truncated") : CALM,
});
/** The same cut-off answers, but with a longer limit the model fails outright. */
const brokenByLongerAnswers: Population = ({ verbosityBias }, random) => {
  if (verbosityBias >= 1)
    return { run: random.chance(50) ? failed("FAILED_PROTOCOL_MALFORMED", "protocol.malformed") : CALM };
  return { run: random.chance(40) ? retried("protocol.truncated") : CALM };
};
/** Nothing that is moved changes anything. */
const noise: Population = (_, random) => {
  if (random.chance(8)) return { run: failed("FAILED_BUDGET_EXHAUSTED", "cycle") };
  return { run: random.chance(30) ? retried("protocol.truncated") : CALM };
};

describe("simulated populations", () => {
  verifies("M-P4g/regression", "a mutation that helps is kept, in every tier", () => {
    for (const tier of MODEL_TIERS) {
      for (const seed of SEEDS) {
        const { record, changes } = govern(needsLongerAnswers, { runs: 300, seed, tier });
        expect(record.state).toEqual({ ...NEUTRAL_STATE, verbosityBias: 1 });
        expect(changes.map(({ cause }) => cause)).toContain("kept");
      }
    }
  });

  verifies(
    ["M-P4g/rollback", "M-P4g/freeze"],
    "one that hurts is rolled back, and the tier is frozen for N runs",
    () => {
      for (const tier of MODEL_TIERS) {
        for (const seed of SEEDS) {
          const { record, changes } = govern(brokenByLongerAnswers, { runs: 250, seed, tier });
          const [first, second, third] = changes;
          expect([first?.cause, second?.cause]).toEqual(["mutation", "rollback"]);
          expect(second).toMatchObject({ worse: "hardFailures", frozenRuns: TIER_RULES[tier].freezeRuns });
          expect(second?.after).toEqual(first?.before);
          if (third !== undefined)
            expect(third.run - (second?.run ?? 0)).toBeGreaterThanOrEqual(TIER_RULES[tier].freezeRuns);
          expect(record.state.verbosityBias).toBeLessThan(1);
        }
      }
    },
  );

  verifies("M-P4g/regression", "noise is not chased: nothing stays, and trials become rare", () => {
    for (const tier of MODEL_TIERS) {
      let kept = 0;
      let away = 0;
      for (const seed of SEEDS) {
        const { changes, states } = govern(noise, { runs: 1_500, seed, tier });
        kept += changes.filter(({ cause }) => cause === "kept").length;
        away += states.slice(500).filter((state) => !isNeutral(state)).length / (states.length - 500);
      }
      expect([tier, kept]).toEqual([tier, 0]);
      expect(away / SEEDS.length).toBeLessThan(0.25);
    }
  });
});

/** Whatever runs do, also under a governor that was handed a strange record. */
const anyBehaviour = fc.record({
  kind: fc.constantFrom("calm", "retried", "malformed", "cycle", "inferences", "time", "tokens", "duplicates"),
  anomaliesIgnored: fc.integer({ min: 0, max: 3 }),
});
const RUNS: Readonly<Record<string, typeof CALM>> = {
  calm: CALM,
  retried: retried("protocol.truncated"),
  malformed: { ...failed("FAILED_PROTOCOL_MALFORMED", "protocol.malformed"), format_retries: 2 },
  cycle: failed("FAILED_BUDGET_EXHAUSTED", "cycle"),
  inferences: failed("FAILED_BUDGET_EXHAUSTED", "budget.inferences"),
  time: failed("FAILED_TIMEOUT", "run.timeout"),
  tokens: failed("FAILED_BUDGET_EXHAUSTED", "budget.tokens"),
  duplicates: { ...CALM, calls: { proposed: 4, skipped: 0, duplicate: 3 } },
};
const QUICK = { warmupRuns: 4, windowRuns: 4, freezeRuns: 5, tolerance: 0.05, errors: 0.5 };

/** The same behaviour a few times in a row, so that windows ask for something. */
const anyHistory = fc
  .array(fc.tuple(anyBehaviour, fc.integer({ min: 1, max: 12 })), { maxLength: 40 })
  .map((parts) => parts.flatMap(([behaviour, times]) => Array.from({ length: times }, () => behaviour)));

function behave(history: readonly { kind: string; anomaliesIgnored: number }[]): Population {
  return (_, __, index) => {
    const { kind = "calm", anomaliesIgnored = 0 } = history[index] ?? {};
    return { run: RUNS[kind] ?? CALM, anomaliesIgnored };
  };
}

function expectWithinBounds(state: PolicyState, tier: ModelTier): void {
  for (const [parameter, { least, most }] of Object.entries(TIER_BOUNDS[tier])) {
    expect(state[parameter as keyof PolicyState]).toBeGreaterThanOrEqual(least);
    expect(state[parameter as keyof PolicyState]).toBeLessThanOrEqual(most);
  }
}

verifies("M-P4c/ceilings", "no history takes a parameter out of its tier's bounds", () => {
  fc.assert(
    fc.property(anyHistory, TIER, (history, tier) => {
      const { states, record } = govern(behave(history), { runs: history.length, seed: 1, tier, rules: QUICK });
      for (const state of [...states, record.state]) expectWithinBounds(state, tier);
      expectWithinBounds(rolledBack(record, 3).record.state, tier);
    }),
  );
});

verifies(
  ["M-P4d/contradiction", "M-P4d/dominance"],
  "a mutation moves one parameter by one step, after a run that is not GREEN, and is never the reverse of the last",
  () => {
    let mutations = 0;
    fc.assert(
      fc.property(anyHistory, TIER, (history, tier) => {
        const { changes } = govern(behave(history), { runs: history.length, seed: 1, tier, rules: QUICK });
        for (const { cause, before, after, run, proposal } of changes.filter((each) => each.cause === "mutation")) {
          mutations += 1;
          const differing = Object.keys(before).filter((key) => {
            return before[key as keyof PolicyState] !== after[key as keyof PolicyState];
          });
          expect([cause, differing]).toEqual(["mutation", [proposal?.parameter]]);
          expect(["calm"]).not.toContain(history[run]?.anomaliesIgnored === 0 ? history[run]?.kind : "");
        }
        const trials = changes.filter(
          ({ cause }) => cause === "mutation" || cause === "withdrawn" || cause === "rollback",
        );
        for (const [index, { cause, proposal, run }] of trials.entries()) {
          const earlier = trials[index - 1];
          if (cause !== "mutation" || earlier === undefined || proposal === null || earlier.proposal === null) continue;
          // What was just taken back is not tried again before its pause is over.
          const isSame = JSON.stringify(proposal) === JSON.stringify(earlier.proposal);
          if (isSame) expect(run - earlier.run).toBeGreaterThanOrEqual(4 * QUICK.windowRuns);
        }
      }),
    );
    expect(mutations).toBeGreaterThan(50);
  },
);

verifies("M-P4e", "nothing is moved before the warm-up is over, however bad the runs are", () => {
  const bad: Population = () => ({ run: failed("FAILED_TIMEOUT", "run.timeout") });
  for (const tier of MODEL_TIERS) {
    const { warmupRuns } = TIER_RULES[tier];
    expect(govern(bad, { runs: warmupRuns - 1, seed: 1, tier }).changes).toEqual([]);
    expect(govern(bad, { runs: warmupRuns, seed: 1, tier }).changes).toHaveLength(1);
  }
  const longer = { ...TIER_RULES.mid, warmupRuns: 60, windowRuns: 3 };
  expect(govern(bad, { runs: 59, seed: 1, rules: longer }).changes).toEqual([]);
  expect(govern(bad, { runs: 60, seed: 1, rules: longer }).changes).toHaveLength(1);
});

verifies("M-P4g/freeze", "a frozen tier counts its runs down and moves nothing meanwhile", () => {
  const bad: Population = () => ({ run: failed("FAILED_TIMEOUT", "run.timeout") });
  const { record } = govern(bad, { runs: 30, seed: 1, tier: "mid" });
  let now = frozen(record, 7).record;
  for (let run = 1; run <= 6; run += 1) {
    now = next(now, "FAILED_TIMEOUT");
    expect([now.frozenRuns, isNeutral(now.state)]).toEqual([7 - run, true]);
  }
  expect(isNeutral(next(now, "FAILED_TIMEOUT").state)).toBe(false);
});

function next(record: TierRecord, outcome: string): TierRecord {
  const measured = measureRun({ ...CALM, outcome }, { ...LIMITS, stepLimitMultiplier: 1 }, 0);
  if (measured === null) throw new Error("was not measured");
  const run = { runId: "run_x", state: record.state, measured };
  return advance(record, run, TIER_RULES[record.tier]).record;
}

verifies("M-P4f/ring", "checkpoints hold a state and its rolling averages", () => {
  const { record } = govern(needsLongerAnswers, { runs: 1_000, seed: 3, tier: "premium" });
  const [neutral, longer] = record.checkpoints;
  expect(record.checkpoints).toHaveLength(2);
  expect([neutral?.state, longer?.state]).toEqual([NEUTRAL_STATE, record.state]);
  expect(neutral?.averages.costs.retryCount.mean).toBeGreaterThan(0.2);
  expect(longer?.averages.costs.retryCount.mean).toBeLessThan(0.05);
  expect(longer?.runId).toBe("run_999");
  expect(bestCheckpoint(record.checkpoints)).toEqual(longer);
});

verifies("M-P4f/ring", "the ring forgets the oldest checkpoint", () => {
  // What is on trial goes well and is kept, and then goes badly.
  let trials = 0;
  const climbing: Population = (state, _, index) => {
    trials = index;
    return { run: state.stepLimitMultiplier > 1 && index % 8 < 4 ? CALM : failed("FAILED_TIMEOUT", "run.timeout") };
  };
  const { record } = govern(climbing, { runs: 2_000, seed: 1, tier: "premium", rules: QUICK });
  expect(trials).toBe(1_999);
  const runs = record.checkpoints.map(({ runId }) => Number(runId.slice(4)));
  expect(runs.length).toBeLessThanOrEqual(RING_SIZE);
  expect(runs).toEqual(runs.toSorted((a, b) => a - b));
});

verifies("M-P4g/rollback", "a settled state that falls behind the best checkpoint is rolled back to that", () => {
  // Longer answers helped, until they did harm.
  const turned: Population = (state, random, index) =>
    (index < 400 ? needsLongerAnswers : brokenByLongerAnswers)(state, random, index);
  const { changes, record } = govern(turned, { runs: 600, seed: 2, tier: "mid" });
  expect(changes.find(({ cause }) => cause === "kept")?.after.verbosityBias).toBe(1);
  const rollback = changes.find(({ cause, run }) => cause === "rollback" && run >= 400);
  expect(rollback).toMatchObject({ proposal: null, worse: "hardFailures", frozenRuns: TIER_RULES.mid.freezeRuns });
  expect(rollback?.after).toEqual(NEUTRAL_STATE);
  expect(record.state.verbosityBias).toBe(0);
});

verifies(
  "M-P4f/tiers",
  "a tier's record says nothing about another's: a run under another state changes nothing",
  () => {
    const { record } = govern(noise, { runs: 100, seed: 1, tier: "cheap" });
    const measured = measureRun(CALM, { ...LIMITS, stepLimitMultiplier: 1 }, 0);
    if (measured === null) throw new Error("was not measured");
    const foreign = { runId: "run_x", state: { ...NEUTRAL_STATE, verbosityBias: 2 }, measured };
    expect(advance(record, foreign, TIER_RULES.cheap)).toEqual({ record, change: null });
    expect(newTier("mid").checkpoints).toEqual([]);
  },
);

verifies("M-P4f/speed", "a higher tier warms up sooner, looks at fewer runs and tolerates less", () => {
  const rules = MODEL_TIERS.map((tier) => TIER_RULES[tier]);
  for (const [index, { warmupRuns, windowRuns, tolerance, errors }] of rules.entries()) {
    const lower = rules[index - 1];
    if (lower === undefined) continue;
    expect([warmupRuns < lower.warmupRuns, windowRuns < lower.windowRuns]).toEqual([true, true]);
    expect([tolerance < lower.tolerance, errors < lower.errors]).toEqual([true, true]);
  }
  const first = MODEL_TIERS.map(
    (tier) => govern(needsLongerAnswers, { runs: 200, seed: 4, tier }).changes[0]?.run ?? 999,
  );
  expect(first).toEqual(first.toSorted((a, b) => b - a));
});

verifies(
  "M-P4g/rollback",
  "an operator rolls back to the best other checkpoint, and to the neutral state where there is none",
  () => {
    const { record } = govern(needsLongerAnswers, { runs: 60, seed: 3, tier: "premium" });
    expect(record.state.verbosityBias).toBe(1);
    const back = rolledBack(record, 12);
    expect(back.change).toMatchObject({ cause: "operator", frozenRuns: 12, after: NEUTRAL_STATE });
    expect(isSameState(back.record.state, NEUTRAL_STATE)).toBe(true);
    expect(isNeutral(rolledBack(newTier("mid"), 1).record.state)).toBe(true);
  },
);

verifies("M-P4c/gate", "critique follows a count of ignored anomalies, never a score", () => {
  const ignores: Population = (state, _, index) => {
    return { run: CALM, anomaliesIgnored: index % 4 === 0 && !state.critiqueEnabled ? 1 : 0 };
  };
  const { changes, states } = govern(ignores, { runs: 64, seed: 1, tier: "premium" });
  expect(changes[0]).toMatchObject({ cause: "critique", proposal: null });
  expect(changes[0]?.after).toEqual({ ...NEUTRAL_STATE, critiqueEnabled: true });
  expect(states.findIndex(({ critiqueEnabled }) => critiqueEnabled)).toBe((changes[0]?.run ?? 0) + 1);
  // Two windows without one switch it off.
  expect(changes[1]).toMatchObject({ cause: "critique", after: NEUTRAL_STATE });
  // Bad runs without an ignored anomaly never do.
  const bad: Population = (_, random) => ({ run: random.chance(50) ? failed("FAILED_TIMEOUT", "run.timeout") : CALM });
  expect(govern(bad, { runs: 500, seed: 1, tier: "premium" }).states.some((state) => state.critiqueEnabled)).toBe(
    false,
  );
});
