import type { AnswerOf } from "../../data/client.ts";
import { classes } from "../../parts/classes.ts";
import type { RunFacts } from "../../verify/run-verification.ts";
import styles from "./run.module.css";
import { STATES } from "./states.ts";

interface StateTrackProps {
  readonly facts: RunFacts | null;
  readonly status: AnswerOf<"runs.get">["status"];
}

/** The seven states of the turn: those behind it, the one it is in, those to come. */
export function StateTrack({ facts, status }: StateTrackProps) {
  const state = facts?.state ?? "PRECHECK";
  const at = STATES.indexOf(state);
  const isWaiting = status === "waiting_approval";
  const hasFailed = status === "failed" && state === "TERMINATE";
  return (
    <div className={styles["track"]}>
      <ol aria-label={`States of turn ${facts?.turn ?? 0}`}>
        {STATES.map((each, index) => (
          <li
            key={each}
            aria-current={index === at ? "step" : undefined}
            className={classes(
              index < at && styles["behind"],
              index === at && styles["here"],
              index === at && isWaiting && styles["waits"],
              index === at && hasFailed && styles["failed"],
            )}
          >
            <span>{each}</span>
          </li>
        ))}
      </ol>
      <span className={styles["turn"]}>turn {facts?.turn ?? 0}</span>
    </div>
  );
}
