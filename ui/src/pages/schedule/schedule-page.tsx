/** Jobs: when each runs next, what became of its slots, and pausing, running and removing them. */
import { useState } from "react";
import { useActing } from "../../data/acting.ts";
import { call } from "../../data/client.ts";
import { refresh, useRecord } from "../../data/records.ts";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Tag } from "../../parts/tag.tsx";
import { useTitle } from "../../shell/page-title.ts";
import { AddJob } from "./add-job.tsx";
import { JobLine } from "./job-line.tsx";
import styles from "./schedule.module.css";
import { SlotsCard } from "./slots-card.tsx";

const JOBS = { limit: 500 } as const;

export function SchedulePage() {
  useTitle("Schedule");
  const { value, error } = useRecord("schedule.list", JOBS);
  const [shown, setShown] = useState<string | null>(null);
  // Those with a slot left first, the next one leading.
  const jobs = value?.jobs.toSorted((a, b) => ((a.next_run ?? "~") < (b.next_run ?? "~") ? -1 : 1));
  return (
    <PageFrame
      title="Schedule"
      about="Messages that the assistant gets by itself. Every time at which one is due ends once: it ran, was skipped for a reason, or was missed."
    >
      <Card title="Next" aside={value !== undefined && value.jobs.length > 0 && <PauseAll isPaused={value.paused} />}>
        {error !== null && <ErrorNote error={error} />}
        {value === undefined && error === null && <Skeleton rows={3} />}
        {jobs?.length === 0 && <EmptyState sentence="Nothing is scheduled." />}
        <ul className={styles["jobs"]}>
          {jobs?.map((job) => (
            <JobLine
              key={job.id}
              job={job}
              isAllPaused={value?.paused === true}
              isShown={shown === job.id}
              onShow={() => setShown(shown === job.id ? null : job.id)}
            />
          ))}
        </ul>
      </Card>
      <SlotsCard jobId={shown} />
      <AddJob />
    </PageFrame>
  );
}

function PauseAll({ isPaused }: { isPaused: boolean }) {
  const acting = useActing();
  const toggle = () =>
    acting.run("all", async () => {
      await call("schedule.control", { action: isPaused ? "resume" : "pause" });
      refresh("schedule.list", JOBS);
    });
  return (
    <span className={styles["aside"]}>
      {isPaused && <Tag tone="wait">all paused</Tag>}
      {acting.error !== null && <ErrorNote error={acting.error} />}
      <Button blocked={acting.blocked} onClick={toggle}>
        {acting.busy === null ? (isPaused ? "Resume all" : "Pause all") : "Sending…"}
      </Button>
    </span>
  );
}
