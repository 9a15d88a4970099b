/**
 * The bounds of each number in a contract request, and the default output limit within them. Limits that depend on other
 * terms or the message (reserves, strict_mode, prompt length) are for preflight.
 */
import { DEFAULT_TERMS } from "../../kernel/contract/default-terms.ts";
import { MINIMUM_OUTPUT_TOKENS } from "../../kernel/contract/preflight.ts";
import type { ThinkingLevel } from "../../kernel/vocabulary/thinking-level.ts";
import { outputTokenLimit } from "../../runtime/model/output-token-limit.ts";
import type { ConfiguredModel } from "../../runtime/ports/model-backend.ts";
import { type Budgets, microusd } from "../../runtime/spend/budget-scopes.ts";
import type { ContractOverrides } from "./run-request.ts";

/** The operator's limits for runs. Null: not limited. */
export interface Ceilings {
  readonly maxInferences: number;
  readonly maxTokensConsumed: number | null;
  readonly maxOutputTokens: number;
  readonly stepTimeoutMs: number;
  readonly totalTimeoutMs: number;
  readonly maxSpendMicrousd: number | null;
  readonly daySpendMicrousd: number | null;
  readonly dayTokens: number | null;
}

const HOUR_MS = 3_600_000;
export const DEFAULT_CEILINGS: Ceilings = {
  maxInferences: 10_000,
  maxTokensConsumed: null,
  maxOutputTokens: 1_000_000,
  stepTimeoutMs: 24 * HOUR_MS,
  totalTimeoutMs: 24 * HOUR_MS,
  maxSpendMicrousd: null,
  daySpendMicrousd: null,
  dayTokens: null,
};

/** The operator's budgets as ceilings. */
export function ceilingsFor(budgets: Budgets): Ceilings {
  const dayLimits = [budgets.perDayUsd, budgets.perAgentDayUsd, budgets.perJobDayUsd].filter(
    (usd) => usd !== undefined,
  );
  return {
    ...DEFAULT_CEILINGS,
    maxSpendMicrousd: microusd(budgets.perRunUsd),
    maxTokensConsumed: budgets.perRunTokens ?? null,
    daySpendMicrousd: dayLimits.length === 0 ? null : microusd(Math.min(...dayLimits)),
    dayTokens: budgets.perDayTokens ?? null,
  };
}

/** Without a limit of the operator's. */
const MOST_TOKENS = 1_000_000_000;
/** A million dollars, the largest limit the config takes. */
const MOST_MICROUSD = 1_000_000_000_000;
/** Outputs are held in memory and sent to the model. */
const MOST_OUTPUT_BYTES = 1_048_576;

type Bounds = readonly [term: string, asked: number | undefined, least: number, most: number, because?: string];

export function boundsProblem(
  overrides: ContractOverrides,
  ceilings: Ceilings,
  { ref, contextWindow, maxOutputTokens }: Pick<ConfiguredModel, "ref" | "contextWindow" | "maxOutputTokens">,
): string | null {
  const { contextBudget, toolOutputBudget } = overrides;
  const mostOutput = Math.min(ceilings.maxOutputTokens, maxOutputTokens);
  const bounds: readonly Bounds[] = [
    ["max_inferences", overrides.maxInferences, 1, ceilings.maxInferences],
    [
      "max_tokens_consumed",
      overrides.maxTokensConsumed,
      MINIMUM_OUTPUT_TOKENS,
      ceilings.maxTokensConsumed ?? MOST_TOKENS,
    ],
    [
      "max_output_tokens",
      overrides.maxOutputTokens,
      MINIMUM_OUTPUT_TOKENS,
      mostOutput,
      mostOutput === maxOutputTokens ? `, the maxOutputTokens of ${ref}` : "",
    ],
    ["max_format_retries", overrides.maxFormatRetries, 0, 1],
    ["max_spend_microusd", overrides.maxSpendMicrousd, 1, ceilings.maxSpendMicrousd ?? MOST_MICROUSD],
    ["step_timeout_ms", overrides.stepTimeoutMs, 1, ceilings.stepTimeoutMs],
    ["total_timeout_ms", overrides.totalTimeoutMs, 1, ceilings.totalTimeoutMs],
    ["context_budget.context_window", contextBudget?.contextWindow, 1, contextWindow, `, the contextWindow of ${ref}`],
    ["tool_output_budget.max_bytes_per_call", toolOutputBudget?.maxBytesPerCall, 1, MOST_OUTPUT_BYTES],
  ];
  const broken = bounds.find(([, asked, least, most]) => asked !== undefined && !isWithin(asked, least, most));
  if (broken !== undefined) {
    const [term, , least, most, because = ""] = broken;
    return `${term} must be a whole number from ${least} to ${most}${because}`;
  }
  const ratio = contextBudget?.forceSynthesisAtRatio;
  if (ratio === undefined || (ratio > 0 && ratio <= 1)) return null;
  return "context_budget.force_synthesis_at_ratio must be above 0 and at most 1";
}

function isWithin(value: number, least: number, most: number): boolean {
  return Number.isSafeInteger(value) && value >= least && value <= most;
}

export type OutputLimits = Pick<Ceilings, "maxOutputTokens" | "maxSpendMicrousd" | "daySpendMicrousd" | "dayTokens">;

/** Inferences that fit into a limit at the same time. */
const SHARES_OF_A_LIMIT = 16;

/**
 * The output limit of one inference, reasoning and answer together: the model's configured maximum.
 *
 * The whole limit is reserved before a request is sent. Under a spending or daily token limit one inference takes only a
 * small share, so that parallel runs and the last runs of a day still get through; but never less than a page or two with
 * its reasoning.
 */
export function defaultOutputTokens(
  model: Pick<ConfiguredModel, "maxOutputTokens" | "thinking" | "price">,
  level: ThinkingLevel | null,
  limits: OutputLimits,
): number {
  const tokensFor = (spend: number | null): number =>
    spend === null || model.price === null ? Number.POSITIVE_INFINITY : (spend * 1000) / model.price.outputPer1k;
  const limit = Math.min(
    limits.dayTokens ?? Number.POSITIVE_INFINITY,
    tokensFor(limits.maxSpendMicrousd),
    tokensFor(limits.daySpendMicrousd),
  );
  const least = outputTokenLimit(DEFAULT_TERMS.maxOutputTokens, model, level);
  const share = Math.max(least, Math.floor(limit / SHARES_OF_A_LIMIT));
  return Math.min(share, limits.maxOutputTokens, model.maxOutputTokens);
}
