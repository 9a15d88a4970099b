/** The operator's limits (`budgets`) as purses: what a day's spending counts against, and how much fits in. */
import type { SpendScope } from "../runtime/ports/store.ts";
import type { BudgetScopes } from "../runtime/spend/spend-account.ts";
import type { Budgets } from "./config/config.ts";

export const MICROUSD_PER_USD = 1_000_000;

export function configuredBudgetScopes(budgets: Budgets): BudgetScopes {
  return {
    scopesFor: ({ agentId, model, jobId }, period): readonly SpendScope[] => [
      {
        scope: "all",
        period,
        limitMicrousd: microusd(budgets.perDayUsd),
        limitTokens: budgets.perDayTokens ?? null,
      },
      { scope: `agent:${agentId}`, period, limitMicrousd: microusd(budgets.perAgentDayUsd), limitTokens: null },
      ...(jobId === null
        ? []
        : [{ scope: `job:${jobId}`, period, limitMicrousd: microusd(budgets.perJobDayUsd), limitTokens: null }]),
      { scope: `model:${model}`, period, limitMicrousd: null, limitTokens: null },
    ],
  };
}

export function microusd(usd: number | undefined): number | null {
  return usd === undefined ? null : Math.round(usd * MICROUSD_PER_USD);
}
