/**
 * The limits of a home's day, for work that is done on a store of its own.
 *
 * D1. Nobody else spends from the purse while it is open: it holds the home's lock. Where another process has it, there is
 *     no purse, and no work under a limit either.
 * D2. What is reserved there is counted here before anybody hears that it was granted; what is settled or given back
 *     there replaces it. So what a crash leaves behind counts as spent, as it does for a run.
 */
import { openSqliteStore } from "../adapters/store-sqlite/open-sqlite-store.ts";
import { timestampOf } from "../runtime/ports/clock.ts";
import { type CommitResult, type SpendAmount, type Store, StoreError, type Write } from "../runtime/ports/store.ts";
import { BootError } from "./boot-error.ts";
import { MICROUSD_PER_USD, microusd } from "./budget-scopes.ts";
import type { Budgets } from "./config/config.ts";
import type { Home } from "./home.ts";
import { systemClock } from "./system-clock.ts";
import { systemRandomness } from "./system-randomness.ts";

export interface DailyBudget {
  /** The limits, less what was spent today. */
  readonly left: Budgets;
  /** The same store, whose spending counts here too. */
  countingIn(store: Store): Store;
  close(): Promise<void>;
}

/** Null where another process has it and there is no limit to hold. */
export async function openDailyBudget(home: Home, budgets: Budgets, agentId: string): Promise<DailyBudget | null> {
  const store = await openUnlessInUse(home, budgets);
  if (store === null) return null;
  try {
    const totals = await store.spendTotals(timestampOf(systemClock.nowMs()).slice(0, 10));
    const spentOn = (scope: string): SpendAmount => totals.find((total) => total.scope === scope) ?? NOTHING;
    const { perDayUsd, perAgentDayUsd, perDayTokens } = budgets;
    const left = {
      ...budgets,
      perDayUsd: usdLeft(perDayUsd, spentOn("all")),
      perAgentDayUsd: usdLeft(perAgentDayUsd, spentOn(`agent:${agentId}`)),
      perDayTokens: perDayTokens === undefined ? undefined : Math.max(0, perDayTokens - spentOn("all").tokens),
    };
    return { left, countingIn: (apart) => countingStore(apart, store), close: () => store.close() };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function openUnlessInUse(home: Home, budgets: Budgets): Promise<Store | null> {
  try {
    return await openSqliteStore({ home: home.directory, clock: systemClock, random: systemRandomness });
  } catch (error) {
    if (!(error instanceof StoreError && error.code === "store.in-use")) throw error;
    const { perDayUsd, perAgentDayUsd, perDayTokens } = budgets;
    if ([perDayUsd, perAgentDayUsd, perDayTokens].every((limit) => limit === undefined)) return null;
    throw heldElsewhere(error);
  }
}

function heldElsewhere(cause: unknown): BootError {
  const message = "another surety process works on this home, and only it can hold the limits of the day";
  return new BootError("store.in-use", message, "Stop it first, or use another --home.", { cause });
}

const NOTHING: SpendAmount = { microusd: 0, tokens: 0 };

function usdLeft(limit: number | undefined, spent: SpendAmount): number | undefined {
  const limitMicrousd = microusd(limit);
  return limitMicrousd === null ? undefined : Math.max(0, limitMicrousd - spent.microusd) / MICROUSD_PER_USD;
}

type Reservation = Pick<Extract<Write, { type: "reserve-spend" }>, "runId" | "epoch" | "amount" | "scopes">;
type Count = Extract<Write, { type: "count-spend" }>;

function countingStore(apart: Store, home: Store): Store {
  /** What is reserved and not settled; null for what is settled, and not counted again. */
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

/** A run's own limit stays with the run. */
function countOf({ scopes }: Pick<Count, "scopes">, amount: SpendAmount): Count {
  const ofDay = scopes.filter(({ period }) => period !== "ever");
  return { type: "count-spend", runId: null, amount, scopes: ofDay.map(({ scope, period }) => ({ scope, period })) };
}
