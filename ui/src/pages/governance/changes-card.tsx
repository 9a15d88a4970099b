import { CircleCheck, FlaskConical, Hand, Undo2 } from "lucide-react";
import { Link } from "wouter";
import type { AnswerOf } from "../../data/client.ts";
import { useRecord } from "../../data/records.ts";
import { Card } from "../../parts/card.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { Mono } from "../../parts/mono.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Table } from "../../parts/table.tsx";
import { Tag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import type { Tier } from "./in-force-card.tsx";
import { whatChanged, whyChanged } from "./words.ts";

type Change = AnswerOf<"governance.history">["changes"][number];

const ICONS = {
  mutation: FlaskConical,
  kept: CircleCheck,
  withdrawn: Undo2,
  rollback: Undo2,
  critique: FlaskConical,
  operator: Hand,
} as const;

/** Every change of the tier, newest first, and the run that triggered it. */
export function ChangesCard({ tier }: { tier: Tier["tier"] }) {
  const { value, error } = useRecord("governance.history", { limit: 200 });
  const changes = value?.changes.filter((change) => change.tier === tier) ?? [];
  return (
    <Card title="Changes">
      {error !== null && <ErrorNote error={error} />}
      {value === undefined && error === null && <Skeleton rows={3} />}
      {value !== undefined && changes.length === 0 && <p>Nothing was changed yet.</p>}
      {changes.length > 0 && (
        <Table
          label="Changes of the policy state"
          rows={changes}
          keyOf={({ seq }) => String(seq)}
          columns={[
            { title: "When", kind: "narrow", draw: ({ at }) => <Time at={at} /> },
            { title: "Kind", kind: "narrow", draw: (change) => <Cause change={change} /> },
            { title: "What", draw: whatChanged },
            { title: "Why", draw: whyChanged },
            { title: "Run", kind: "narrow", draw: ({ run_id }) => <RunLink id={run_id} /> },
          ]}
        />
      )}
    </Card>
  );
}

function Cause({ change: { cause } }: { change: Change }) {
  const Icon = ICONS[cause];
  return <Tag icon={<Icon size={13} aria-hidden="true" />}>{cause}</Tag>;
}

export function RunLink({ id }: { id: string | null }) {
  if (id === null) return <>an operator</>;
  return (
    <Link href={`/runs/${id}`}>
      <Mono>{id.slice(-6)}</Mono>
    </Link>
  );
}
