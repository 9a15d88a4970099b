/**
 * Every purse that a run's spending counts against.
 *
 * C1. The operator's budgetScopes of the day, as configured.
 * C2. A run's own limit is a purse too, and holds for all that is spent below it: a delegated run counts against those
 *     of every run above it, and against the job that the first of them was started by.
 */
import type { ExecutionContract } from "../../kernel/contract/contract.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { SpendScope, StoredRun } from "../ports/store.ts";
import { contractOf } from "../run/read-run.ts";
import type { RunPorts } from "../run-ports.ts";

/** The source of a run that a job started is this and the job's id. */
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
