import { Search } from "lucide-react";
import { useDeferredValue, useState } from "react";
import { Link, useLocation } from "wouter";
import { useActing } from "../../data/acting.ts";
import { call } from "../../data/client.ts";
import { useRecord } from "../../data/records.ts";
import { Button } from "../../parts/button.tsx";
import { classes } from "../../parts/classes.ts";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { Input } from "../../parts/field.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Time } from "../../parts/time.tsx";
import { useKeys } from "../../shell/keyboard.ts";
import { useTitle } from "../../shell/page-title.ts";
import type { PageProps } from "../page.ts";
import { messagesWords, SessionName } from "./session-name.tsx";
import { SessionView } from "./session-view.tsx";
import styles from "./sessions.module.css";

const PAGE = 50;

/** All conversations, and one of them with what is remembered of it. */
export function SessionsPage({ params }: PageProps) {
  useTitle("Sessions");
  const chosen = params["id"] ?? null;
  return (
    <div className={classes(styles["page"], chosen !== null && styles["chosen"])}>
      <div className={styles["side"]}>
        <SessionList chosen={chosen} isHeading={chosen === null} />
      </div>
      <div className={styles["main"]}>
        {chosen === null ? (
          <EmptyState sentence="Choose a session to see what is remembered of it." />
        ) : (
          <SessionView key={chosen} id={chosen} />
        )}
      </div>
    </div>
  );
}

function SessionList({ chosen, isHeading }: { chosen: string | null; isHeading: boolean }) {
  const [, navigate] = useLocation();
  const [wanted, setWanted] = useState("");
  const [limit, setLimit] = useState(PAGE);
  const q = useDeferredValue(wanted.trim());
  const { value, error } = useRecord("sessions.list", { limit, ...(q === "" ? {} : { q }) });
  const acting = useActing();
  const rows = value?.sessions ?? [];
  const begin = async (): Promise<void> => {
    const { id } = await call("sessions.create", { channel: "web" });
    navigate(`/chat/${id}`);
  };
  useKeys([{ keys: "/", does: "search", run: () => document.getElementById("session-search")?.focus() }]);
  const Heading = isHeading ? "h1" : "h2";
  return (
    <>
      <header className={styles["head"]}>
        <Heading className={styles["title"]}>Sessions</Heading>
        <Button blocked={acting.blocked} onClick={() => acting.run("new", begin)}>
          New session
        </Button>
      </header>
      <div className={styles["search"]} role="search">
        <Search size={16} aria-hidden="true" />
        <Input
          id="session-search"
          type="search"
          aria-label="Search sessions"
          placeholder="Search titles, senders and channels"
          value={wanted}
          onChange={(event) => {
            setWanted(event.target.value);
            setLimit(PAGE);
          }}
        />
      </div>
      {acting.error !== null && <ErrorNote error={acting.error} />}
      {error !== null && <ErrorNote error={error} />}
      {value === undefined && error === null && <Skeleton rows={6} />}
      {value !== undefined && rows.length === 0 && (
        <EmptyState
          sentence={q === "" ? "No one has written yet. The first message begins a session." : "No session matches."}
        />
      )}
      <ul className={styles["list"]}>
        {rows.map((row) => (
          <li key={row.id}>
            <Link
              href={`/sessions/${row.id}`}
              className={styles["row"]}
              aria-current={row.id === chosen ? "true" : undefined}
            >
              <span className={styles["name"]}>
                <SessionName row={row} />
              </span>
              <span className={styles["facts"]}>
                <span>{row.state}</span>
                <span>{row.channel}</span>
                <span>{messagesWords(row.metadata.messageCount)}</span>
                <Time at={row.metadata.lastActiveAt} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {value !== undefined && rows.length < value.total && (
        <div className={styles["more"]}>
          <Button tone="quiet" onClick={() => setLimit(limit + PAGE)}>
            Show more of {value.total.toLocaleString("en")}
          </Button>
        </div>
      )}
    </>
  );
}
