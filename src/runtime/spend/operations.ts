/** What was spent, and what of each limit is left: as `surety budget` shows it. */
import { Type } from "typebox";
import { Count, closed, nullable } from "../../kernel/vocabulary/schema-primitives.ts";
import { RunIdInput } from "../operations/input-schemas.ts";
import { operationsOver, refuse } from "../operations/operation.ts";
import { type Clock, timestampOf } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { type Budgets, MICROUSD_PER_USD } from "./budget-scopes.ts";
import { dailySpend, daysUpTo, isDay, limitsOfRun, MAX_DAYS } from "./daily-spend.ts";

export interface BudgetServices {
  readonly store: Pick<Store, "spendTotals" | "heldFor">;
  readonly clock: Pick<Clock, "nowMs">;
  readonly budgets: () => Budgets;
}

const Amount = Type.Number({ minimum: 0 });

const Scope = Type.Object({
  /** `all`, `agent:…`, `job:…` or `model:…`. */
  scope: Type.String(),
  /** With what is reserved. */
  usd: Amount,
  tokens: Count,
  reserved_usd: Amount,
  reserved_tokens: Count,
  limit_usd: nullable(Amount),
  limit_tokens: nullable(Count),
  left_usd: nullable(Amount),
  left_tokens: nullable(Count),
  over: Type.Boolean(),
});

const { json } = operationsOver<BudgetServices>();

export const budgetOperations = [
  json({
    name: "budget.get",
    method: "GET",
    path: "/api/budget",
    scope: "operate",
    summary:
      "shows what was spent, held and is left, by scope (`all`, agents, jobs, models) and day, newest first; `?days=` (1, at most 366) up to `?day=`",
    hasEtag: true,
    input: Type.Object(
      {
        day: Type.Optional(Type.String({ pattern: "^\\d{4}-\\d{2}-\\d{2}$" })),
        days: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_DAYS, default: 1 })),
      },
      closed,
    ),
    output: Type.Object({
      days: Type.Array(Type.Object({ day: Type.String(), spent: Type.Array(Scope) })),
      per_run: Type.Object({ limit_usd: nullable(Amount), limit_tokens: nullable(Count) }),
    }),
    async call({ store, clock, budgets }, { day = timestampOf(clock.nowMs()).slice(0, 10), days = 1 }) {
      if (!isDay(day)) return refuse("invalid.request", "day must be a date such as 2026-02-15");
      const limits = budgets();
      const shown = await Promise.all(daysUpTo(day, days).map((each) => dailySpend(store, each, limits)));
      return {
        ok: true,
        value: {
          days: shown.map(({ day: on, spent }) => ({ day: on, spent: [...spent] })),
          per_run: limitsOfRun(limits),
        },
      };
    },
  }),
  json({
    name: "budget.held",
    method: "GET",
    path: "/api/budget/runs/{id}",
    scope: "operate",
    summary: "shows what a run's inferences in progress may cost at most, which is held until they have ended",
    hasEtag: true,
    input: Type.Object({ id: RunIdInput }, closed),
    output: Type.Object({ held_usd: Amount, held_tokens: Count }),
    async call({ store }, { id }) {
      const held = await store.heldFor(id);
      if (held === null) return refuse("not_found", "no such run");
      return { ok: true, value: { held_usd: held.microusd / MICROUSD_PER_USD, held_tokens: held.tokens } };
    },
  }),
] as const;
