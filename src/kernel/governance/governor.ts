/**
 * The governor of one tier: what becomes of its PolicyState after one more run (M-P4). A pure function of what it knew and
 * of the run; it acts on contracts that are drafted later, and on nothing else.
 *
 * G1. Nothing is moved before the warm-up is over, nor while frozen.
 * G2. A change moves one parameter by one step, and is on trial for a window of runs. It stays only if what it was made for
 *     got better by more than chance explains; if anything got worse than the tier tolerates, the state before comes back
 *     and the tier is frozen; otherwise the state before comes back quietly.
 * G3. Hard failures override: too many of them end a trial at once, and fewer of them outweigh everything else.
 * G4. What did not prove itself is tried again only after a pause, each time twice as long: noise is not chased.
 * G5. A settled state that falls behind the best checkpoint of another state is rolled back to that.
 * G6. A run counts only under the state that is in force; those that began before a change say nothing about it.
 */
import type { ModelTier } from "../vocabulary/model-tier.ts";
import {
  type Averages,
  averagedWith,
  averagesOf,
  DIMENSIONS,
  type Dimension,
  NO_AVERAGES,
  scoreOf,
  worsening,
} from "./averages.ts";
import type { Measured } from "./perf-vector.ts";
import { clamped, isSameState, moved, NEUTRAL_STATE, type PolicyState } from "./policy-state.ts";
import { type Proposal, proposeMutations, wantsCritique } from "./propose-mutation.ts";
import type { TierRules } from "./tier-rules.ts";

/** A settled state with its rolling averages, as they were at a run that ended under it. */
export interface PolicyCheckpoint {
  readonly state: PolicyState;
  readonly averages: Averages;
  readonly score: number;
  readonly runId: string;
}

interface Trial {
  readonly proposal: Proposal;
  /** What comes back unless the trial succeeds. */
  readonly before: PolicyState;
  readonly averages: Averages;
  readonly hardFailures: number;
}

interface Pause {
  readonly parameter: Proposal["parameter"];
  readonly direction: Proposal["direction"];
  readonly failedTrials: number;
  readonly untilRun: number;
}

/** Everything that is known about one tier. */
export interface TierRecord {
  readonly tier: ModelTier;
  /** In force for contracts that are drafted from now on. */
  readonly state: PolicyState;
  /** Runs that were measured. */
  readonly runs: number;
  /** The last ones under `state`, at most two windows. */
  readonly recent: readonly Measured[];
  /** Of the settled state: the one before a trial, while there is one. */
  readonly averages: Averages;
  readonly trial: Trial | null;
  readonly frozenRuns: number;
  readonly pauses: readonly Pause[];
  /** The newest last; at most RING_SIZE. */
  readonly checkpoints: readonly PolicyCheckpoint[];
}

export const CAUSES = ["mutation", "kept", "withdrawn", "rollback", "critique", "operator"] as const;
export type ChangeCause = (typeof CAUSES)[number];

/** The PolicyDelta (M-P4d). `after` is the state before where a trial was kept. */
export interface PolicyChange {
  readonly cause: ChangeCause;
  readonly before: PolicyState;
  readonly after: PolicyState;
  /** What the mutation was proposed for; null where there was none. */
  readonly proposal: Proposal | null;
  /** What got worse; null unless it was that. */
  readonly worse: Dimension | null;
  readonly frozenRuns: number;
}

export interface Advanced {
  readonly record: TierRecord;
  readonly change: PolicyChange | null;
}

export const RING_SIZE = 8;
/** Rolling averages forget runs older than so many windows, or than the warm-up if that is longer. */
const MEMORY_WINDOWS = 5;
const PAUSE_WINDOWS = 4;
const MOST_DOUBLINGS = 5;
/** What a mutation must gain, as a cost, by more than so many standard errors, to stay. */
const LEAST_GAIN = 0.05;
const GAIN_ERRORS = 2.5;

export function newTier(tier: ModelTier): TierRecord {
  const nothing = {
    runs: 0,
    recent: [],
    averages: NO_AVERAGES,
    trial: null,
    frozenRuns: 0,
    pauses: [],
    checkpoints: [],
  };
  return { tier, state: clamped(NEUTRAL_STATE, tier), ...nothing };
}

export interface ScoredRun {
  readonly runId: string;
  /** As the run's contract records it. */
  readonly state: PolicyState;
  readonly measured: Measured;
}

export function advance(before: TierRecord, run: ScoredRun, rules: TierRules): Advanced {
  if (!isSameState(run.state, before.state)) return { record: before, change: null };
  const record: TierRecord = {
    ...before,
    runs: before.runs + 1,
    frozenRuns: Math.max(0, before.frozenRuns - 1),
    recent: [...before.recent, run.measured].slice(-2 * rules.windowRuns),
  };
  return record.trial === null ? settledRun(record, run, rules) : trialRun(record, record.trial, run, rules);
}

