import { ArrowDown, X } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import { asCallError, type CallError, call } from "../../data/client.ts";
import { draftOf } from "../../data/kept.ts";
import { refresh, useRecord } from "../../data/records.ts";
import { Button } from "../../parts/button.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { VirtualList, type VirtualListHandle } from "../../parts/virtual-list.tsx";
import { useTitle } from "../../shell/page-title.ts";
import { hrefOf, PAGES } from "../all-pages.ts";
import type { PageProps } from "../page.ts";
import styles from "./chat.module.css";
import { Composer } from "./composer.tsx";
import { ConversationBar } from "./conversation-bar.tsx";
import { FirstScreen } from "./first-screen.tsx";
import { type SentMessage, type TurnActions, TurnView } from "./turn-view.tsx";
import type { Turn } from "./turns.ts";
import { useConversation } from "./use-conversation.ts";

const NEW = "new";
const RUNS = PAGES.find(({ path }) => path.startsWith("/runs"));

interface Outgoing {
  readonly text: string;
  readonly refs?: readonly string[];
  /** The run of an earlier message, whose images go along. */
  readonly mediaOf?: string | null;
}

/** The answer to a command. It is of this page only: no run, so no record. */
interface CommandAnswer {
  readonly asked: string;
  readonly text: string;
}

/** One conversation: the one the address names, or the latest. */
export function ChatPage({ params }: PageProps) {
  useTitle("Chat");
  const [, navigate] = useLocation();
  const named = params["session"];
  const latest = useRecord("sessions.list", named === undefined ? { limit: 1 } : null);
  const id = named === NEW ? null : (named ?? latest.value?.sessions[0]?.id ?? null);
  const place = id ?? NEW;
  const { session, turns, error, isLoading, readEarlier } = useConversation(id);
  const [answered, setAnswered] = useState<CommandAnswer | null>(null);
  const [failure, setFailure] = useState<CallError | null>(null);
  const [isAway, setAway] = useState(false);
  const [edited, setEdited] = useState<{ readonly place: string; readonly message: SentMessage } | null>(null);
  const list = useRef<VirtualListHandle>(null);
  const input = useRef<HTMLTextAreaElement>(null);
  // A conversation whose first message was refused is there already: the next try goes to it, from here.
  const begun = useRef<string | null>(null);
  const open = turns.filter(({ answer }) => answer === null);

  const send = async ({ text, refs = [], mediaOf = null }: Outgoing): Promise<string | null> => {
    if (id === null && named !== NEW) navigate(`/chat/${NEW}`, { replace: true });
    const to = id ?? begun.current ?? (await call("sessions.create", { channel: "web" })).id;
    begun.current = to;
    const received = await call("sessions.send", {
      id: to,
      text,
      ...(refs.length === 0 ? {} : { media: refs.map((ref) => ({ ref })) }),
      ...(mediaOf === null ? {} : { media_of: mediaOf }),
    } as never);
    begun.current = null;
    setFailure(null);
    setAnswered("response" in received ? { asked: text.trim(), text: received.response } : null);
    const at = received.session_id ?? to;
    if (named !== at) navigate(`/chat/${at}`);
    refresh("sessions.get", { id: at } as never);
    list.current?.scrollToEnd();
    return "response" in received ? null : received.id;
  };
  const sendOrSay = (outgoing: Outgoing): Promise<string | null> =>
    send(outgoing).catch((thrown) => {
      setFailure(asCallError(thrown));
      return null;
    });
  const tryOut = async (text: string, isRun: boolean): Promise<void> => {
    const run = await sendOrSay({ text });
    if (isRun && run !== null && RUNS !== undefined) navigate(`${hrefOf(RUNS)}/${run}`);
  };
  const stop = async (): Promise<void> => {
    for (const { runId } of open.toReversed()) if (runId !== null) await call("runs.cancel", { id: runId } as never);
  };
  const begin = (): void => {
    setAnswered(null);
    navigate(`/chat/${NEW}`);
    input.current?.focus();
  };
  const latestSend = useRef(sendOrSay);
  latestSend.current = sendOrSay;
  const actions = useMemo(
    (): TurnActions => ({
      again: ({ text, runId }) => latestSend.current({ text, mediaOf: runId }),
      edit: (message) => {
        setEdited({ place, message });
        draftOf(place).set(message.text);
        input.current?.focus();
      },
    }),
    [place],
  );
  const carried = edited?.place === place && edited.message.images > 0 ? edited.message : null;
  const isEmpty = !isLoading && turns.length === 0 && (id !== null || named === NEW || latest.value !== undefined);
  return (
    <div className={styles["page"]}>
      <ConversationBar session={session} onNew={begin} />
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
            onScroll={(isAtEnd) => setAway(!isAtEnd)}
            draw={(turn) => <TurnView turn={turn} sessionId={id ?? ""} actions={actions} />}
          />
        )}
        {isEmpty && <FirstScreen onTry={tryOut} />}
        {!isEmpty && turns.length === 0 && error === null && (
          <div className={styles["first"]}>
            <Skeleton rows={5} />
          </div>
        )}
        {isAway && turns.length > 0 && (
          <Button className={styles["below"]} onClick={() => list.current?.scrollToEnd()}>
            <ArrowDown size={16} aria-hidden="true" />
            {open.length > 0 ? "New below" : "To the end"}
          </Button>
        )}
      </div>
      <div className={styles["notes"]}>
        {failure !== null && <ErrorNote error={failure} />}
        {answered !== null && <CommandNote answer={answered} onClose={() => setAnswered(null)} />}
      </div>
      <Composer
        place={place}
        inputRef={input}
        carried={carried?.images ?? 0}
        onDropCarried={() => setEdited(null)}
        onSend={async (text, refs) => {
          await send({ text, refs, mediaOf: carried?.runId ?? null });
          setEdited(null);
        }}
        onStop={open.length === 0 ? null : stop}
      />
    </div>
  );
}

function CommandNote({ answer: { asked, text }, onClose }: { answer: CommandAnswer; onClose: () => void }) {
  return (
    <section className={styles["note"]} role="status" aria-label={`Answer to ${asked.split(/\s/)[0]}`}>
      <p>
        <HostileText text={text} />
      </p>
      <Button tone="quiet" square aria-label="Close" onClick={onClose}>
        <X size={16} aria-hidden="true" />
      </Button>
    </section>
  );
}
