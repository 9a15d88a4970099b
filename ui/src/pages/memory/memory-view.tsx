import { useState } from "react";
import { Link, useLocation } from "wouter";
import { useActing } from "../../data/acting.ts";
import { type AnswerOf, call } from "../../data/client.ts";
import { refresh, useRecord } from "../../data/records.ts";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { ShortId } from "../../parts/mono.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Tag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { AddMemory } from "./add-memory.tsx";
import styles from "./memory.module.css";
import { KINDS, Labels } from "./memory-facts.tsx";

type Memory = AnswerOf<"memory.show">;

/** One memory: what it says, where it comes from, and who cited it. */
export function MemoryView({ id }: { id: string }) {
  const { value: memory, error } = useRecord("memory.show", { id } as never);
  if (memory === undefined) return error === null ? <Skeleton rows={3} /> : <ErrorNote error={error} />;
  return (
    <>
      <What memory={memory} />
      <WhoCited memory={memory} />
      {memory.text !== null && memory.superseded_by === null && <Replace id={id} />}
    </>
  );
}

function What({ memory }: { memory: Memory }) {
  const { id, text, kind, tags, created_at, agent_id, forgotten_at, superseded_by, supersedes } = memory;
  return (
    <Card title={<ShortId id={id} />} aside={<Link href="/memory">All memories</Link>}>
      {text === null ? (
        <p className={styles["minor"]}>Forgotten {forgotten_at !== null && <Time at={forgotten_at} />}.</p>
      ) : (
        <p className={styles["whole"]}>
          <HostileText text={text} />
        </p>
      )}
      <p className={styles["minor"]}>
        {KINDS[kind]} <Time at={created_at} /> for {agent_id}, <Source memory={memory} /> <Labels memory={memory} />
        {tags.map((tag) => (
          <Tag key={tag}>{tag}</Tag>
        ))}
      </p>
      {supersedes !== null && (
        <p className={styles["minor"]}>
          It replaces <Link href={`/memory/${supersedes}`}>an earlier memory</Link>.
        </p>
      )}
      {superseded_by !== null && (
        <p className={styles["minor"]}>
          It was replaced by <Link href={`/memory/${superseded_by}`}>another memory</Link>.
        </p>
      )}
      {text !== null && <Forget memory={memory} />}
    </Card>
  );
}

function Source({ memory: { source, origin } }: { memory: Memory }) {
  if (source === null) return <HostileText text={`from ${origin}`} />;
  return (
    <>
      from{" "}
      <Link href={`/runs/${source.run_id}`}>
        run <ShortId id={source.run_id} />
      </Link>
      , entry {source.seq}
    </>
  );
}

function Forget({ memory: { id, supersedes } }: { memory: Memory }) {
  const [isAsked, setAsked] = useState(false);
  const acting = useActing();
  return (
    <>
      <div className={styles["acts"]}>
        <Button blocked={acting.blocked} onClick={() => setAsked(true)}>
          Forget…
        </Button>
      </div>
      {isAsked && (
        <Confirm
          title={supersedes === null ? "Forget this memory?" : "Forget this memory and what it replaced?"}
          verb="Forget"
          acting={acting}
          onClose={() => setAsked(false)}
          onConfirm={async () => {
            await call("memory.forget", { id } as never);
            refresh("memory.show", { id } as never);
          }}
        >
          <p>
            Chains stay valid. Backups and exported bundles keep their copies, and so do the runs that told it or were
            given it: forget those by themselves.
          </p>
        </Confirm>
      )}
    </>
  );
}

function WhoCited({ memory: { runs } }: { memory: Memory }) {
  return (
    <Card title="Who cited it">
      {runs.length === 0 && <EmptyState sentence="No run was given it yet." />}
      <ul className={styles["list"]} aria-label="Runs">
        {runs.map(({ run_id, cited }) => (
          <li key={run_id} className={styles["row"]}>
            <Link href={`/runs/${run_id}`}>
              run <ShortId id={run_id} />
            </Link>{" "}
            <span className={styles["minor"]}>{cited ? "cites it" : "was given it"}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Replace({ id }: { id: string }) {
  const [, navigate] = useLocation();
  return <AddMemory replaces={id} onAdded={(added) => navigate(`/memory/${added}`)} />;
}
