/**
 * `surety budget`: what was spent on what, and how much of each limit is left.
 *
 * B1. What is reserved and not settled yet is shown as spent, as it counts, and as reserved besides.
 * B2. A limit that was passed, because an answer cost more than was reserved for it, is named: nothing more goes out
 *     under it.
 * B3. A limit of the day is shown before anything was spent under it, and so is what any one run may use.
 */
import { plural } from "../../adapters/terminal/quantities.ts";
import { formatUsd } from "../../kernel/vocabulary/format-usd.ts";
import { timestampOf } from "../../runtime/ports/clock.ts";
import type { SpendTotal, Store } from "../../runtime/ports/store.ts";
import { type Budgets, configuredBudgetScopes, MICROUSD_PER_USD } from "../../runtime/spend/budget-scopes.ts";
import { EXIT, usageError } from "../boot-error.ts";
import type { Action, CommandContext } from "../command.ts";
import { withHome } from "../read-home.ts";
import { systemClock } from "../system-clock.ts";

const DAY_MS = 86_400_000;
const MAX_DAYS = 366;
/** Nothing was spent before, and the days up to it are written with as many digits. */
const FIRST_DAY = "1970-01-01";

export const budget: Action = {
  summary: "show what was spent today, on what, and what is left",
  arguments: [],
  options: {
    day: { type: "string", value: "YYYY-MM-DD", summary: "another day (UTC)" },
    days: { type: "string", value: "N", summary: "so many days up to that one, newest first" },
  },
  examples: ["surety budget", "surety budget --days 7", "surety budget --day 2026-02-15 --json"],
  run: (context) =>
    withHome(context, async ({ store, config: { budgets } }) => {
      const { options, output } = context;
      const day = dayOf(options.text("day"));
      const count = options.integer("days", { least: 1, most: MAX_DAYS, example: 7 });
      const spent: DaySpent[] = [];
      for (const each of daysUpTo(day, count ?? 1)) spent.push(await spentOn(store, each, budgets));
      const [last] = spent;
      const perRun = limitsOfRun(budgets);
      output.result({ ...(count === undefined ? last : { days: spent }), per_run: perRun }, () => {
        for (const each of spent) printDay(context, each);
        printRunLimits(context, perRun);
      });
      return EXIT.success;
    }),
};

interface DaySpent {
  readonly day: string;
  readonly spent: readonly {
    /** `all`, `agent:…`, `job:…` or `model:…`. */
    readonly scope: string;
    readonly usd: number;
    readonly tokens: number;
    /** Of that, for inferences under way. */
    readonly reserved_usd: number;
    readonly reserved_tokens: number;
    readonly limit_usd: number | null;
    readonly limit_tokens: number | null;
    readonly left_usd: number | null;
    readonly left_tokens: number | null;
    readonly over: boolean;
  }[];
}

async function spentOn(store: Store, day: string, budgets: Budgets): Promise<DaySpent> {
  const totals = await store.spendTotals(day);
  const nothing = { scope: "all", period: day, microusd: 0, tokens: 0, reserved: { microusd: 0, tokens: 0 } };
  const isDayLimited = budgets.perDayUsd !== undefined || budgets.perDayTokens !== undefined;
  const shown = totals.length === 0 && isDayLimited ? [nothing] : totals;
  return { day, spent: shown.map((total) => rowOf(total, budgets)) };
}

interface RunLimits {
  readonly limit_usd: number | null;
  readonly limit_tokens: number | null;
}

function limitsOfRun({ perRunUsd, perRunTokens }: Budgets): RunLimits {
  return { limit_usd: perRunUsd ?? null, limit_tokens: perRunTokens ?? null };
}

function rowOf(total: SpendTotal, budgets: Budgets): DaySpent["spent"][number] {
  const { usd: limitMicrousd, tokens: limitTokens } = limitsOf(total.scope, budgets);
  return {
    scope: total.scope,
    usd: total.microusd / MICROUSD_PER_USD,
    tokens: total.tokens,
    reserved_usd: total.reserved.microusd / MICROUSD_PER_USD,
    reserved_tokens: total.reserved.tokens,
    limit_usd: limitMicrousd === null ? null : limitMicrousd / MICROUSD_PER_USD,
    limit_tokens: limitTokens,
    left_usd: limitMicrousd === null ? null : Math.max(0, limitMicrousd - total.microusd) / MICROUSD_PER_USD,
    left_tokens: limitTokens === null ? null : Math.max(0, limitTokens - total.tokens),
    over: isOver(total.microusd, limitMicrousd) || isOver(total.tokens, limitTokens),
  };
}

function isOver(spent: number, limit: number | null): boolean {
  return limit !== null && spent > limit;
}

/** By the purses themselves, so that what is shown is what is held. */
function limitsOf(scope: string, budgets: Budgets): { readonly usd: number | null; readonly tokens: number | null } {
  const [kind = "", ...name] = scope.split(":");
  const id = name.join(":");
  const spender = {
    agentId: kind === "agent" ? id : "",
    model: kind === "model" ? id : "",
    jobId: kind === "job" ? id : null,
  };
  const purse = configuredBudgetScopes(budgets)
    .scopesFor(spender, "")
    .find((each) => each.scope === scope);
  return { usd: purse?.limitMicrousd ?? null, tokens: purse?.limitTokens ?? null };
}

function printDay({ output }: CommandContext, { day, spent }: DaySpent): void {
  if (spent.length === 0) {
    output.line(`nothing was spent on ${day}`);
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

function remarkOn({ over, reserved_usd, reserved_tokens }: DaySpent["spent"][number]): string {
  const isReserved = reserved_usd > 0 || reserved_tokens > 0;
  const remarks = [
    ...(over ? ["over its limit: stopped"] : []),
    ...(isReserved ? [`${formatUsd(reserved_usd)} and ${plural(reserved_tokens, "token")} of it reserved`] : []),
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

function daysUpTo(day: string, count: number): readonly string[] {
  const lastMs = Date.parse(`${day}T00:00:00Z`);
  return Array.from({ length: count }, (_, ago) => timestampOf(lastMs - ago * DAY_MS).slice(0, 10));
}

function dayOf(text: string | undefined): string {
  if (text === undefined) return timestampOf(systemClock.nowMs()).slice(0, 10);
  if (/^\d{4}-\d{2}-\d{2}$/.test(text) && text >= FIRST_DAY) {
    const dayMs = Date.parse(`${text}T00:00:00Z`);
    // A date that does not exist, such as the 30th of February, is read as another one or as none.
    if (!Number.isNaN(dayMs) && timestampOf(dayMs).startsWith(text)) return text;
  }
  throw usageError("--day is no day", "Write it as --day 2026-02-15.");
}
