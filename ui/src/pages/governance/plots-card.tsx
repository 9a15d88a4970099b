import { useState } from "react";
import type { AnswerOf } from "../../data/client.ts";
import { useRecord } from "../../data/records.ts";
import { Card } from "../../parts/card.tsx";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { RunLink } from "./changes-card.tsx";
import { DominanceMark } from "./dominance-mark.tsx";
import styles from "./governance.module.css";
import type { Tier } from "./in-force-card.tsx";
import { type Mark, Plot } from "./plot.tsx";
import { signalWords } from "./words.ts";

type Run = AnswerOf<"governance.runs">["runs"][number];

const SHOWN_RUNS = 100;

const percent = (share: number): string => `${Math.round(share * 100)} %`;
const DIMENSIONS = [
  { name: "protocol_compliance", title: "Protocol compliance", most: 1, words: percent },
  { name: "retry_count", title: "Retries", most: 2, words: String },
  { name: "budget_efficiency", title: "Budget left", most: 1, words: percent },
  { name: "duplicate_call_ratio", title: "Duplicate calls", most: 1, words: percent },
  { name: "anomaly_ignored_count", title: "Anomalies ignored", most: 3, words: String },
  { name: "hard_failures", title: "Hard failures", most: 1, words: String },
] as const;

/** The last runs, oldest first: six numbers each, and where the policy state was changed in between. */
export function PlotsCard({ tier: { tier, runs: measured } }: { tier: Tier }) {
  const { value, error } = useRecord("governance.runs", { tier, limit: SHOWN_RUNS });
  const { value: history } = useRecord("governance.history", { limit: 200 });
  const [chosen, choose] = useState<number | null>(null);
  const runs = value?.runs.toReversed() ?? [];
  const at = Math.min(chosen ?? runs.length - 1, runs.length - 1);
  const run = runs[at];
  const marks = (history?.changes ?? []).flatMap((change): readonly Mark[] => {
    const index = runs.findIndex(({ run_id }) => run_id === change.run_id);
    return index < 0 ? [] : [{ at: index, cause: change.cause }];
  });
  return (
    <Card title="Ended runs">
      {error !== null && <ErrorNote error={error} />}
      {value === undefined && error === null && <Skeleton rows={4} />}
      {value !== undefined && run === undefined && (
        <EmptyState
          sentence={
            measured === 0
              ? "No run of this tier has been measured yet; one is a moment after it has ended."
              : "No runs."
          }
        />
      )}
      {run !== undefined && (
        <>
          <Legend hasMarks={marks.length > 0} />
          <div className={styles["plots"]}>
            {DIMENSIONS.map(({ name, title, most, words }) => (
              <Plot
                key={name}
                title={title}
                points={runs.map(({ run_id, vector, dominance }) => ({ id: run_id, value: vector[name], dominance }))}
                most={most}
                words={words}
                chosen={at}
                marks={marks}
              />
            ))}
          </div>
          <label className={styles["cursor"]}>
            <span>
              Run {at + 1} of {runs.length}
            </span>
            <input
              type="range"
              min={0}
              max={runs.length - 1}
              value={at}
              aria-valuetext={`run ${at + 1} of ${runs.length}, ${run.dominance}`}
              onChange={(event) => choose(Number(event.target.value))}
            />
          </label>
          <ChosenRun run={run} />
          <details>
            <summary>As a table</summary>
            <div className={styles["numbers"]} tabIndex={0} role="region" aria-label="Ended runs, the numbers">
              <Table
                label="Ended runs"
                rows={runs.toReversed()}
                keyOf={({ run_id }) => run_id}
                columns={[
                  { title: "Run", kind: "narrow", draw: ({ run_id }) => <RunLink id={run_id} /> },
                  { title: "Dominance", draw: ({ dominance }) => <DominanceMark dominance={dominance} /> },
                  ...DIMENSIONS.map(({ name, title, words }) => {
                    return { title, kind: "number" as const, draw: ({ vector }: Run) => words(vector[name]) };
                  }),
                ]}
              />
            </div>
          </details>
        </>
      )}
    </Card>
  );
}

function ChosenRun({ run: { run_id, ended_at, dominance, signals } }: { run: Run }) {
  return (
    <p className={styles["chosen"]}>
      <DominanceMark dominance={dominance} />
      <RunLink id={run_id} />
      <span>
        ended <Time at={ended_at} />
        {signals.length > 0 && `: ${signals.map(signalWords).join(", ")}`}
      </span>
    </p>
  );
}

function Legend({ hasMarks }: { hasMarks: boolean }) {
  return (
    <p className={styles["legend"]}>
      <DominanceMark dominance="GREEN" />
      <DominanceMark dominance="YELLOW" />
      <DominanceMark dominance="RED" />
      {hasMarks && <span>A dashed upright line is a change, ↩ a rollback.</span>}
    </p>
  );
}
