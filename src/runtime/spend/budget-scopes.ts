/**
 * Every scope that a run's spending counts against (X-6): the operator's limits of the day, and the runs' own limits.
 *
 * A run's limit covers all that is spent below it: a delegated run counts against the limits of all its ancestors, and
 * against the job that started the first of them.
 */
import type { ExecutionContract } from "../../kernel/contract/contract.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { StoredRun } from "../ports/store.ts";
import type { SpendScope } from "../ports/stored-spend.ts";
import { contractOf } from "../run/read-run.ts";
import type { RunPorts } from "../run-ports.ts";
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

/** A run that a job started has the source `job:<id>`. */
const JOB_SOURCE = "job:";

export async function spendScopes(
  { store, budgetScopes }: Pick<RunPorts, "store" | "budgetScopes">,
  run: StoredRun,
  contract: ExecutionContract,
  day: string,
): Promise<readonly SpendScope[]> {
  const limits = [...limitOf(run.runId, contract)];
  let first = run;
  while (first.parentRunId !== null) {
    const parent = await store.findRun(first.parentRunId);
    if (parent === null) break;
    limits.push(...limitOf(parent.runId, contractOf(parent)));
    first = parent;
  }
  const jobId = first.source.startsWith(JOB_SOURCE) ? first.source.slice(JOB_SOURCE.length) : null;
  return [...budgetScopes.scopesFor({ agentId: run.agentId, model: run.model, jobId }, day), ...limits];
}

function limitOf(runId: RunId, { maxSpendMicrousd }: ExecutionContract): readonly SpendScope[] {
  if (maxSpendMicrousd === null) return [];
  return [{ scope: `run:${runId}`, period: "ever", limitMicrousd: maxSpendMicrousd, limitTokens: null }];
}
