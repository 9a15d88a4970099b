import { ChevronDown, MessageSquarePlus } from "lucide-react";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { Button } from "../../parts/button.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { useCommands } from "../../shell/page-title.ts";
import { hrefOf, PAGES } from "../all-pages.ts";
import styles from "./chat.module.css";
import { ConversationsDialog } from "./conversations-dialog.tsx";
import type { Session } from "./turns.ts";

const SESSIONS = PAGES.find(({ path }) => path.startsWith("/sessions"));

/** Which conversation this is, and the way to others. */
export function ConversationBar({ session, onNew }: { session: Session | null; onNew: () => void }) {
  const [, navigate] = useLocation();
  const [isChoosing, setChoosing] = useState(false);
  const about = session === null || SESSIONS === undefined ? null : `${hrefOf(SESSIONS)}/${session.id}`;
  useCommands([
    { name: "New conversation", run: onNew },
    { name: "Find a conversation", run: () => setChoosing(true) },
    ...(about === null ? [] : [{ name: "Rename or export this conversation", run: () => navigate(about) }]),
  ]);
  return (
    <header className={styles["bar"]}>
      <h1>
        <button type="button" className={styles["choose"]} aria-haspopup="dialog" onClick={() => setChoosing(true)}>
          <span className={styles["title"]}>
            {session?.title == null ? "New conversation" : <HostileText text={session.title} />}
          </span>
          <ChevronDown size={16} aria-hidden="true" />
        </button>
      </h1>
      {about !== null && <Link href={about}>Details</Link>}
      <Button tone="quiet" onClick={onNew}>
        <MessageSquarePlus size={16} aria-hidden="true" />
        New
      </Button>
      {isChoosing && (
        <ConversationsDialog current={session?.id ?? null} onNew={onNew} onClose={() => setChoosing(false)} />
      )}
    </header>
  );
}
