/**
 * The home's limits of the day, for work on a store of its own (`surety conformance`). A reservation there is counted in the
 * home's store before the work learns that it was granted; settling or releasing it replaces the count. So a crash leaves it
 * counted as spent, as for a run.
 */
import type { CommitResult, Store, Write } from "../ports/store.ts";
import type { SpendAmount } from "../ports/stored-spend.ts";
import { type Budgets, MICROUSD_PER_USD, microusd } from "./budget-scopes.ts";

export interface DailyBudget {
  /** The limits, less what was spent today. */
  readonly left: Budgets;
  /** The same store; its spending is counted in the home's as well. */
  countingIn(store: Store): Store;
}

export function hasDayLimit({ perDayUsd, perAgentDayUsd, perDayTokens }: Budgets): boolean {
  return [perDayUsd, perAgentDayUsd, perDayTokens].some((limit) => limit !== undefined);
}

/** The caller holds the home's lock, so that no other process spends meanwhile. */
export async function openDailyBudget(
  home: Store,
  budgets: Budgets,
  agentId: string,
  day: string,
): Promise<DailyBudget> {
  const totals = await home.spendTotals(day);
  const spentOn = (scope: string): SpendAmount => totals.find((total) => total.scope === scope) ?? NOTHING;
  const { perDayUsd, perAgentDayUsd, perDayTokens } = budgets;
  const left = {
    ...budgets,
    perDayUsd: usdLeft(perDayUsd, spentOn("all")),
    perAgentDayUsd: usdLeft(perAgentDayUsd, spentOn(`agent:${agentId}`)),
    perDayTokens: perDayTokens === undefined ? undefined : Math.max(0, perDayTokens - spentOn("all").tokens),
  };
  return { left, countingIn: (store) => countingStore(store, home) };
}

const NOTHING: SpendAmount = { microusd: 0, tokens: 0 };

function usdLeft(limit: number | undefined, spent: SpendAmount): number | undefined {
  const limitMicrousd = microusd(limit);
  return limitMicrousd === null ? undefined : Math.max(0, limitMicrousd - spent.microusd) / MICROUSD_PER_USD;
}

type Reservation = Pick<Extract<Write, { type: "reserve-spend" }>, "runId" | "epoch" | "amount" | "scopes">;
type Count = Extract<Write, { type: "count-spend" }>;

function countingStore(apart: Store, home: Store): Store {
  /** Open reservations; null once settled, so that none is counted twice. */
  const reservations = new Map<string, Reservation | null>();
  const countsOf = (write: Write, { spend }: CommitResult): readonly Count[] => {
    if (write.type === "reserve-spend") {
      const key = keyOf(write);
      const held = reservations.get(key);
      if (spend?.granted !== true || held === null) return [];
      const before = held?.amount ?? NOTHING;
      const amount = larger(before, write.amount);
      reservations.set(key, { ...write, scopes: (held ?? write).scopes, amount });
      const more = { microusd: amount.microusd - before.microusd, tokens: amount.tokens - before.tokens };
      return held !== undefined && more.microusd === 0 && more.tokens === 0 ? [] : [countOf(held ?? write, more)];
    }
    if (write.type === "settle-spend") return replace(keyOf(write), write.amount);
    if (write.type === "count-spend") return [countOf(write, write.amount)];
    if (write.type !== "release-spend") return [];
    const open = [...reservations].filter(([, held]) => held?.runId === write.runId && held.epoch === write.epoch);
    return open.flatMap(([key]) => replace(key, NOTHING));
  };
  const replace = (key: string, { microusd, tokens }: SpendAmount): readonly Count[] => {
    const held = reservations.get(key) ?? null;
    if (held === null) return [];
    reservations.set(key, null);
    const { amount } = held;
    return [countOf(held, { microusd: microusd - amount.microusd, tokens: tokens - amount.tokens })];
  };
  return {
    ...apart,
    async commit(writes, urgency) {
      const result = await apart.commit(writes, urgency);
      const counts = writes.flatMap((write) => countsOf(write, result));
      if (counts.length > 0) await home.commit(counts, "barrier");
      return result;
    },
  };
}

function larger(a: SpendAmount, b: SpendAmount): SpendAmount {
  return { microusd: Math.max(a.microusd, b.microusd), tokens: Math.max(a.tokens, b.tokens) };
}

function keyOf({ runId, epoch, attempt }: Extract<Write, { type: "reserve-spend" | "settle-spend" }>): string {
  return `${runId} ${epoch} ${attempt}`;
}

/** Leaves out the run's own limit. */
function countOf({ scopes }: Pick<Count, "scopes">, amount: SpendAmount): Count {
  const ofDay = scopes.filter(({ period }) => period !== "ever");
  return { type: "count-spend", runId: null, amount, scopes: ofDay.map(({ scope, period }) => ({ scope, period })) };
}
