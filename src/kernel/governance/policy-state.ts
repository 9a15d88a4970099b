/**
 * PolicyState (M-P4c): the parameters that governance may move, and the bounds that each tier of models gives them.
 *
 * G1. Governance knows nothing else: no field of it names a tool, an approval, a policy or a capability, and this layer
 *     imports none of them.
 * G2. `clamped` is applied to whatever is stored, and before every use.
 * G3. `NEUTRAL_STATE` changes no term of a contract.
 */
import type { ModelTier } from "../vocabulary/model-tier.ts";

export interface PolicyState {
  /** How often a run may ask again after a malformed answer: `max_format_retries`. */
  readonly retryTolerance: number;
  /** Scales `max_inferences` and the two timeouts. */
  readonly stepLimitMultiplier: number;
  /** How many read-only calls one turn may make: READ_ONLY_CALLS has the numbers. */
  readonly autonomyBias: number;
  /** Scales `max_output_tokens`: by half as much again for each step. */
  readonly verbosityBias: number;
  /** The model reviews the draft of its answer before anyone sees it. */
  readonly critiqueEnabled: boolean;
}
/** The parameters that are moved by what was measured; `critiqueEnabled` follows a predicate. */
export type MovedParameter = Exclude<keyof PolicyState, "critiqueEnabled">;

export const NEUTRAL_STATE: PolicyState = {
  retryTolerance: 1,
  stepLimitMultiplier: 1,
  autonomyBias: 0,
  verbosityBias: 0,
  critiqueEnabled: false,
};

interface Bounds {
  readonly least: number;
  readonly most: number;
}

/** One mutation moves one parameter by one step. */
const STEPS: Readonly<Record<MovedParameter, number>> = {
  retryTolerance: 1,
  stepLimitMultiplier: 0.25,
  autonomyBias: 1,
  verbosityBias: 1,
};

export const TIER_BOUNDS: Readonly<Record<ModelTier, Readonly<Record<MovedParameter, Bounds>>>> = {
  cheap: {
    retryTolerance: { least: 0, most: 1 },
    stepLimitMultiplier: { least: 0.75, most: 1.5 },
    autonomyBias: { least: -3, most: 0 },
    verbosityBias: { least: -1, most: 2 },
  },
  mid: {
    retryTolerance: { least: 0, most: 1 },
    stepLimitMultiplier: { least: 0.5, most: 2 },
    autonomyBias: { least: -3, most: 0 },
    verbosityBias: { least: -2, most: 3 },
  },
  premium: {
    retryTolerance: { least: 0, most: 1 },
    stepLimitMultiplier: { least: 0.5, most: 3 },
    autonomyBias: { least: -3, most: 0 },
    verbosityBias: { least: -2, most: 4 },
  },
};

const MOVED_PARAMETERS = Object.keys(STEPS) as readonly MovedParameter[];

/** Within the tier's bounds and on whole steps; a number that is none becomes the neutral one. */
export function clamped(state: PolicyState, tier: ModelTier): PolicyState {
  const within = (parameter: MovedParameter): number => {
    const { least, most } = TIER_BOUNDS[tier][parameter];
    const value = state[parameter];
    if (!Number.isFinite(value)) return NEUTRAL_STATE[parameter];
    const step = STEPS[parameter];
    return Math.min(most, Math.max(least, Math.round(value / step) * step));
  };
  return {
    retryTolerance: within("retryTolerance"),
    stepLimitMultiplier: within("stepLimitMultiplier"),
    autonomyBias: within("autonomyBias"),
    verbosityBias: within("verbosityBias"),
    critiqueEnabled: state.critiqueEnabled === true,
  };
}

export type Direction = 1 | -1;

/** Null where the parameter is at its bound. */
export function moved(
  state: PolicyState,
  parameter: MovedParameter,
  direction: Direction,
  tier: ModelTier,
): PolicyState | null {
  const next = clamped({ ...state, [parameter]: state[parameter] + direction * STEPS[parameter] }, tier);
  return next[parameter] === state[parameter] ? null : next;
}

export function isSameState(a: PolicyState, b: PolicyState): boolean {
  return (
    a.critiqueEnabled === b.critiqueEnabled && MOVED_PARAMETERS.every((parameter) => a[parameter] === b[parameter])
  );
}

/** The terms of a contract that a PolicyState scales. */
export interface GovernedTerms {
  readonly maxFormatRetries: number;
  readonly maxInferences: number;
  readonly stepTimeoutMs: number;
  readonly totalTimeoutMs: number;
  readonly maxOutputTokens: number;
}
/** The most that each of them may be: the operator's ceilings, and the model's own limit. */
export type TermCeilings = Omit<GovernedTerms, "maxFormatRetries"> & {
  /** Less is too short for an answer. */
  readonly leastOutputTokens: number;
};

const VERBOSITY_FACTOR = 1.5;

/** What a run is drafted with under `state`, from what it would be drafted with under the neutral one. */
export function governedTerms(terms: GovernedTerms, state: PolicyState, ceilings: TermCeilings): GovernedTerms {
  const scale = (value: number, most: number): number =>
    Math.min(Math.max(1, Math.round(value * state.stepLimitMultiplier)), Math.max(value, most));
  const tokens = Math.round(terms.maxOutputTokens * VERBOSITY_FACTOR ** state.verbosityBias);
  const least = Math.min(ceilings.leastOutputTokens, terms.maxOutputTokens);
  return {
    maxFormatRetries: state.retryTolerance,
    // The review of an answer is one inference more.
    maxInferences: Math.min(
      scale(terms.maxInferences, ceilings.maxInferences) + (state.critiqueEnabled ? 1 : 0),
      Math.max(terms.maxInferences, ceilings.maxInferences),
    ),
    stepTimeoutMs: scale(terms.stepTimeoutMs, ceilings.stepTimeoutMs),
    totalTimeoutMs: scale(terms.totalTimeoutMs, ceilings.totalTimeoutMs),
    maxOutputTokens: Math.max(least, Math.min(tokens, Math.max(terms.maxOutputTokens, ceilings.maxOutputTokens))),
  };
}

/** Read-only calls that one turn may make, by autonomy bias; null: as many as the model proposes. */
const READ_ONLY_CALLS: Readonly<Record<number, number>> = { [-1]: 4, [-2]: 2, [-3]: 1 };

export function readOnlyCallsPerTurn({ autonomyBias }: Pick<PolicyState, "autonomyBias">): number | null {
  return READ_ONLY_CALLS[autonomyBias] ?? null;
}
