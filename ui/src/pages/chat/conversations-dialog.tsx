import { useEffect, useState } from "react";
import { Link } from "wouter";
import { useRecord } from "../../data/records.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { Input } from "../../parts/field.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Tag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import styles from "./chat.module.css";

const SHOWN = 50;
const TYPING_MS = 200;

interface ConversationsDialogProps {
  readonly current: string | null;
  readonly onNew: () => void;
  readonly onClose: () => void;
}

/** Conversations, the one with the latest message first. The gateway searches, so none is left out. */
export function ConversationsDialog({ current, onNew, onClose }: ConversationsDialogProps) {
  const [wanted, setWanted] = useState("");
  const q = useSettled(wanted.trim());
  const { value, error } = useRecord("sessions.list", { limit: SHOWN, ...(q === "" ? {} : { q }) } as never);
  const left = value === undefined ? 0 : value.total - value.sessions.length;
  return (
    <Dialog
      title="Conversations"
      onClose={onClose}
      actions={
        <Button
          onClick={() => {
            onNew();
            onClose();
          }}
        >
          New conversation
        </Button>
      }
    >
      <div className={styles["finder"]}>
        <Input
          aria-label="Search conversations"
          placeholder="Search titles and first messages"
          value={wanted}
          onChange={(event) => setWanted(event.target.value)}
        />
        {error !== null && <ErrorNote error={error} />}
        {value === undefined && error === null && <Skeleton rows={4} />}
        {value?.sessions.length === 0 && <p className={styles["minor"]}>No conversation has these words.</p>}
        <ul className={styles["found"]}>
          {value?.sessions.map(({ id, title, channel, metadata }) => (
            <li key={id}>
              <Link href={`/chat/${id}`} aria-current={id === current ? "true" : undefined} onClick={onClose}>
                <span className={styles["title"]}>{title === null ? "Untitled" : <HostileText text={title} />}</span>
                {channel !== "web" && <Tag>{channel}</Tag>}
                <span className={styles["minor"]}>
                  <Time at={metadata.lastActiveAt} />
                </span>
              </Link>
            </li>
          ))}
        </ul>
        {left > 0 && <p className={styles["minor"]}>{left.toLocaleString("en")} more: search for them.</p>}
      </div>
    </Dialog>
  );
}

function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
