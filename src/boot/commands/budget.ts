/** `surety budget`: what was spent on what, and how much of each limit is left. */
import { plural } from "../../adapters/terminal/quantities.ts";
import { formatUsd } from "../../kernel/vocabulary/format-usd.ts";
import { timestampOf } from "../../runtime/ports/clock.ts";
import {
  type DailySpend,
  dailySpend,
  daysUpTo,
  isDay,
  limitsOfRun,
  MAX_DAYS,
  type RunLimits,
  type ScopeSpend,
} from "../../runtime/spend/daily-spend.ts";
import { usageError } from "../boot-error.ts";
import type { Action, CommandContext } from "../command.ts";
import { withHome } from "../read-home.ts";
import { systemClock } from "../system-clock.ts";

export const command: Action = {
  summary: "show what was spent today, on what, and what is left",
  options: {
    day: { type: "string", value: "YYYY-MM-DD", summary: "another day (UTC)" },
    days: { type: "string", value: "N", summary: "this many days up to that one, newest first" },
  },
  examples: ["surety budget", "surety budget --days 7", "surety budget --day 2026-02-15 --json"],
  run: (context) =>
    withHome(context, async ({ store, config: { budgets } }) => {
      const { options, output } = context;
      const day = dayOf(options.text("day"));
      const count = options.integer("days", { least: 1, most: MAX_DAYS, example: 7 });
      const spent: DailySpend[] = [];
      for (const each of daysUpTo(day, count ?? 1)) spent.push(await dailySpend(store, each, budgets));
      const [last] = spent;
      const perRun = limitsOfRun(budgets);
      output.result({ ...(count === undefined ? last : { days: spent }), per_run: perRun }, () => {
        for (const each of spent) printDay(context, each);
        printRunLimits(context, perRun);
      });
    }),
};

function printDay({ output }: CommandContext, { day, spent }: DailySpend): void {
  if (spent.length === 0) {
    output.line(`${day}: nothing spent`);
    return;
  }
  output.line(day);
  output.table(
    ["ON", "USD", "USD LIMIT", "USD LEFT", "TOKENS", "TOKEN LIMIT", "TOKENS LEFT", ""],
    spent.map((row) => [
      row.scope,
      formatUsd(row.usd),
      orNone(row.limit_usd, formatUsd),
      orNone(row.left_usd, formatUsd),
      String(row.tokens),
      orNone(row.limit_tokens, String),
      orNone(row.left_tokens, String),
      remarkOn(row),
    ]),
  );
}

function remarkOn({ over, reserved_usd, reserved_tokens }: ScopeSpend): string {
  const isReserved = reserved_usd > 0 || reserved_tokens > 0;
  const remarks = [
    ...(over ? ["over its limit: stopped"] : []),
    ...(isReserved ? [`including ${formatUsd(reserved_usd)} and ${plural(reserved_tokens, "token")} reserved`] : []),
  ];
  return remarks.join("; ");
}

function printRunLimits({ output }: CommandContext, { limit_usd, limit_tokens }: RunLimits): void {
  if (limit_usd !== null) output.line(`each run: at most ${formatUsd(limit_usd)} (budgets.perRunUsd)`);
  if (limit_tokens !== null) output.line(`each run: at most ${plural(limit_tokens, "token")} (budgets.perRunTokens)`);
}

function orNone(amount: number | null, format: (amount: number) => string): string {
  return amount === null ? "-" : format(amount);
}

function dayOf(text: string | undefined): string {
  if (text === undefined) return timestampOf(systemClock.nowMs()).slice(0, 10);
  if (isDay(text)) return text;
  throw usageError("--day must be a date", "Write it as --day 2026-02-15.");
}
