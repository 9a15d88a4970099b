import fc from "fast-check";
import { Compile } from "typebox/compile";
import { expect } from "vitest";
import { anomaliesIn, countIgnored } from "../../../src/kernel/governance/anomalies.ts";
import { averagedWith, averagesOf, NO_AVERAGES, scoreOf } from "../../../src/kernel/governance/averages.ts";
import {
  DOMINANCES,
  dominanceOf,
  type MeasuredRun,
  measureRun,
  PerfVectorSchema,
} from "../../../src/kernel/governance/perf-vector.ts";
import {
  clamped,
  governedTerms,
  NEUTRAL_STATE,
  type PolicyState,
  readOnlyCallsPerTurn,
  TIER_BOUNDS,
} from "../../../src/kernel/governance/policy-state.ts";
import { proposeMutations } from "../../../src/kernel/governance/propose-mutation.ts";
import { runSummary } from "../../../src/kernel/journal/views/run-summary.ts";
import { MODEL_TIERS } from "../../../src/kernel/vocabulary/model-tier.ts";
import { verifies } from "../../requirements.ts";
import { anyRun } from "../journal/views/any-run.ts";
import { CALM, failed, LIMITS, retried } from "./population.ts";

const AT_ONE = { ...LIMITS, stepLimitMultiplier: 1 };
const isVector = Compile(PerfVectorSchema);

verifies("M-P4b/vector", "the summary of any run has a vector of the published shape, or none", () => {
  fc.assert(
    fc.property(anyRun, fc.integer({ min: 0, max: 5 }), ({ entries }, ignored) => {
      const summary = runSummary(entries);
      if (summary === null) return;
      const measured = measureRun(summary, AT_ONE, ignored);
      if (measured === null) return;
      expect(isVector.Check(measured.vector)).toBe(true);
      expect(DOMINANCES).toContain(measured.dominance);
      expect(measured.vector.hardFailures).toBe(summary.outcome.startsWith("FAILED_") ? 1 : 0);
    }),
  );
});

verifies("M-P4b/vector", "six numbers, of one run in full", () => {
  const run: MeasuredRun = {
    ...retried("protocol.truncated"),
    inferences: 5,
    calls: { proposed: 4, skipped: 0, duplicate: 1 },
  };
  expect(measureRun(run, AT_ONE, 2)).toEqual({
    vector: {
      protocolCompliance: 0.75,
      retryCount: 1,
      budgetEfficiency: 0.5,
      duplicateCallRatio: 0.25,
      anomalyIgnoredCount: 2,
      hardFailures: 0,
    },
    dominance: "YELLOW",
    signals: ["answer-cut-off", "malformed", "anomaly-ignored"],
  });
});

verifies("M-P4b/vector", "efficiency is measured against the limits without governance", () => {
  const limits = { ...AT_ONE, maxInferences: 15, totalTimeoutMs: 900_000, stepLimitMultiplier: 1.5 };
  expect(measureRun({ ...CALM, inferences: 9 }, limits, 0)?.vector.budgetEfficiency).toBeCloseTo(0.1);
});

verifies("M-P4b/dominance", "GREEN is good in every dimension, RED is bad in one, the rest is YELLOW", () => {
  const green = measureRun(CALM, AT_ONE, 0)?.vector;
  if (green === undefined) throw new Error("was not measured");
  expect(dominanceOf(green)).toBe("GREEN");
  expect(dominanceOf({ ...green, retryCount: 1, protocolCompliance: 0.9 })).toBe("YELLOW");
  expect(dominanceOf({ ...green, anomalyIgnoredCount: 1 })).toBe("YELLOW");
  expect(dominanceOf({ ...green, budgetEfficiency: 0.1 })).toBe("YELLOW");
  expect(dominanceOf({ ...green, duplicateCallRatio: 0.8 })).toBe("RED");
  expect(dominanceOf({ ...green, anomalyIgnoredCount: 3 })).toBe("RED");
});

