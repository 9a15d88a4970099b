import { useRecord } from "../../data/records.ts";
import { Card } from "../../parts/card.tsx";
import { dollars } from "../../parts/dollars.ts";
import { Meter } from "../../parts/meter.tsx";
import { durationWords } from "../../parts/time.tsx";
import type { VerifiedRun } from "../../verify/use-verified-run.ts";
import styles from "./run.module.css";

interface BudgetsProps {
  readonly id: string;
  readonly checked: VerifiedRun["checked"];
  readonly isOpen: boolean;
}

interface Line {
  readonly name: string;
  readonly spent: number;
  readonly held?: number;
  readonly limit: number | null;
  readonly words: string;
}

/** What it used of what its contract allows. */
export function Budgets({ id, checked, isOpen }: BudgetsProps) {
  const { value: held } = useRecord("budget.held", isOpen ? ({ id } as never) : null);
  if (checked === null || checked.facts.limits === null) return null;
  const { budget, limits, elapsedMs } = checked.facts;
  const lines: readonly Line[] = [
    {
      name: "Money",
      spent: budget.spendMicrousd / 1e6,
      held: (isOpen && held?.held_usd) || 0,
      limit: limits.maxSpendMicrousd === null ? null : limits.maxSpendMicrousd / 1e6,
      words: money(budget.spendMicrousd / 1e6, (isOpen && held?.held_usd) || 0, limits.maxSpendMicrousd),
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
        {lines.map(({ name, spent, held: reserved = 0, limit, words }) => [
          <dt key={name}>{name}</dt>,
          <dd key={`${name} meter`} className={styles["meter"]}>
            {limit !== null && <Meter label={name} spent={spent} held={reserved} limit={limit} text={words} />}
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

function money(spentUsd: number, heldUsd: number, limitMicrousd: number | null): string {
  const spent = `${dollars(spentUsd)}${heldUsd > 0 ? ` + ${dollars(heldUsd)} held` : ""}`;
  return limitMicrousd === null ? `${spent}, no limit of its own` : `${spent} of ${dollars(limitMicrousd / 1e6)}`;
}
