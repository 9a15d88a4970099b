import { memo } from "react";
import { Link } from "wouter";
import type { AnswerOf } from "../../data/client.ts";
import { classes } from "../../parts/classes.ts";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Mono } from "../../parts/mono.tsx";
import { Seal } from "../../parts/seal.tsx";
import { Tag } from "../../parts/tag.tsx";
import { durationWords, Time } from "../../parts/time.tsx";
import styles from "./runs.module.css";
import { STATES } from "./states.ts";
import { StatusTag } from "./status-tag.tsx";

type RunRow = AnswerOf<"runs.list">["runs"][number];

/** A run in a list: the ring of its states, what was asked, and how it stands. `at`: its place in the list. */
export const RunLine = memo(({ run, at }: { run: RunRow; at?: number }) => {
  const { id, prompt, status, outcome, agent_id, provider, model, tool_calls, duration_ms, created_at, damage } = run;
  return (
    <Link href={`/runs/${id}`} className={styles["row"]} data-at={at}>
      <span
        className={classes(
          styles["ring"],
          status === "waiting_approval" && styles["waits"],
          status === "failed" && styles["failed"],
        )}
      >
        <Seal size={18} ticks={ticksOf(run)} />
      </span>
      <span className={styles["prompt"]}>
        {prompt === null || prompt === "" ? <Mono>{id}</Mono> : <HostileText text={prompt} />}
      </span>
      <span className={styles["status"]} title={outcome ?? undefined}>
        {damage === undefined ? <StatusTag status={status} isInList /> : <Tag tone="fail">damaged</Tag>}
      </span>
      <span className={styles["agent"]}>{agent_id}</span>
      <span className={styles["model"]}>{`${provider}:${model}`}</span>
      <span className={classes(styles["number"], styles["calls"])}>
        {tool_calls === 1 ? "1 call" : `${tool_calls} calls`}
      </span>
      <span className={classes(styles["number"], styles["took"])}>{durationWords(duration_ms)}</span>
      <span className={styles["when"]}>
        <Time at={created_at} />
      </span>
    </Link>
  );
});

/** The states it has been through: all of them when it has ended. */
function ticksOf({ state, status }: RunRow): number {
  return status === "queued" ? 0 : STATES.indexOf(state) + 1;
}