function trialRun(record: TierRecord, before: Trial, { runId, measured }: ScoredRun, rules: TierRules): Advanced {
  const { vector } = measured;
  const trial: Trial = {
    ...before,
    averages: averagedWith(before.averages, vector, rules.windowRuns),
    hardFailures: before.hardFailures + vector.hardFailures,
  };
  const now = { ...record, trial };
  if (hasTooManyFailures(record.averages, trial, rules)) return revert(now, trial, "hardFailures", rules);
  if (trial.averages.runs < rules.windowRuns) return { record: now, change: null };
  const worse = whatGotWorse(record.averages, trial, rules);
  if (worse !== null) return revert(now, trial, worse, rules);
  return isProven(record.averages, trial) ? keep(now, trial, runId) : revert(now, trial, null, rules);
}

/** More than the settled state would have had in the whole trial. */
function hasTooManyFailures(settled: Averages, { hardFailures }: Trial, rules: TierRules): boolean {
  const expected = Math.ceil(settled.costs.hardFailures.mean * rules.windowRuns);
  const tolerated = Math.ceil(rules.tolerance * rules.windowRuns);
  return hardFailures > expected + tolerated;
}

function whatGotWorse(settled: Averages, { averages, proposal }: Trial, rules: TierRules): Dimension | null {
  const isWorse = (dimension: Dimension): boolean => {
    return worsening(settled, averages, dimension, rules.errors) > rules.tolerance;
  };
  if (isWorse("hardFailures")) return "hardFailures";
  const outweighs = proposal.aim === "hardFailures" && hasGained(settled, averages, "hardFailures");
  return outweighs ? null : (DIMENSIONS.find(isWorse) ?? null);
}

function isProven(settled: Averages, { averages, proposal }: Trial): boolean {
  return hasGained(settled, averages, proposal.aim);
}

function hasGained(settled: Averages, averages: Averages, aim: Dimension): boolean {
  return -worsening(settled, averages, aim, GAIN_ERRORS) >= LEAST_GAIN;
}

function keep(record: TierRecord, trial: Trial, runId: string): Advanced {
  const { proposal, averages } = trial;
  const settled = withCheckpoint({ ...record, trial: null, averages }, runId);
  const { state } = record;
  const change = { cause: "kept", before: trial.before, after: state, proposal, worse: null, frozenRuns: 0 } as const;
  return { record: settled, change };
}

/** `worse`: what got worse; null: nothing did, but nothing got better either. */
function revert(record: TierRecord, { before, proposal }: Trial, worse: Dimension | null, rules: TierRules): Advanced {
  const { parameter, direction } = proposal;
  const isSame = (pause: Pause): boolean => pause.parameter === parameter && pause.direction === direction;
  const failedTrials = (record.pauses.find(isSame)?.failedTrials ?? 0) + 1;
  const pauseRuns = PAUSE_WINDOWS * rules.windowRuns * 2 ** Math.min(failedTrials - 1, MOST_DOUBLINGS);
  const pause = { parameter, direction, failedTrials, untilRun: record.runs + pauseRuns };
  const frozenRuns = worse === null ? record.frozenRuns : rules.freezeRuns;
  return {
    record: {
      ...{ ...record, state: before, recent: [], trial: null, frozenRuns },
      pauses: [...record.pauses.filter((other) => !isSame(other)), pause],
    },
    change: {
      ...{ before: record.state, after: before, proposal, worse, frozenRuns },
      cause: worse === null ? "withdrawn" : "rollback",
    },
  };
}

function settledRun(before: TierRecord, run: ScoredRun, rules: TierRules): Advanced {
  const { windowRuns, warmupRuns } = rules;
  const memory = Math.max(MEMORY_WINDOWS * windowRuns, warmupRuns);
  const averages = averagedWith(before.averages, run.measured.vector, memory);
  const measured = { ...before, averages };
  const isWindowFull = measured.recent.length >= windowRuns;
  if (!isWindowFull) return { record: measured, change: null };
  const isWindowsEnd = measured.runs % windowRuns === 0;
  const record = isWindowsEnd ? withCheckpoint(measured, run.runId) : measured;
  const isWarm = record.frozenRuns === 0 && record.runs >= warmupRuns;
  const change = isWarm ? (switchCritique(record, rules) ?? mutate(record, run, rules)) : null;
  // What has fallen behind is rolled back, not mended.
  const fallenBehind = isWindowsEnd || change !== null ? regression(record, rules) : null;
  return fallenBehind ?? change ?? { record, change: null };
}

