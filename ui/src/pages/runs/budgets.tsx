import { Card } from "../../parts/card.tsx";
import { Meter } from "../../parts/meter.tsx";
import { durationWords } from "../../parts/time.tsx";
import type { VerifiedRun } from "../../verify/use-verified-run.ts";
import { dollars } from "./dollars.ts";
import styles from "./run.module.css";

interface BudgetsProps {
  readonly id: string;
  readonly checked: VerifiedRun["checked"];
  readonly isOpen: boolean;
}

interface Line {
  readonly name: string;
  readonly spent: number;
  readonly limit: number | null;
  readonly words: string;
}

/** What it used of what its contract allows. */
export function Budgets({ checked }: BudgetsProps) {
  if (checked === null || checked.facts.limits === null) return null;
  const { budget, limits, elapsedMs } = checked.facts;
  const lines: readonly Line[] = [
    {
      name: "Money",
      spent: budget.spendMicrousd,
      limit: limits.maxSpendMicrousd,
      words: money(budget.spendMicrousd, limits.maxSpendMicrousd),
    },
    {
      name: "Tokens",
      spent: budget.tokens,
      limit: limits.maxTokensConsumed,
      words: `${count(budget.tokens)} of ${count(limits.maxTokensConsumed)}`,
    },
    {
      name: "Inferences",
      spent: budget.inferences,
      limit: limits.maxInferences,
      words: `${budget.inferences} of ${limits.maxInferences}`,
    },
    {
      name: "Time",
      spent: elapsedMs,
      limit: limits.totalTimeoutMs,
      words: `${durationWords(elapsedMs)} active of ${durationWords(limits.totalTimeoutMs)}`,
    },
  ];
  return (
    <Card title="Budgets">
      <dl className={styles["budgets"]}>
        {lines.map(({ name, spent, limit, words }) => [
          <dt key={name}>{name}</dt>,
          <dd key={`${name} meter`} className={styles["meter"]}>
            {limit !== null && <Meter label={name} spent={spent} limit={limit} text={words} />}
          </dd>,
          <dd key={`${name} words`} className={styles["amount"]}>
            {words}
          </dd>,
        ])}
      </dl>
    </Card>
  );
}

const count = (value: number): string => value.toLocaleString("en");

function money(spentMicrousd: number, limitMicrousd: number | null): string {
  const spent = dollars(spentMicrousd / 1e6);
  return limitMicrousd === null ? `${spent}, no limit of its own` : `${spent} of ${dollars(limitMicrousd / 1e6)}`;
}