verifies("M-P4b/hard", "a hard failure is RED whatever else was measured, and its rules come before all others", () => {
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(share, share, share, fc.nat(3), fc.nat(3), (a, b, c, retries, ignored) => {
      const vector = { protocolCompliance: a, budgetEfficiency: b, duplicateCallRatio: c };
      const rest = { retryCount: retries, anomalyIgnoredCount: ignored };
      expect(dominanceOf({ ...vector, ...rest, hardFailures: 1 })).toBe("RED");
    }),
  );
  const soft = measureRun({ ...CALM, calls: { proposed: 4, skipped: 0, duplicate: 3 } }, AT_ONE, 0);
  const hard = measureRun(failed("FAILED_TIMEOUT", "run.timeout"), AT_ONE, 0);
  if (soft === null || hard === null) throw new Error("was not measured");
  const runs = [...Array.from({ length: 7 }, () => soft), hard, hard, hard];
  expect(proposeMutations(runs.slice(0, 7)).map(({ signal }) => signal)).toEqual(["duplicate-calls"]);
  expect(new Set(proposeMutations(runs).map(({ signal }) => signal))).toEqual(new Set(["ran-out-of-time"]));
});

verifies("M-P4d/contradiction", "signals that want a parameter moved both ways move it neither way", () => {
  const longer = measureRun(
    { ...failed("FAILED_PROTOCOL_MALFORMED", "protocol.truncated"), steps: 3, format_retries: 2 },
    AT_ONE,
    0,
  );
  const shorter = measureRun(failed("FAILED_BUDGET_EXHAUSTED", "budget.tokens"), AT_ONE, 0);
  if (longer === null || shorter === null) throw new Error("was not measured");
  const both = [longer, longer, longer, shorter, shorter, shorter];
  expect(proposeMutations([longer, longer, longer]).map(({ parameter }) => parameter)).toContain("verbosityBias");
  expect(proposeMutations(both).map(({ parameter }) => parameter)).not.toContain("verbosityBias");
});

verifies("M-P4b/vector", "a run that says nothing about the policy has no vector", () => {
  for (const [outcome, reason] of [
    ["INTERRUPTED", "run.cancelled"],
    ["FAILED_PREFLIGHT", "context.over-budget"],
    ["FAILED_PROTOCOL_MALFORMED", "provider.unavailable"],
    ["FAILED_BUDGET_EXHAUSTED", "budget.spend"],
    ["FAILED_CONTRACT_VIOLATION", "defect"],
  ] as const) {
    expect([outcome, measureRun(failed(outcome, reason), AT_ONE, 0)]).toEqual([outcome, null]);
  }
});

verifies("M-P4b/anomaly", "a failed or truncated result is ignored unless the answer mentions it", () => {
  const failure = { tool: "fs.read_text", ok: false, truncated: false, code: "not_found" };
  const success = { ...failure, ok: true, code: null };
  const cut = { ...success, tool: "http.get", truncated: true };
  const ignored = (results: readonly (typeof cut | typeof failure)[], answer: string | null): number =>
    countIgnored(anomaliesIn(results), answer);
  expect(ignored([failure], "Your notes say: buy milk.")).toBe(1);
  expect(ignored([failure], "I could not read your notes.")).toBe(0);
  expect(ignored([failure], "fs.read_text gave nothing back.")).toBe(0);
  expect(ignored([failure], "Die Datei gibt es nicht.")).toBe(0);
  expect(ignored([failure, success], "Your notes say: buy milk.")).toBe(0);
  expect(ignored([success, failure], "Your notes say: buy milk.")).toBe(1);
  expect(ignored([cut], "The page says: hello.")).toBe(1);
  expect(ignored([cut], "The page, of which I saw only the first part, says: hello.")).toBe(0);
  expect(ignored([failure, cut], "It failed.")).toBe(1);
  expect(ignored([failure], null)).toBe(0);
  expect(ignored([failure], "あなたのメモには牛乳と書いてあります")).toBe(0);
  expect(ignored([failure], "42")).toBe(0);
  expect(ignored([success], "Your notes say: buy milk.")).toBe(0);
});

