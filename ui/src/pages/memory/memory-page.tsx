import { useState } from "react";
import { Link } from "wouter";
import type { AnswerOf } from "../../data/client.ts";
import { useRecord } from "../../data/records.ts";
import { Card } from "../../parts/card.tsx";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { Field, FieldRow, Input } from "../../parts/field.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Tag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { useTitle } from "../../shell/page-title.ts";
import type { PageProps } from "../page.ts";
import { AddMemory } from "./add-memory.tsx";
import styles from "./memory.module.css";
import { KINDS, Labels } from "./memory-facts.tsx";
import { MemoryView } from "./memory-view.tsx";

type Memory = AnswerOf<"memory.list">["memories"][number];

const SHOWN = 50;

export function MemoryPage({ params }: PageProps) {
  useTitle("Memory");
  const id = params["id"];
  return (
    <PageFrame
      title="Memory"
      about="What agents remember beyond one conversation. What fits a message is given to the model, and an answer may cite it."
    >
      {id === undefined ? (
        <>
          <Found />
          <AddMemory />
        </>
      ) : (
        <MemoryView id={id} />
      )}
    </PageFrame>
  );
}

function Found() {
  const [words, setWords] = useState("");
  const { value, error } = useRecord("memory.list", { q: words, limit: SHOWN });
  const memories = value?.memories;
  return (
    <Card title={words.trim() === "" ? "Newest" : "Found"}>
      <FieldRow>
        <Field label="Search">
          {(control) => (
            <Input
              {...control}
              type="search"
              placeholder="Words of a memory"
              value={words}
              onChange={(event) => setWords(event.target.value)}
            />
          )}
        </Field>
      </FieldRow>
      {error !== null && <ErrorNote error={error} />}
      {memories === undefined && error === null && <Skeleton rows={3} />}
      {memories?.length === 0 && (
        <EmptyState
          sentence={
            words.trim() === ""
              ? "Nothing is remembered yet. Say: remember that the key is under the mat."
              : "No memory has these words."
          }
        />
      )}
      <ul className={styles["list"]} aria-label="Memories">
        {memories?.map((memory) => (
          <Row key={memory.id} memory={memory} />
        ))}
      </ul>
    </Card>
  );
}

const MAX_CHARS = 280;

function Row({ memory }: { memory: Memory }) {
  const { id, text, kind, tags, created_at, agent_id } = memory;
  const shown = text ?? "";
  return (
    <li className={styles["row"]}>
      <Link href={`/memory/${id}`} className={styles["text"]}>
        <HostileText text={shown.length > MAX_CHARS ? `${shown.slice(0, MAX_CHARS).toWellFormed()}…` : shown} />
      </Link>
      <p className={styles["minor"]}>
        {KINDS[kind]} <Time at={created_at} /> for {agent_id} <Labels memory={memory} />
        {tags.map((tag) => (
          <Tag key={tag}>{tag}</Tag>
        ))}
      </p>
    </li>
  );
}
