/** `surety budget`: what was spent on what, and how much of each limit is left. */

import { timestampOf } from "../../runtime/ports/clock.ts";
import type { SpendTotal } from "../../runtime/ports/store.ts";
import { EXIT, usageError } from "../boot-error.ts";
import type { Action } from "../command.ts";
import type { Budgets } from "../config/config.ts";
import { MICROUSD_PER_USD } from "../configured-purses.ts";
import { withHome } from "../read-home.ts";
import { systemClock } from "../system-clock.ts";

export const budget: Action = {
  summary: "show what was spent today, on what, and what is left",
  arguments: [],
  options: { day: { type: "string", value: "YYYY-MM-DD", summary: "another day (UTC)" } },
  examples: ["surety budget", "surety budget --day 2026-02-15 --json"],
  run: (context) =>
    withHome(context, async ({ store, config }) => {
      const { options, output } = context;
      const day = dayOf(options.text("day"));
      const totals = await store.spendTotals(day);
      const rows = totals.map((total) => ({ ...total, limits: limitsOf(total.scope, config.budgets) }));
      const result = {
        day,
        spent: rows.map(({ scope, microusd, tokens, limits }) => ({
          scope,
          usd: microusd / MICROUSD_PER_USD,
          tokens,
          limit_usd: limits.usd ?? null,
          limit_tokens: limits.tokens ?? null,
        })),
      };
      output.result(result, () => {
        if (rows.length === 0) output.line(`nothing was spent on ${day}`);
        else {
          output.table(
            ["ON", "USD", "OF", "TOKENS", "OF"],
            rows.map(({ scope, microusd, tokens, limits }) => [
              scope,
              (microusd / MICROUSD_PER_USD).toFixed(6),
              limits.usd === undefined ? "-" : String(limits.usd),
              String(tokens),
              limits.tokens === undefined ? "-" : String(limits.tokens),
            ]),
          );
        }
      });
      return EXIT.success;
    }),
};

function limitsOf(
  scope: SpendTotal["scope"],
  budgets: Budgets,
): { usd?: number | undefined; tokens?: number | undefined } {
  if (scope === "all") return { usd: budgets.perDayUsd, tokens: budgets.perDayTokens };
  return scope.startsWith("agent:") ? { usd: budgets.perAgentDayUsd } : {};
}

function dayOf(text: string | undefined): string {
  if (text === undefined) return timestampOf(systemClock.nowMs()).slice(0, 10);
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`));
  if (isDay) return text;
  throw usageError("--day is no day", "Write it as --day 2026-02-15.");
}
