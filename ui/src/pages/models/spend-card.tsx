import { useState } from "react";
import type { AnswerOf } from "../../data/client.ts";
import { useRecord } from "../../data/records.ts";
import { BarChart } from "../../parts/bar-chart.tsx";
import { Card } from "../../parts/card.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { Select } from "../../parts/field.tsx";
import { Meter } from "../../parts/meter.tsx";
import { Mono } from "../../parts/mono.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Table } from "../../parts/table.tsx";
import styles from "./models.module.css";

type Budget = AnswerOf<"budget.get">;
type Scope = Budget["days"][number]["spent"][number];

const PERIODS = [
  ["7", "7 days"],
  ["30", "30 days"],
  ["90", "90 days"],
] as const;
type Period = (typeof PERIODS)[number][0];

/** Spent, held and limit of today; and what the days before cost. */
export function SpendCard() {
  const [period, setPeriod] = useState<Period>("30");
  const { value, error } = useRecord("budget.get", { days: Number(period) });
  const { value: listed } = useRecord("models.list", {});
  const days = value?.days ?? [];
  // Their price is not configured: unknown is not zero.
  const unpriced = new Set(listed?.models.filter((model) => hasNoPrice(model)).map(({ model }) => model));
  const isUnknown = days.some(({ spent }) =>
    spent.some(({ scope, tokens }) => tokens > 0 && unpriced.has(modelOf(scope))),
  );
  const today = days[0]?.spent ?? [];
  const meters = today
    .filter(({ scope }) => !scope.startsWith("model:"))
    .sort((a, b) => Number(b.scope === "all") - Number(a.scope === "all"));
  return (
    <Card
      title="Spend"
      aside={
        <span className={styles["period"]}>
          <Select aria-label="Period" value={period} options={PERIODS} onChange={setPeriod} />
        </span>
      }
    >
      {error !== null && <ErrorNote error={error} />}
      {value === undefined && error === null && <Skeleton rows={3} />}
      <div className={styles["meters"]}>
        {meters.map((scope) => (
          <SpendMeter key={scope.scope} scope={scope} />
        ))}
      </div>
      {value !== undefined && (
        <>
          {days.some(({ spent }) => (allOf(spent)?.usd ?? 0) > 0) ? (
            <BarChart
              label="Dollars a day"
              bars={days.toReversed().map(({ day, spent }) => ({ name: day, value: allOf(spent)?.usd ?? 0 }))}
              words={dollarWords}
            />
          ) : (
            <p className={styles["nothing"]}>
              {isUnknown ? "No price is known for what was used" : "Nothing was spent"} in these {days.length} days.
            </p>
          )}
          <ByModel days={days} unpriced={unpriced} />
        </>
      )}
    </Card>
  );
}

function SpendMeter({ scope }: { scope: Scope }) {
  const { usd, reserved_usd, limit_usd, tokens, limit_tokens, over } = scope;
  const spent = Math.max(0, usd - reserved_usd);
  const held = reserved_usd > 0 ? ` + ${dollarWords(reserved_usd)} held` : "";
  const money = `${dollarWords(spent)}${held}${limit_usd === null ? ", no limit" : ` of ${dollarWords(limit_usd)}`}`;
  const used = `${tokens.toLocaleString("en")}${limit_tokens === null ? "" : ` of ${limit_tokens.toLocaleString("en")}`} tokens`;
  const name = scopeWords(scope.scope);
  return (
    <div className={styles["meter"]}>
      <span>{name} today</span>
      <span className={styles["bar"]}>
        {limit_usd === null ? (
          <span className={styles["minor"]}>No limit is set: {limitOf(scope.scope)} sets one.</span>
        ) : (
          <Meter label={`${name} today`} spent={spent} held={reserved_usd} limit={limit_usd} text={money} />
        )}
      </span>
      <span className={styles["amount"]}>
        {money}
        {over && ", over"}
        <span className={styles["minor"]}>{used}</span>
      </span>
    </div>
  );
}

function ByModel({ days, unpriced }: { days: Budget["days"]; unpriced: ReadonlySet<string> }) {
  const models = new Map<string, { usd: number; tokens: number }>();
  for (const { scope, usd, tokens } of days.flatMap(({ spent }) => spent)) {
    if (!scope.startsWith("model:")) continue;
    const name = modelOf(scope);
    const before = models.get(name) ?? { usd: 0, tokens: 0 };
    models.set(name, { usd: before.usd + usd, tokens: before.tokens + tokens });
  }
  if (models.size === 0) return null;
  return (
    <Table
      label="Spend by model"
      rows={[...models].sort(([, a], [, b]) => b.usd - a.usd)}
      keyOf={([name]) => name}
      columns={[
        { title: "Model", draw: ([name]) => <Mono>{name}</Mono> },
        { title: "Tokens", kind: "number", draw: ([, { tokens }]) => tokens.toLocaleString("en") },
        {
          title: "Cost",
          kind: "number",
          draw: ([name, { usd }]) => (usd === 0 && unpriced.has(name) ? "price unknown" : dollarWords(usd)),
        },
      ]}
    />
  );
}

function modelOf(scope: string): string {
  return scope.startsWith("model:") ? scope.slice("model:".length) : "";
}

function hasNoPrice({
  free,
  cost_per_1k_input,
  cost_per_1k_output,
}: AnswerOf<"models.list">["models"][number]): boolean {
  return !free && (cost_per_1k_input === null || cost_per_1k_output === null);
}

function allOf(spent: readonly Scope[]): Scope | undefined {
  return spent.find(({ scope }) => scope === "all");
}

function limitOf(scope: string): string {
  if (scope.startsWith("agent:")) return "budgets.perAgentDayUsd";
  return scope.startsWith("job:") ? "budgets.perJobDayUsd" : "budgets.perDayUsd";
}

function scopeWords(scope: string): string {
  if (scope === "all") return "Everything";
  const [kind = "", name = ""] = scope.split(/:(.*)/s);
  return `${kind.charAt(0).toUpperCase()}${kind.slice(1)} ${name}`;
}

function dollarWords(usd: number): string {
  return `$${usd === 0 || usd >= 0.1 ? usd.toFixed(2) : usd.toFixed(4)}`;
}
