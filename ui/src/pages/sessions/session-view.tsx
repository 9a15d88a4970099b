import { ArrowLeft } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { navigate } from "wouter/use-browser-location";
import { useActing } from "../../data/acting.ts";
import { type AnswerOf, call } from "../../data/client.ts";
import { refresh, useRecord } from "../../data/records.ts";
import { saveFile } from "../../data/save-file.ts";
import { announce } from "../../parts/announcer.tsx";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Field, Input } from "../../parts/field.tsx";
import { Forget } from "../../parts/forget.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Mono, ShortId } from "../../parts/mono.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Tag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { useCommands } from "../../shell/page-title.ts";
import { exportJson, exportMarkdown } from "./export-session.ts";
import { messagesWords, SessionName } from "./session-name.tsx";
import styles from "./sessions.module.css";

type Session = AnswerOf<"sessions.get">;
type Checkpoint = Session["checkpoint"];

const MAX_TITLE_CHARS = 200;

/** One session: what it is, and what the assistant keeps of it between messages. */
export function SessionView({ id }: { id: string }) {
  const { value: session, error } = useRecord("sessions.get", { id, limit: 1 } as never);
  return (
    <article className={styles["view"]}>
      <Link href="/sessions" className={styles["back"]}>
        <ArrowLeft size={16} aria-hidden="true" /> All sessions
      </Link>
      {error !== null && (
        <>
          {session === undefined && <h1>Session</h1>}
          <ErrorNote error={error} />
        </>
      )}
      {session === undefined && error === null && (
        <>
          <h1 className="out-of-sight">Session</h1>
          <Skeleton rows={6} />
        </>
      )}
      {session !== undefined && <Shown session={session} />}
    </article>
  );
}

function Shown({ session }: { session: Session }) {
  const { id, metadata, checkpoint } = session;
  const [isRenaming, setRenaming] = useState(false);
  const acting = useActing();
  const compact = async (): Promise<void> => {
    const begun = await call("sessions.compact", { id } as never);
    announce("response" in begun ? begun.response : `Condensing ${begun.turns} turns in run ${begun.id.slice(-6)}.`);
  };
  const keep = (kind: "json" | "markdown") => async (): Promise<void> => {
    const [extension, type, write] =
      kind === "json"
        ? (["json", "application/json", exportJson] as const)
        : (["md", "text/markdown", exportMarkdown] as const);
    saveFile(`surety-session-${id.slice(-8)}.${extension}`, type, await write(session));
  };
  useCommands([
    { name: "Rename this session", run: () => setRenaming(true) },
    { name: "Export this session as JSON", run: () => acting.run("json", keep("json")) },
  ]);
  const words = (name: string, idle: string): string => (acting.busy === name ? "Sending…" : idle);
  return (
    <>
      <header className={styles["viewHead"]}>
        <h1>
          <SessionName row={session} />
        </h1>
        <Tag>{session.state}</Tag>
      </header>
      <div className={styles["actions"]}>
        <Link href={`/chat/${id}`}>Open in chat</Link>
        <Button blocked={acting.blocked} onClick={() => setRenaming(true)}>
          Rename
        </Button>
        <Button blocked={acting.blocked} onClick={() => acting.run("compact", compact)}>
          {words("compact", "Condense earlier turns")}
        </Button>
        <Button blocked={acting.blocked} onClick={() => acting.run("json", keep("json"))}>
          {words("json", "Export JSON")}
        </Button>
        <Button blocked={acting.blocked} onClick={() => acting.run("markdown", keep("markdown"))}>
          {words("markdown", "Export Markdown")}
        </Button>
        <Forget title="Forget this conversation?" blocked={null} forget={() => forgetSession(id)}>
          All that was said in it is removed for good, and it leaves the lists. Its runs stay, without their texts.
        </Forget>
      </div>
      {acting.error !== null && <ErrorNote error={acting.error} />}
      <Facts
        rows={[
          ["Messages", messagesWords(metadata.messageCount)],
          ["Last active", <Time key="at" at={metadata.lastActiveAt} />],
          ["Begun", <Time key="at" at={metadata.createdAt} />],
          ["Model", <Mono key="model">{metadata.model}</Mono>],
          ["Agent", <Mono key="agent">{session.agentId}</Mono>],
          ["Channel", session.channel],
          ["Sender", <HostileText key="sender" text={session.senderId} />],
          ["Key", <Mono key="key">{session.key}</Mono>],
          ["Id", <Mono key="id">{id}</Mono>],
        ]}
      />
      <CheckpointCard checkpoint={checkpoint} />
      <RunsCard ids={checkpoint.trace_tail} />
      {isRenaming && <RenameDialog session={session} onClose={() => setRenaming(false)} />}
    </>
  );
}

