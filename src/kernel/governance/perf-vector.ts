/**
 * PerfVector (M-P4b): what one ended run says about the policy it was drafted under.
 *
 * V1. A pure function of the run's summary, its contract's limits, and the anomalies that its answer ignored.
 * V2. A run that says nothing about the policy has none: one that was cancelled, never began, or failed by something outside
 *     (provider, money, a defect).
 * V3. A hard failure is RED whatever else was measured.
 */
import { type Static, Type } from "typebox";
import type { FailureReason } from "../vocabulary/failures.ts";
import { Count, closed } from "../vocabulary/schema-primitives.ts";

const Share = Type.Number({ minimum: 0, maximum: 1 });

export const PerfVectorSchema = Type.Object(
  {
    /** Share of the answers that followed the protocol. */
    protocolCompliance: Share,
    retryCount: Count,
    /** Share of the tightest limit that was left, as the limits are without governance. */
    budgetEfficiency: Share,
    /** Share of the proposed calls that repeat an earlier one; one that was skipped may be proposed again. */
    duplicateCallRatio: Share,
    anomalyIgnoredCount: Count,
    hardFailures: Count,
  },
  closed,
);
export type PerfVector = Readonly<Static<typeof PerfVectorSchema>>;

export const DOMINANCES = ["GREEN", "YELLOW", "RED"] as const;
export type Dominance = (typeof DOMINANCES)[number];

/** What a run showed that a parameter may mend; RULES of `propose-mutation.ts` says which. */
export const SIGNALS = [
  "answer-cut-off",
  "malformed",
  "retried-in-vain",
  "malformed-without-retry",
  "ran-out-of-inferences",
  "ran-out-of-time",
  "ran-out-of-tokens",
  "repeated-itself",
  "duplicate-calls",
  "wasteful",
  "anomaly-ignored",
] as const;
export type Signal = (typeof SIGNALS)[number];

/** As much of a RunSummary as is measured. */
export interface MeasuredRun {
  readonly outcome: string;
  readonly reason: string | null;
  readonly steps: number;
  readonly inferences: number;
  readonly format_retries: number;
  readonly tokens: number;
  readonly elapsed_ms: number;
  readonly calls: { readonly proposed: number; readonly skipped: number; readonly duplicate: number };
  readonly error_log: readonly { readonly code: string }[];
}

/** The limits of the run's contract, and the multiplier they were scaled by. */
export interface MeasuredLimits {
  readonly maxInferences: number;
  readonly maxTokensConsumed: number;
  readonly totalTimeoutMs: number;
  readonly maxFormatRetries: number;
  readonly stepLimitMultiplier: number;
}

export interface Measured {
  readonly vector: PerfVector;
  readonly dominance: Dominance;
  readonly signals: readonly Signal[];
}

/** Failures that no parameter of a PolicyState could have caused or prevented. */
const FROM_OUTSIDE: ReadonlySet<string> = new Set<FailureReason>([
  "provider.unavailable",
  "budget.spend",
  "contract.tampered",
  "defect",
  "machine.diverged",
]);

/** Null: the run says nothing about the policy. */
export function measureRun(run: MeasuredRun, limits: MeasuredLimits, anomaliesIgnored: number): Measured | null {
  const isSilent = run.outcome === "INTERRUPTED" || run.outcome === "FAILED_PREFLIGHT" || run.steps === 0;
  if (isSilent || (run.reason !== null && FROM_OUTSIDE.has(run.reason))) return null;
  const { proposed, skipped, duplicate } = run.calls;
  const vector: PerfVector = {
    protocolCompliance: share(run.steps - run.format_retries, run.steps),
    retryCount: run.format_retries,
    budgetEfficiency: 1 - largestShareUsed(run, limits),
    duplicateCallRatio: proposed === 0 ? 0 : share(duplicate - skipped, proposed),
    anomalyIgnoredCount: anomaliesIgnored,
    hardFailures: run.outcome.startsWith("FAILED_") ? 1 : 0,
  };
  return { vector, dominance: dominanceOf(vector), signals: signalsOf(run, limits, vector) };
}

/** A run is GREEN when it is at least as good as this in every dimension, and RED when it is worse than that in any. */
const GREEN_AT_LEAST = { protocolCompliance: 1, budgetEfficiency: 0.2, duplicateCallRatio: 0.25 };
const RED_BELOW = { protocolCompliance: 0.5, budgetEfficiency: 0.02, duplicateCallRatio: 0.75, anomalyIgnoredCount: 2 };

export function dominanceOf(vector: PerfVector): Dominance {
  if (vector.hardFailures > 0) return "RED";
  const isRed =
    vector.protocolCompliance < RED_BELOW.protocolCompliance ||
    vector.budgetEfficiency < RED_BELOW.budgetEfficiency ||
    vector.duplicateCallRatio > RED_BELOW.duplicateCallRatio ||
    vector.anomalyIgnoredCount > RED_BELOW.anomalyIgnoredCount;
  if (isRed) return "RED";
  const isGreen =
    vector.retryCount === 0 &&
    vector.anomalyIgnoredCount === 0 &&
    vector.protocolCompliance >= GREEN_AT_LEAST.protocolCompliance &&
    vector.budgetEfficiency >= GREEN_AT_LEAST.budgetEfficiency &&
    vector.duplicateCallRatio <= GREEN_AT_LEAST.duplicateCallRatio;
  return isGreen ? "GREEN" : "YELLOW";
}

function largestShareUsed(run: MeasuredRun, limits: MeasuredLimits): number {
  const { stepLimitMultiplier, maxInferences, maxTokensConsumed, totalTimeoutMs } = limits;
  return Math.max(
    share(run.inferences, maxInferences / stepLimitMultiplier),
    share(run.tokens, maxTokensConsumed),
    share(run.elapsed_ms, totalTimeoutMs / stepLimitMultiplier),
  );
}

function share(part: number, whole: number): number {
  return whole <= 0 ? 0 : Math.min(1, Math.max(0, part / whole));
}

/** An answer that reached its token limit is cut off in the middle. */
const CUT_OFF: ReadonlySet<string> = new Set(["protocol.truncated", "protocol.incomplete"]);

function signalsOf(run: MeasuredRun, limits: MeasuredLimits, vector: PerfVector): readonly Signal[] {
  const isMalformed = run.outcome === "FAILED_PROTOCOL_MALFORMED";
  const shown: Readonly<Record<Signal, boolean>> = {
    "answer-cut-off": run.error_log.some(({ code }) => CUT_OFF.has(code)),
    malformed: run.format_retries > 0,
    "retried-in-vain": isMalformed && limits.maxFormatRetries > 0,
    "malformed-without-retry": isMalformed && limits.maxFormatRetries === 0,
    "ran-out-of-inferences": run.reason === "budget.inferences",
    "ran-out-of-time": run.outcome === "FAILED_TIMEOUT",
    "ran-out-of-tokens": run.reason === "budget.tokens",
    "repeated-itself": run.reason === "cycle",
    "duplicate-calls": vector.duplicateCallRatio > GREEN_AT_LEAST.duplicateCallRatio,
    wasteful: vector.budgetEfficiency < GREEN_AT_LEAST.budgetEfficiency,
    "anomaly-ignored": vector.anomalyIgnoredCount > 0,
  };
  return SIGNALS.filter((signal) => shown[signal]);
}
