import type { AnswerOf } from "../../data/client.ts";
import { classes } from "../../parts/classes.ts";
import type { RunFacts } from "../../verify/run-verification.ts";
import styles from "./run.module.css";
import { STATES } from "./states.ts";

interface StateTrackProps {
  readonly facts: RunFacts | null;
  readonly status: AnswerOf<"runs.get">["status"];
}

/** The seven states of the turn: those it has been through, those it left out, the one it is in, those to come. */
export function StateTrack({ facts, status }: StateTrackProps) {
  const state = facts?.state ?? "PRECHECK";
  const at = STATES.indexOf(state);
  const isWaiting = status === "waiting_approval";
  const visited = new Set<string>(facts?.visited);
  const hasFailed = status === "failed" && state === "TERMINATE";
  return (
    <div className={styles["track"]}>
      <ol aria-label={`States of turn ${facts?.turn ?? 0}`}>
        {STATES.map((each, index) => (
          <li
            key={each}
            aria-current={index === at ? "step" : undefined}
            className={classes(
              index < at && styles[visited.has(each) ? "behind" : "skipped"],
              index === at && styles["here"],
              index === at && isWaiting && styles["waits"],
              index === at && hasFailed && styles["failed"],
            )}
          >
            <span>{each}</span>
            {index < at && !visited.has(each) && <span className="out-of-sight"> left out</span>}
          </li>
        ))}
      </ol>
      <span className={styles["turn"]}>turn {facts?.turn ?? 0}</span>
    </div>
  );
}
