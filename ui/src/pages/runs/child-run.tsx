/** A delegated run inside its parent's timeline: who did what for how much, and on demand its own entries, verified here. */
import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { formatCost } from "../../../../src/kernel/vocabulary/format-usd.ts";
import { useRecord } from "../../data/records.ts";
import { classes } from "../../parts/classes.ts";
import { HostileText } from "../../parts/hostile-text.tsx";
import { useVerifiedRun } from "../../verify/use-verified-run.ts";
import styles from "./child-run.module.css";
import { StatusTag } from "./status-tag.tsx";

const inGroups = new Intl.NumberFormat("en");

export function ChildRun({ id }: { id: string }) {
  const { value: run } = useRecord("runs.get", { id } as never);
  const [isOpen, setOpen] = useState(false);
  const receipt = run?.receipt;
  return (
    <div className={styles["child"]}>
      <div className={styles["line"]}>
        <button
          type="button"
          className={styles["toggle"]}
          aria-expanded={isOpen}
          aria-label={`Entries of ${run?.agent_id ?? "the sub-agent"}, run ${id.slice(-4)}`}
          onClick={() => setOpen(!isOpen)}
        >
          <ChevronRight className={styles["arrow"]} size={14} aria-hidden="true" />
          <span className={styles["agent"]}>{run?.agent_id ?? "…"}</span>
        </button>
        {run !== undefined && <StatusTag status={run.status} outcome={run.outcome} isInList />}
        {receipt !== undefined && (
          <span className={styles["spent"]}>
            {inGroups.format(receipt.tokens)} tokens
            {receipt.cost_usd !== 0 && `, ${formatCost(receipt)}`}
          </span>
        )}
        <Link href={`/runs/${id}`} className={styles["link"]}>
          run {id.slice(-4)}
        </Link>
      </div>
      {isOpen && <ChildEntries id={id} />}
    </div>
  );
}

function ChildEntries({ id }: { id: string }) {
  const { rows, checked } = useVerifiedRun(id);
  return (
    <ol className={styles["entries"]} aria-label={`Entries of run ${id.slice(-4)}`}>
      {rows.map(({ seq, kind, what, note, tone }) => (
        <li key={seq} className={classes(styles["entry"], checked?.bad?.entry === seq && styles["bad"])}>
          <span className={styles["seq"]}>{seq}</span>
          <span className={styles["kind"]}>{kind === "run.created" ? "PRECHECK" : kind}</span>
          <span className={styles[tone]}>
            <HostileText text={what} />
            {note !== "" && (
              <span className={styles["note"]}>
                {" "}
                <HostileText text={note} />
              </span>
            )}
          </span>
        </li>
      ))}
    </ol>
  );
}
