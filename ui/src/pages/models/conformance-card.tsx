import { Check } from "lucide-react";
import { useEffect } from "react";
import { useActing } from "../../data/acting.ts";
import { type AnswerOf, call } from "../../data/client.ts";
import { refresh, useRecord } from "../../data/records.ts";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { classes } from "../../parts/classes.ts";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorNote, Problem } from "../../parts/error-note.tsx";
import { Meter } from "../../parts/meter.tsx";
import { Mono } from "../../parts/mono.tsx";
import { Table } from "../../parts/table.tsx";
import { Tag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import styles from "./models.module.css";
import type { ModelList } from "./models-card.tsx";

type State = AnswerOf<"models.conformance">;
type Report = State["reports"][number];

const WHILE_RUNNING_MS = 1_000;

/** Which cases of the conformance corpus each model passed. Running it is offered, never done by itself: it costs. */
export function ConformanceCard({ list }: { list: ModelList }) {
  const { value, error } = useRecord("models.conformance", {});
  const acting = useActing();
  const running = value?.running ?? null;
  useEffect(() => {
    if (running === null) return;
    const timer = setInterval(() => refresh("models.conformance", {}), WHILE_RUNNING_MS);
    return () => clearInterval(timer);
  }, [running]);
  const run = (model: string): Promise<boolean> =>
    acting.run(model, async () => {
      await call("models.conformance.run", { model });
      refresh("models.conformance", {});
    });
  const blocked = acting.blocked ?? (running === null ? null : "One run at a time.");
  const reports = value?.reports ?? [];
  return (
    <Card title="Conformance">
      <p className={styles["lead"]}>
        The corpus puts a model into situations that go wrong in practice, and compares what came of it with what has
        to. It asks the model for real, so it costs what its runs cost.
      </p>
      {error !== null && <ErrorNote error={error} />}
      {acting.error !== null && <ErrorNote error={acting.error} />}
      {value?.last?.problem != null && (
        <Problem happened={`The run of ${value.last.model} was cut short: ${value.last.problem}`} />
      )}
      <div className={styles["actions"]}>
        {list.models
          .filter(({ problem }) => problem === null)
          .map(({ model }) => (
            <Button key={model} blocked={blocked} onClick={() => run(model)}>
              Run it with <Mono>{model}</Mono>
            </Button>
          ))}
      </div>
      {running !== null && <Running {...running} />}
      {value !== undefined && reports.length === 0 && running === null && (
        <EmptyState sentence="No model has run it yet." />
      )}
      {reports.length > 0 && <Matrix reports={reports} />}
    </Card>
  );
}

function Running({ model, done, total }: NonNullable<State["running"]>) {
  const text = `${done} of ${total} cases`;
  return (
    <div className={classes(styles["meter"], styles["running"])} role="status">
      <Mono>{model}</Mono>
      <Meter label={`Conformance of ${model}`} spent={done} limit={total} text={text} />
      <span>{text}</span>
    </div>
  );
}

function Matrix({ reports }: { reports: readonly Report[] }) {
  const cases = new Map(reports.flatMap(({ cases: all }) => all.map(({ id, name }) => [id, name] as const)));
  return (
    <>
      <ul className={styles["reports"]}>
        {reports.map(({ model, at, passed, failed }) => (
          <li key={model}>
            <Mono>{model}</Mono>: {passed} of {passed + failed} passed, <Time at={at} />
          </li>
        ))}
      </ul>
      <Table
        label="Conformance by case and model"
        isCompact
        rows={[...cases]}
        keyOf={([id]) => id}
        columns={[
          {
            title: "Case",
            draw: ([id, name]) => (
              <>
                <Mono>{id}</Mono> {name}
              </>
            ),
          },
          ...reports.map(({ model, cases: all }) => ({
            title: model,
            draw: ([id]: readonly [string, string]) => <Outcome found={all.find((each) => each.id === id)} />,
          })),
        ]}
      />
    </>
  );
}

function Outcome({ found }: { found: Report["cases"][number] | undefined }) {
  if (found === undefined) return <>not run</>;
  if (found.passed) return <Tag icon={<Check size={13} aria-hidden="true" />}>passed</Tag>;
  return (
    <span className={styles["outcome"]}>
      <Tag tone="fail">failed</Tag>
      <span className={styles["minor"]}>{found.problem ?? `${found.outcome} instead of ${found.expected}`}</span>
    </span>
  );
}
