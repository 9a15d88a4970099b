import { useRef } from "react";
import { useLocation } from "wouter";
import { call } from "../../data/client.ts";
import { refresh, useRecord } from "../../data/records.ts";
import { Button } from "../../parts/button.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { VirtualList, type VirtualListHandle } from "../../parts/virtual-list.tsx";
import { useTitle } from "../../shell/page-title.ts";
import type { PageProps } from "../page.ts";
import styles from "./chat.module.css";
import { Composer } from "./composer.tsx";
import { TurnView } from "./turn-view.tsx";
import type { Turn } from "./turns.ts";
import { useConversation } from "./use-conversation.ts";

const NEW = "new";
const TRY = ["list files", "write hello to a.txt", "what can you do?"];

/** One conversation: the one the address names, or the latest. */
export function ChatPage({ params }: PageProps) {
  useTitle("Chat");
  const [, navigate] = useLocation();
  const named = params["session"];
  const latest = useRecord("sessions.list", named === undefined ? { limit: 1 } : null);
  const id = named === NEW ? null : (named ?? latest.value?.sessions[0]?.id ?? null);
  const { session, turns, error, isLoading, readEarlier } = useConversation(id);
  const list = useRef<VirtualListHandle>(null);
  const open = turns.filter(({ answer }) => answer === null);

  const send = async (text: string): Promise<void> => {
    const to = id ?? (await call("sessions.create", { channel: "web" })).id;
    await call("sessions.send", { id: to, text } as never);
    if (named !== to) navigate(`/chat/${to}`);
    refresh("sessions.get", { id: to } as never);
    list.current?.scrollToEnd();
  };
  const stop = async (): Promise<void> => {
    for (const { runId } of open) if (runId !== null) await call("runs.cancel", { id: runId } as never);
  };
  const isEmpty = !isLoading && turns.length === 0 && (id !== null || named === NEW || latest.value !== undefined);
  return (
    <div className={styles["page"]}>
      <h1 className="out-of-sight">{session?.title ?? "Chat"}</h1>
      <div className={styles["conversation"]}>
        {error !== null && <ErrorNote error={error} />}
        {turns.length > 0 && (
          <VirtualList<Turn>
            key={id}
            ref={list}
            label="Conversation"
            role="log"
            rowRole="article"
            anchor="end"
            items={turns}
            keyOf={(turn) => turn.id}
            estimate={220}
            onStart={readEarlier}
            draw={(turn) => <TurnView turn={turn} sessionId={id ?? ""} />}
          />
        )}
        {isEmpty && (
          <div className={styles["first"]}>
            <p>Nothing has been said here yet. Three things to try:</p>
            <ul>
              {TRY.map((text) => (
                <li key={text}>
                  <Button onClick={() => send(text)}>{text}</Button>
                </li>
              ))}
            </ul>
          </div>
        )}
        {!isEmpty && turns.length === 0 && error === null && <Skeleton rows={5} />}
      </div>
      <Composer place={id ?? NEW} onSend={send} onStop={open.length === 0 ? null : stop} />
    </div>
  );
}
