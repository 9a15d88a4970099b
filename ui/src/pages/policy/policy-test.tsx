import { Link } from "wouter";
import type { AnswerOf } from "../../data/client.ts";
import { Mono, ShortId } from "../../parts/mono.tsx";
import { Table } from "../../parts/table.tsx";
import styles from "./policy.module.css";
import { DecisionTag } from "./policy-grid.tsx";

export type Tested = AnswerOf<"policy.test">;

const SHOWN_CALLS = 50;

/** What other rules would have decided about the calls that were recorded. */
export function WhatIf({ answer }: { answer: Tested }) {
  const { runs, total, changed, stops_asking, starts_asking, calls, unreadable, complete } = answer;
  const differs = calls.length > 0;
  return (
    <section className={styles["answer"]} aria-label="What it would change" role="status">
      <p className={styles["reasonHead"]}>
        <strong>
          {differs
            ? `${callsWords(calls.length)} of ${total.toLocaleString("en")} would be decided otherwise.`
            : `Nothing that was recorded would be decided otherwise: ${callsWords(total)} looked at.`}
        </strong>
      </p>
      <p className={styles["minor"]}>
        Over {complete ? "all" : "the newest"} {runs.toLocaleString("en")} recorded runs. {stops_asking} would no longer
        ask, {starts_asking} would ask, {changed} would end another way. Calls that never came about are not in it.
      </p>
      {unreadable.length > 0 && <p>{unreadable.length} runs could not be read: surety verify --home says why.</p>}
      {differs && (
        <Table
          label="Calls that would be decided otherwise"
          isCompact
          rows={calls.slice(0, SHOWN_CALLS)}
          keyOf={({ run_id, entry, call_id }) => `${run_id} ${entry} ${call_id}`}
          columns={[
            {
              title: "Run",
              draw: ({ run_id }) => (
                <Link href={`/runs/${run_id}`}>
                  <ShortId id={run_id} />
                </Link>
              ),
            },
            { title: "Tool", draw: ({ tool }) => <Mono>{tool}</Mono> },
            { title: "Then", draw: ({ policy_then }) => <DecisionTag decision={policy_then} /> },
            { title: "Now", draw: ({ now }) => <DecisionTag decision={now} /> },
            { title: "By", draw: ({ rule }) => <Mono>{rule}</Mono> },
          ]}
        />
      )}
      {calls.length > SHOWN_CALLS && <p className={styles["minor"]}>The first {SHOWN_CALLS} are shown.</p>}
    </section>
  );
}

function callsWords(count: number): string {
  return count === 1 ? "1 call" : `${count.toLocaleString("en")} calls`;
}
