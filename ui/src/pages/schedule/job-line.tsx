import { useState } from "react";
import { Link } from "wouter";
import { useActing } from "../../data/acting.ts";
import { type AnswerOf, call } from "../../data/client.ts";
import { Button } from "../../parts/button.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Mono, ShortId } from "../../parts/mono.tsx";
import { Tag } from "../../parts/tag.tsx";
import { Time, useCountdown } from "../../parts/time.tsx";
import styles from "./schedule.module.css";

type Job = AnswerOf<"schedule.list">["jobs"][number];

interface JobLineProps {
  readonly job: Job;
  readonly isAllPaused: boolean;
  readonly isShown: boolean;
  readonly onShow: () => void;
}

export function JobLine({ job, isAllPaused, isShown, onShow }: JobLineProps) {
  const { id, schedule, message, agent_id, paused_at, next_run, slots, last_run_id, last_run } = job;
  const acting = useActing();
  const [isRemoving, setRemoving] = useState(false);
  const act = (verb: string, work: () => Promise<unknown>) => acting.run(verb, work);
  const hasEnded = next_run === null;
  return (
    <li className={styles["job"]}>
      <div className={styles["what"]}>
        <p className={styles["message"]}>
          {message === null ? "No message: its slots are skipped" : <HostileText text={message} />}
        </p>
        <p className={styles["minor"]}>
          <Mono>{schedule}</Mono> <Next job={job} isAllPaused={isAllPaused} />
          {agent_id === null && " No agent: its slots are skipped."}
        </p>
        <p className={styles["minor"]}>
          {slots.ran} ran, {slots.skipped} skipped, {slots.missed} missed.{" "}
          {last_run_id !== null && last_run !== null && (
            <>
              Last:{" "}
              <Link href={`/runs/${last_run_id}`}>
                run <ShortId id={last_run_id} />
              </Link>{" "}
              at <Time at={last_run} />
            </>
          )}
        </p>
      </div>
      <div className={styles["acts"]}>
        <Button aria-pressed={isShown} aria-label={`Slots of ${id}`} onClick={onShow}>
          Slots
        </Button>
        <Button
          blocked={acting.blocked}
          aria-label={`Run now: ${id}`}
          onClick={() => act("run", () => call("schedule.run", { id }))}
        >
          {acting.busy === "run" ? "Sending…" : "Run now"}
        </Button>
        {!hasEnded && (
          <Button
            blocked={acting.blocked}
            aria-label={`${paused_at === null ? "Pause" : "Resume"} ${id}`}
            onClick={() =>
              act("pause", () =>
                call("schedule.control", { action: paused_at === null ? "pause" : "resume", job_id: id }),
              )
            }
          >
            {acting.busy === "pause" ? "Sending…" : paused_at === null ? "Pause" : "Resume"}
          </Button>
        )}
        <Button blocked={acting.blocked} aria-label={`Remove ${id}`} onClick={() => setRemoving(true)}>
          Remove
        </Button>
      </div>
      {acting.error !== null && <ErrorNote error={acting.error} />}
      {isRemoving && (
        <Confirm
          title="Remove this job?"
          verb="Remove"
          acting={acting}
          onClose={() => setRemoving(false)}
          onConfirm={() => call("schedule.remove", { id })}
        >
          <p>It does not run again. Its runs, and what became of its slots, stay on record.</p>
        </Confirm>
      )}
    </li>
  );
}

function Next({ job: { next_run, paused_at }, isAllPaused }: { job: Job; isAllPaused: boolean }) {
  const left = useCountdown(paused_at === null && !isAllPaused ? next_run : null);
  if (next_run === null) return <Tag>has ended</Tag>;
  if (paused_at !== null) return <Tag tone="wait">paused</Tag>;
  return (
    <>
      next at <Time at={next_run} />
      {left !== null && ` (in ${left})`}
    </>
  );
}
