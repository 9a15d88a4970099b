/**
 * Explains which limit of money or tokens ended a run: its scope, what was needed, what was left, and where to set it.
 * Runs recorded before scopes were named get no explanation.
 */
import type { ExecutionContract } from "../../contract/contract.ts";
import { MINIMUM_OUTPUT_TOKENS } from "../../contract/preflight.ts";
import { formatUsd } from "../../vocabulary/format-usd.ts";
import type { Entry } from "../entry.ts";
import type { RefusedBy } from "../event.ts";
import { acceptedOf } from "./run-timeline.ts";

export type RunLimits = Pick<ExecutionContract, "maxTokensConsumed" | "maxSpendMicrousd">;

export function explainBudget(
  entries: readonly Entry[],
  reason: "budget.spend" | "budget.tokens",
  limits: RunLimits | null,
): string {
  const asked = entries.findLast((entry) => entry.kind === "INFER");
  if (asked?.result?.type === "model.failed" && asked.result.code === reason) {
    const { refusedBy } = asked.result;
    return refusedBy === undefined ? missingPrice(entries) : refusal(refusedBy, asked.runId);
  }
  const used = entries.findLast((entry) => entry.kind === "COMMIT")?.decided;
  if (used === undefined || limits === null) return "";
  const { budget, promptTokens } = used;
  if (reason === "budget.spend") return ownSpend(budget.spendMicrousd, limits);
  return ownTokens(budget.tokens, promptTokens + MINIMUM_OUTPUT_TOKENS, limits);
}

type Unit = RefusedBy["unit"];

const OWN_LIMIT: Readonly<Record<Unit, string>> = {
  microusd: "The run's own limit in USD (max_spend_microusd, or budgets.perRunUsd)",
  tokens: "The run's own limit in tokens (max_tokens_consumed, or budgets.perRunTokens)",
};

function refusal({ scope, unit, needed, left }: RefusedBy, runId: string): string {
  const rest = `the next inference needs ${amount(needed, unit)}, with ${amount(left, unit)} left`;
  return `${nameOf(scope, unit, runId)} does not cover it: ${rest}.`;
}

function nameOf(scope: string, unit: Unit, runId: string): string {
  const [kind = "", ...name] = scope.split(":");
  const id = name.join(":");
  const inUnit = unit === "microusd" ? "in USD" : "in tokens";
  const suffix = unit === "microusd" ? "Usd" : "Tokens";
  switch (kind) {
    case "all":
      return `The day's limit ${inUnit} (budgets.perDay${suffix})`;
    case "agent":
      return `The limit ${inUnit} of agent ${id} for a day (budgets.perAgentDay${suffix})`;
    case "job":
      return `The limit ${inUnit} of job ${id} for a day (budgets.perJobDay${suffix})`;
    case "run":
      return id === runId ? OWN_LIMIT[unit] : `The limit ${inUnit} of ${id}, which delegated this run,`;
    default:
      return `The limit ${inUnit} of ${scope}`;
  }
}

function missingPrice(entries: readonly Entry[]): string {
  if (acceptedOf(entries)?.price !== null) return "";
  return "A limit in USD applies, and the model has no price: set costPer1kInput and costPer1kOutput, or free: true.";
}

function ownSpend(spentMicrousd: number, { maxSpendMicrousd }: RunLimits): string {
  if (maxSpendMicrousd === null) return "";
  const [spent, most] = [amount(spentMicrousd, "microusd"), amount(maxSpendMicrousd, "microusd")];
  return `${OWN_LIMIT.microusd} is used up: it is ${most}, and ${spent} was spent.`;
}

function ownTokens(used: number, needed: number, { maxTokensConsumed }: RunLimits): string {
  const most = amount(maxTokensConsumed, "tokens");
  if (used >= maxTokensConsumed) return `${OWN_LIMIT.tokens} is used up: it is ${most}, and ${used} were used.`;
  const left = amount(maxTokensConsumed - used, "tokens");
  return `${OWN_LIMIT.tokens} does not cover it: the next inference needs ${needed} or more, with ${left} of ${maxTokensConsumed} left.`;
}

function amount(count: number, unit: Unit): string {
  if (unit === "microusd") return formatUsd(count / 1_000_000);
  return `${count} ${count === 1 ? "token" : "tokens"}`;
}