async function forgetSession(id: string) {
  const forgotten = await call("sessions.forget", { id } as never);
  refresh("sessions.list", {});
  navigate("/sessions");
  return forgotten;
}

function CheckpointCard({ checkpoint: { revision, updated_ts, state, summary } }: { checkpoint: Checkpoint }) {
  const lists: readonly (readonly [string, readonly string[]])[] = [
    ["Goals", state.goals],
    ["Open loops", state.open_loops],
    ["Decisions", state.decisions],
    ["Constraints", state.constraints],
    ["Capabilities granted", state.capabilities_granted],
    ["Capabilities asked for", state.capabilities_pending],
  ];
  const filled = lists.filter(([, texts]) => texts.length > 0);
  const isEmpty = filled.length === 0 && state.episode_summary === "" && summary === null;
  return (
    <Card
      title="Checkpoint"
      aside={
        <span className={styles["minor"]}>
          revision {revision}
          {updated_ts > 0 && (
            <>
              , <Time at={updated_ts * 1_000} />
            </>
          )}
        </span>
      }
    >
      {isEmpty && <p className={styles["minor"]}>Nothing is noted yet: the messages themselves are still in reach.</p>}
      <div className={styles["checkpoint"]}>
        {state.episode_summary !== "" && (
          <Noted title="What happened so far">
            <p className={styles["text"]}>
              <HostileText text={state.episode_summary} />
            </p>
          </Noted>
        )}
        {filled.map(([title, texts]) => (
          <Noted key={title} title={title}>
            <ul className={styles["noted"]}>
              {texts.map((text) => (
                <li key={text}>
                  <HostileText text={text} />
                </li>
              ))}
            </ul>
          </Noted>
        ))}
        {summary !== null && (
          <Noted title={`Summary of ${summary.turns} earlier turns`}>
            <p className={styles["text"]}>
              <HostileText text={summary.content} />
            </p>
            <p className={styles["minor"]}>
              {summary.tokens.toLocaleString("en")} tokens, written by <Mono>{summary.written_by}</Mono>,{" "}
              <Time at={summary.created_at} />
            </p>
          </Noted>
        )}
      </div>
    </Card>
  );
}

function Noted({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h3 className={styles["notedTitle"]}>{title}</h3>
      {children}
    </section>
  );
}

function RunsCard({ ids }: { ids: readonly string[] }) {
  if (ids.length === 0) return null;
  return (
    <Card title="Latest runs">
      <ul className={styles["runs"]}>
        {ids.toReversed().map((id) => (
          <li key={id}>
            <Link href={`/runs/${id}`}>
              run <ShortId id={id} />
            </Link>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function RenameDialog({ session: { id, title }, onClose }: { session: Session; onClose: () => void }) {
  const [wanted, setWanted] = useState(title ?? "");
  const acting = useActing();
  const next = wanted.trim() === "" ? null : wanted.trim();
  const rename = async (): Promise<void> => {
    const isDone = await acting.run("rename", async () => {
      await call("sessions.rename", { id, title: next } as never);
      refresh("sessions.get", { id, limit: 1 } as never);
    });
    if (isDone) onClose();
  };
  return (
    <Dialog
      title="Rename this session"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button tone="primary" blocked={acting.blocked} onClick={rename}>
            {acting.busy === null ? "Rename" : "Sending…"}
          </Button>
        </>
      }
    >
      <form
        className={styles["form"]}
        onSubmit={(event) => {
          event.preventDefault();
          if (acting.blocked === null) rename();
        }}
      >
        <Field label="Title" hint="Left empty, the session has no title.">
          {(control) => (
            <Input
              {...control}
              maxLength={MAX_TITLE_CHARS}
              value={wanted}
              onChange={(event) => setWanted(event.target.value)}
            />
          )}
        </Field>
        {acting.error !== null && <ErrorNote error={acting.error} />}
      </form>
    </Dialog>
  );
}
