/** The operator's limits (`budgets`) as spend scopes: what a day's spending counts against, and how much each may spend. */
import type { SpendScope } from "../ports/store.ts";
import type { BudgetScopes } from "./spend-account.ts";

export interface Budgets {
  readonly perRunUsd?: number | undefined;
  readonly perDayUsd?: number | undefined;
  readonly perAgentDayUsd?: number | undefined;
  readonly perJobDayUsd?: number | undefined;
  readonly perRunTokens?: number | undefined;
  readonly perDayTokens?: number | undefined;
}

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