/** Against the best checkpoint of another state (M-P4g): where that would do no better, going back would not help. */
function regression(record: TierRecord, rules: TierRules): Advanced | null {
  const best = bestCheckpoint(record.checkpoints.filter(({ state }) => !isSameState(state, record.state)));
  if (best === null) return null;
  const last = averagesOf(record.recent.slice(-rules.windowRuns).map(({ vector }) => vector));
  const worse = DIMENSIONS.find((dimension) => {
    return worsening(best.averages, last, dimension, rules.errors) > rules.tolerance;
  });
  const isBetter = scoreOf(last) < best.score;
  return worse === undefined || !isBetter ? null : returnTo(record, best, "rollback", worse, rules.freezeRuns);
}

function returnTo(
  record: TierRecord,
  { state, averages }: Pick<PolicyCheckpoint, "state" | "averages">,
  cause: "rollback" | "operator",
  worse: Dimension | null,
  frozenRuns: number,
): Advanced {
  const after = clamped(state, record.tier);
  return {
    record: { ...record, state: after, averages, recent: [], trial: null, frozenRuns },
    change: { cause, before: record.state, after, proposal: null, worse, frozenRuns },
  };
}

/** By its predicate alone (M-P4c), after any run. What was measured before says nothing about runs with a critic. */
function switchCritique(record: TierRecord, { windowRuns }: TierRules): Advanced | null {
  const critiqueEnabled = wantsCritique(record.state, record.recent, windowRuns);
  if (critiqueEnabled === record.state.critiqueEnabled) return null;
  const after = { ...record.state, critiqueEnabled };
  return {
    record: { ...record, state: after, recent: [], averages: NO_AVERAGES },
    change: { cause: "critique", before: record.state, after, proposal: null, worse: null, frozenRuns: 0 },
  };
}

/** After a run that was not GREEN, the first proposal that is not paused and not at its bound. */
function mutate(record: TierRecord, { runId, measured }: ScoredRun, rules: TierRules): Advanced | null {
  if (measured.dominance === "GREEN" || record.averages.runs < rules.warmupRuns) return null;
  for (const proposal of proposeMutations(record.recent.slice(-rules.windowRuns))) {
    const { parameter, direction } = proposal;
    const isPaused = record.pauses.some((pause) => {
      return pause.parameter === parameter && pause.direction === direction && record.runs < pause.untilRun;
    });
    const after = isPaused ? null : moved(record.state, parameter, direction, record.tier);
    if (after === null) continue;
    const trial: Trial = { proposal, before: record.state, averages: NO_AVERAGES, hardFailures: 0 };
    return {
      record: { ...withCheckpoint(record, runId), state: after, recent: [], trial },
      change: { cause: "mutation", before: record.state, after, proposal, worse: null, frozenRuns: 0 },
    };
  }
  return null;
}

/** The newest is taken again while its state stays. */
function withCheckpoint(record: TierRecord, runId: string): TierRecord {
  const { state, averages, checkpoints } = record;
  const newest = checkpoints.at(-1);
  const earlier = newest !== undefined && isSameState(newest.state, state) ? checkpoints.slice(0, -1) : checkpoints;
  const checkpoint = { state, averages, score: scoreOf(averages), runId };
  return { ...record, checkpoints: [...earlier, checkpoint].slice(-RING_SIZE) };
}

/** Fewest hard failures first, then the best score; of equals the newest. */
export function bestCheckpoint(checkpoints: readonly PolicyCheckpoint[]): PolicyCheckpoint | null {
  const failures = ({ averages }: PolicyCheckpoint): number => averages.costs.hardFailures.mean;
  return checkpoints.reduce<PolicyCheckpoint | null>((best, next) => {
    if (best === null || failures(next) < failures(best)) return next;
    return failures(next) === failures(best) && next.score >= best.score ? next : best;
  }, null);
}

/** An operator's: to the best checkpoint of another state, or to the neutral state where there is none. */
export function rolledBack(record: TierRecord, frozenRuns: number): Advanced {
  const others = record.checkpoints.filter(({ state }) => !isSameState(state, record.state));
  const target = bestCheckpoint(others) ?? { state: NEUTRAL_STATE, averages: NO_AVERAGES };
  return returnTo(record, target, "operator", null, frozenRuns);
}

/** An operator's; a trial ends, and what was before it comes back. With 0 runs it is thawed. */
export function frozen(record: TierRecord, frozenRuns: number): Advanced {
  const { trial, averages } = record;
  if (trial !== null && frozenRuns > 0)
    return returnTo(record, { state: trial.before, averages }, "operator", null, frozenRuns);
  const { state } = record;
  const change = { cause: "operator", before: state, after: state, proposal: null, worse: null, frozenRuns } as const;
  return { record: { ...record, frozenRuns }, change };
}
