/** What was spent on a day, by scope, against the limits: what `surety budget` shows. */
import { timestampOf } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import type { SpendTotal } from "../ports/stored-spend.ts";
import { type Budgets, configuredBudgetScopes, MICROUSD_PER_USD } from "./budget-scopes.ts";

export interface DailySpend {
  readonly day: string;
  readonly spent: readonly ScopeSpend[];
}

export interface ScopeSpend {
  /** `all`, `agent:…`, `job:…` or `model:…`. */
  readonly scope: string;
  /** Includes what is reserved. */
  readonly usd: number;
  readonly tokens: number;
  readonly reserved_usd: number;
  readonly reserved_tokens: number;
  readonly limit_usd: number | null;
  readonly limit_tokens: number | null;
  readonly left_usd: number | null;
  readonly left_tokens: number | null;
  /** An answer cost more than was reserved for it: no further request is sent under this limit. */
  readonly over: boolean;
}

export const MAX_DAYS = 366;
const DAY_MS = 86_400_000;
const FIRST_DAY = "1970-01-01";

export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text < FIRST_DAY) return false;
  const dayMs = Date.parse(`${text}T00:00:00Z`);
  // JavaScript reads a date that does not exist, such as 30 February, as another one.
  return !Number.isNaN(dayMs) && timestampOf(dayMs).startsWith(text);
}

/** Newest first. */
export function daysUpTo(day: string, count: number): readonly string[] {
  const lastMs = Date.parse(`${day}T00:00:00Z`);
  return Array.from({ length: count }, (_, ago) => timestampOf(lastMs - ago * DAY_MS).slice(0, 10));
}

export interface RunLimits {
  readonly limit_usd: number | null;
  readonly limit_tokens: number | null;
}

export function limitsOfRun({ perRunUsd, perRunTokens }: Budgets): RunLimits {
  return { limit_usd: perRunUsd ?? null, limit_tokens: perRunTokens ?? null };
}

/** A day with a limit has a row for it before anything was spent. */
export async function dailySpend(
  store: Pick<Store, "spendTotals">,
  day: string,
  budgets: Budgets,
): Promise<DailySpend> {
  const totals = await store.spendTotals(day);
  const nothing = { scope: "all", period: day, microusd: 0, tokens: 0, reserved: { microusd: 0, tokens: 0 } };
  const isDayLimited = budgets.perDayUsd !== undefined || budgets.perDayTokens !== undefined;
  const shown = totals.length === 0 && isDayLimited ? [nothing] : totals;
  return { day, spent: shown.map((total) => scopeSpend(total, budgets)) };
}

function scopeSpend({ scope, microusd, tokens, reserved }: SpendTotal, budgets: Budgets): ScopeSpend {
  const { limitMicrousd, limitTokens } = limitsOf(scope, budgets);
  return {
    scope,
    usd: microusd / MICROUSD_PER_USD,
    tokens,
    reserved_usd: reserved.microusd / MICROUSD_PER_USD,
    reserved_tokens: reserved.tokens,
    limit_usd: limitMicrousd === null ? null : limitMicrousd / MICROUSD_PER_USD,
    limit_tokens: limitTokens,
    left_usd: limitMicrousd === null ? null : Math.max(0, limitMicrousd - microusd) / MICROUSD_PER_USD,
    left_tokens: limitTokens === null ? null : Math.max(0, limitTokens - tokens),
    over: (limitMicrousd !== null && microusd > limitMicrousd) || (limitTokens !== null && tokens > limitTokens),
  };
}

/** From the scopes that runs are charged to, so that the limits shown are those enforced. */
function limitsOf(scope: string, budgets: Budgets) {
  const [kind = "", ...name] = scope.split(":");
  const id = name.join(":");
  const spender = {
    agentId: kind === "agent" ? id : "",
    model: kind === "model" ? id : "",
    jobId: kind === "job" ? id : null,
  };
  const scopes = configuredBudgetScopes(budgets).scopesFor(spender, "");
  return scopes.find((each) => each.scope === scope) ?? { limitMicrousd: null, limitTokens: null };
}
