import { useState } from "react";
import { Link } from "wouter";
import { useRecord } from "../../data/records.ts";
import type { ApprovalRecord } from "../../parts/approval-card/approval-record.ts";
import { titleOf } from "../../parts/approval-card/card-words.ts";
import { PlanView } from "../../parts/approval-card/plan-view.tsx";
import { Button } from "../../parts/button.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Time } from "../../parts/time.tsx";
import { hrefOf, PAGES } from "../all-pages.ts";
import styles from "./approvals.module.css";

const SHOWN = 20;
const RUNS = PAGES.find(({ path }) => path.startsWith("/runs"));

const WORDS: Readonly<Record<ApprovalRecord["state"], string>> = {
  pending: "waits",
  allowed: "allowed",
  consumed: "allowed",
  denied: "denied",
  expired: "lapsed",
  done: "marked done",
  retry: "retried",
  fail: "failed",
  forged: "changed from outside, counts for nothing",
};

/** What was decided, by whom and when; the last first. */
export function DecidedList() {
  const [limit, setLimit] = useState(SHOWN);
  const { value, error } = useRecord("approvals.list", { state: "decided", limit });
  const decided = value?.approvals ?? [];
  return (
    <section className={styles["decided"]} aria-labelledby="decided">
      <h2 id="decided">Decided</h2>
      {error !== null && <ErrorNote error={error} />}
      {value === undefined && error === null && <Skeleton rows={3} />}
      {value !== undefined && decided.length === 0 && <p className={styles["minor"]}>Nothing has been decided yet.</p>}
      {decided.length > 0 && (
        <ul>
          {decided.map((approval) => (
            <li key={approval.id}>
              <Decided approval={approval} />
            </li>
          ))}
        </ul>
      )}
      {decided.length >= limit && <Button onClick={() => setLimit(limit + 50)}>Show more</Button>}
    </section>
  );
}

function Decided({ approval }: { approval: ApprovalRecord }) {
  const { state, decided_by, decided_at, plan, run_id } = approval;
  const { before, named } = titleOf(approval);
  return (
    <details>
      <summary>
        <span className={styles["title"]}>
          {before}
          <HostileText text={named} isDeciding />
        </span>
        <span className={styles["minor"]}>
          {WORDS[state]}
          {decided_by !== null && decided_by !== "system" && (
            <>
              {" by "}
              {decided_by === "operator" ? "you" : <HostileText text={decided_by} />}
            </>
          )}
          {decided_at !== null && (
            <>
              {", "}
              <Time at={decided_at} />
            </>
          )}
        </span>
      </summary>
      <div className={styles["opened"]}>
        <PlanView text={plan} />
        {RUNS !== undefined && <Link href={`${hrefOf(RUNS)}/${run_id}`}>Its run</Link>}
      </div>
    </details>
  );
}
