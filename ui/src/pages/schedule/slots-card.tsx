import { Link } from "wouter";
import type { AnswerOf } from "../../data/client.ts";
import { useRecord } from "../../data/records.ts";
import { Card } from "../../parts/card.tsx";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { Mono, ShortId } from "../../parts/mono.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Table } from "../../parts/table.tsx";
import { Tag, type Tone } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";

type Slot = AnswerOf<"schedule.slots">["slots"][number];

const TONES: Readonly<Record<Slot["status"], Tone>> = { ran: "plain", skipped: "wait", missed: "fail" };
const SHOWN = 50;

/** What became of slots: of one job, or of all. */
export function SlotsCard({ jobId }: { jobId: string | null }) {
  const input = jobId === null ? { limit: SHOWN } : { limit: SHOWN, job_id: jobId };
  const { value, error } = useRecord("schedule.slots", input);
  return (
    <Card title={jobId === null ? "What became of slots" : `What became of the slots of ${jobId}`}>
      {error !== null && <ErrorNote error={error} />}
      {value === undefined && error === null && <Skeleton rows={3} />}
      {value?.slots.length === 0 && <EmptyState sentence="No slot was due yet." />}
      {value !== undefined && value.slots.length > 0 && (
        <Table
          label="Slots"
          rows={value.slots}
          keyOf={({ job_id, slot }) => `${job_id} ${slot}`}
          columns={[
            { title: "Due", draw: ({ due_at }) => <Time at={due_at} /> },
            { title: "Job", draw: ({ job_id }) => <Mono>{job_id}</Mono> },
            { title: "Slots", kind: "number", draw: ({ count }) => count },
            { title: "Became", draw: ({ status }) => <Tag tone={TONES[status]}>{status}</Tag> },
            { title: "Why, or its run", draw: Why },
          ]}
        />
      )}
    </Card>
  );
}

function Why({ reason, run_id }: Slot) {
  if (run_id === null) return reason;
  return (
    <Link href={`/runs/${run_id}`}>
      run <ShortId id={run_id} />
    </Link>
  );
}
