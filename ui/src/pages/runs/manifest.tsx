import { useState } from "react";
import type { AnswerOf } from "../../data/client.ts";
import { useRecord } from "../../data/records.ts";
import { ErrorNote } from "../../parts/error-note.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Hash, Mono } from "../../parts/mono.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Table } from "../../parts/table.tsx";
import styles from "./run.module.css";

type Layer = AnswerOf<"runs.manifest">["layers"][number];

/** What the model is sent, layer by layer; read when it is opened. */
export function Manifest({ id }: { id: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className={styles["manifest"]} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>What the model is sent</summary>
      {isOpen && <Layers id={id} />}
    </details>
  );
}

function Layers({ id }: { id: string }) {
  const { value, error } = useRecord("runs.manifest", { id } as never);
  if (error !== null) return <ErrorNote error={error} />;
  if (value === undefined) return <Skeleton rows={3} />;
  const { layers, tokens, left_out: left } = value;
  const leftOut = [
    ...(left.turns > 0 ? [`${left.turns} earlier turns`] : []),
    ...(left.calls > 0 ? [`${left.calls} earlier calls`] : []),
    ...(left.tools.length > 0 ? [`the tools ${left.tools.join(", ")}`] : []),
    ...(left.agent_file === undefined ? [] : [`AGENTS.md (${left.agent_file})`]),
  ];
  return (
    <>
      <Table
        label="Layers of the prompt, in their order"
        rows={layers.map((layer, at) => ({ ...layer, at }))}
        keyOf={({ at }) => String(at)}
        columns={[
          { title: "Layer", kind: "narrow", draw: ({ layer }) => <Mono>{layer}</Mono> },
          { title: "What", draw: (layer) => <HostileText text={contentOf(layer)} /> },
          {
            title: "Hash",
            kind: "narrow",
            draw: ({ sha256, ref }) => {
              const hash = sha256 ?? ref;
              return hash === undefined ? null : <Hash value={hash} />;
            },
          },
          { title: "Tokens", kind: "number", draw: (layer) => layer.tokens.toLocaleString("en") },
        ]}
      />
      <p className={styles["checked"]}>
        {tokens.toLocaleString("en")} tokens.{" "}
        {leftOut.length === 0 ? "Nothing was left out." : `Left out: ${leftOut.join("; ")}.`}
      </p>
    </>
  );
}

function contentOf({ layer, id, file, revision, turns, names, is_cut: isCut }: Layer): string {
  if (id !== undefined) return id;
  if (file !== undefined) return isCut === true ? `${file}, its beginning` : file;
  if (names !== undefined) return names.join(", ");
  if (turns !== undefined) return turns.length === 1 ? "1 earlier turn" : `${turns.length} earlier turns`;
  if (revision !== undefined) return `what the session remembers, revision ${revision}`;
  return layer === "user" ? "the message" : "";
}