const anyState = fc.record({
  retryTolerance: fc.oneof(fc.double(), fc.integer()),
  stepLimitMultiplier: fc.oneof(fc.double(), fc.integer()),
  autonomyBias: fc.oneof(fc.double(), fc.integer()),
  verbosityBias: fc.oneof(fc.double(), fc.integer()),
  critiqueEnabled: fc.boolean(),
});

verifies("M-P4c/ceilings", "any stored numbers come back within the tier's bounds, and stay there", () => {
  fc.assert(
    fc.property(anyState, fc.constantFrom(...MODEL_TIERS), (stored, tier) => {
      const state = clamped(stored, tier);
      for (const [parameter, { least, most }] of Object.entries(TIER_BOUNDS[tier])) {
        expect(state[parameter as keyof PolicyState]).toBeGreaterThanOrEqual(least);
        expect(state[parameter as keyof PolicyState]).toBeLessThanOrEqual(most);
      }
      expect(clamped(state, tier)).toEqual(state);
    }),
  );
});

const TERMS = {
  maxFormatRetries: 1,
  maxInferences: 10,
  stepTimeoutMs: 120_000,
  totalTimeoutMs: 600_000,
  maxOutputTokens: 2_000,
};
const CEILINGS = {
  maxInferences: 12,
  stepTimeoutMs: 1e9,
  totalTimeoutMs: 700_000,
  maxOutputTokens: 2_500,
  leastOutputTokens: 16,
};

verifies("M-P4c/parameters", "each parameter changes the terms it names, within the operator's ceilings", () => {
  expect(governedTerms(TERMS, NEUTRAL_STATE, CEILINGS)).toEqual(TERMS);
  expect(governedTerms(TERMS, { ...NEUTRAL_STATE, retryTolerance: 0 }, CEILINGS).maxFormatRetries).toBe(0);
  expect(governedTerms(TERMS, { ...NEUTRAL_STATE, stepLimitMultiplier: 1.5 }, CEILINGS)).toEqual({
    ...TERMS,
    maxInferences: 12,
    stepTimeoutMs: 180_000,
    totalTimeoutMs: 700_000,
  });
  expect(governedTerms(TERMS, { ...NEUTRAL_STATE, verbosityBias: 1 }, CEILINGS).maxOutputTokens).toBe(2_500);
  expect(governedTerms(TERMS, { ...NEUTRAL_STATE, verbosityBias: -1 }, CEILINGS).maxOutputTokens).toBe(1_333);
  const calls = [0, -1, -2, -3].map((autonomyBias) => readOnlyCallsPerTurn({ autonomyBias }));
  expect(calls).toEqual([null, 4, 2, 1]);
});

verifies("M-P4f/ring", "rolling averages are the mean of few runs, and forget old ones of many", () => {
  const good = measureRun(CALM, AT_ONE, 0)?.vector;
  const bad = measureRun(failed("FAILED_TIMEOUT", "run.timeout"), AT_ONE, 0)?.vector;
  if (good === undefined || bad === undefined) throw new Error("was not measured");
  const half = averagesOf([good, bad, good, bad]);
  expect(half.costs.hardFailures.mean).toBeCloseTo(0.5);
  expect(half.costs.hardFailures.variance).toBeCloseTo(0.25);
  expect(scoreOf(averagesOf([bad]))).toBe(0);
  expect(scoreOf(averagesOf([good]))).toBeGreaterThan(0.9);
  let rolling = NO_AVERAGES;
  for (let run = 0; run < 200; run += 1) rolling = averagedWith(rolling, run < 100 ? bad : good, 20);
  expect([rolling.runs, rolling.costs.hardFailures.mean < 0.01]).toEqual([20, true]);
});
