import { Copy, Pencil, RotateCcw } from "lucide-react";
import { memo, type ReactNode, useEffect } from "react";
import { useBlocked } from "../../data/acting.ts";
import type { AnswerOf } from "../../data/client.ts";
import { type LiveRun, useLiveRun } from "../../data/live-run.ts";
import { refresh, useRecord } from "../../data/records.ts";
import { announce, announceQuietly } from "../../parts/announcer.tsx";
import { ApprovalCard } from "../../parts/approval-card/approval-card.tsx";
import { Button } from "../../parts/button.tsx";
import { useCitations } from "../../parts/citations.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Markdown } from "../../parts/markdown.tsx";
import { Tag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import styles from "./chat.module.css";
import { ReceiptLine } from "./receipt-line.tsx";
import { fromLive, recordedCalls } from "./shown-calls.ts";
import { ToolCalls } from "./tool-calls.tsx";
import type { Turn } from "./turns.ts";
import { useEndedCalls } from "./use-ended-calls.ts";

/** What editing a message starts from: its text, and the run that holds its images. */
export interface SentMessage {
  readonly text: string;
  readonly images: number;
  readonly runId: string | null;
}

/** What can be done with a message that was sent: both begin a new run, and this one stays. */
export interface TurnActions {
  readonly again: (message: SentMessage) => void;
  readonly edit: (message: SentMessage) => void;
}

interface TurnViewProps {
  readonly turn: Turn;
  readonly sessionId: string;
  readonly actions: TurnActions;
}

/** A question, what was done for it, and the answer. */
export const TurnView = memo(({ turn, sessionId, actions }: TurnViewProps) => (
  <div className={styles["turn"]}>
    <Who name="You" at={turn.askedAt}>
      <AskedActions message={sentMessage(turn)} actions={actions} />
    </Who>
    <div className={styles["asked"]}>
      <HostileText text={turn.asked} />
    </div>
    {turn.answer === null ? <Unanswered turn={turn} sessionId={sessionId} /> : <Answered turn={turn} />}
  </div>
));

function Who({ name, at, children }: { name: string; at?: number; children?: ReactNode }) {
  return (
    <div className={styles["who"]}>
      <span>
        {name}
        {at !== undefined && (
          <>
            {" · "}
            <Time at={at} />
          </>
        )}
      </span>
      {children}
    </div>
  );
}

function sentMessage({ asked, images, runId }: Turn): SentMessage {
  const text = images === 0 ? asked : asked.split("\n").slice(0, -images).join("\n");
  return { text, images, runId };
}

function AskedActions({ message, actions }: { message: SentMessage; actions: TurnActions }) {
  const blocked = useBlocked();
  return (
    <span className={styles["actions"]}>
      <IconButton label="Edit and ask anew" blocked={null} onClick={() => actions.edit(message)}>
        <Pencil size={14} aria-hidden="true" />
      </IconButton>
      <IconButton label="Ask again" blocked={blocked} onClick={() => actions.again(message)}>
        <RotateCcw size={14} aria-hidden="true" />
      </IconButton>
    </span>
  );
}

interface IconButtonProps {
  readonly label: string;
  readonly blocked: string | null;
  readonly onClick: () => void;
  readonly children: ReactNode;
}

function IconButton({ label, blocked, onClick, children }: IconButtonProps) {
  return (
    <Button tone="quiet" square aria-label={label} title={label} blocked={blocked} onClick={onClick}>
      {children}
    </Button>
  );
}

function Answered({ turn }: { turn: Turn }) {
  const { runId, answer, calls } = turn;
  const { value: run } = useRecord("runs.get", runId === null ? null : ({ id: runId } as never));
  const events = useEndedCalls(calls.length === 0 ? null : runId);
  const failure = run === undefined || run.output !== "" ? null : whyNoAnswer(run);
  const text = answer?.text ?? "";
  const inText = useCitations(runId, text);
  return (
    <>
      <Who name="Surety" at={answer?.at ?? 0}>
        {text !== "" && (
          <span className={styles["actions"]}>
            <IconButton label="Copy the answer" blocked={null} onClick={() => copy(text)}>
              <Copy size={14} aria-hidden="true" />
            </IconButton>
          </span>
        )}
      </Who>
      <Thoughts run={run} />
      <ToolCalls calls={recordedCalls(calls, events)} />
      {failure === null ? (
        <div className={styles["answer"]}>
          <Markdown text={text} inText={inText} />
        </div>
      ) : (
        <p className={styles["failed"]}>
          <HostileText text={failure} />
        </p>
      )}
      {run !== undefined && <ReceiptLine run={run} />}
    </>
  );
}

/** As far as the run's `thinking_mode` lets them be seen. */
function Thoughts({ run }: { run: AnswerOf<"runs.get"> | undefined }) {
  const thoughts = run?.trace.thoughts ?? [];
  if (thoughts.length === 0) return null;
  return (
    <details className={styles["calls"]}>
      <summary>Thoughts</summary>
      {thoughts.map(({ attempt, text }) => (
        <pre key={attempt} className={styles["thoughts"]}>
          <HostileText text={text} />
        </pre>
      ))}
    </details>
  );
}

function whyNoAnswer({ outcome, explanation }: AnswerOf<"runs.get">): string | null {
  if (explanation !== undefined) return explanation;
  if (outcome === "INTERRUPTED") return "It was stopped before it had an answer. Ask again to begin anew.";
  return outcome === null || outcome.startsWith("COMPLETED") ? null : "It ended without an answer. Its run says why.";
}

function copy(text: string): void {
  // Without https there is no clipboard; the text can still be selected.
  navigator.clipboard?.writeText(text).then(
    () => announce("Copied."),
    () => announce("This browser does not let the page copy."),
  );
}

function Unanswered({ turn, sessionId }: { turn: Turn; sessionId: string }) {
  const isQueued = turn.status === "queued";
  const live = useLiveRun(turn.runId);
  const { value: waiting } = useRecord("approvals.list", {});
  const asks = (waiting?.approvals ?? []).filter(({ run_id }) => run_id === turn.runId);
  useEffect(() => {
    if (!live.isOver) return;
    refresh("sessions.get", { id: sessionId } as never);
    announceQuietly("Answer ready.");
  }, [live.isOver, sessionId]);
  const liveCitations = useCitations(turn.runId, live.text);
  const isSilent = live.text === "" && asks.length === 0 && live.error === null;
  return (
    <>
      <Who name="Surety">{isQueued && <Tag>queued</Tag>}</Who>
      <ToolCalls calls={live.calls.map(fromLive)} />
      {live.text !== "" && (
        <div className={styles["answer"]}>
          <Markdown text={live.text} inText={liveCitations} />
        </div>
      )}
      {live.error !== null && <ErrorNote error={live.error} />}
      {asks.map((approval) => (
        <ApprovalCard key={approval.id} approval={approval} />
      ))}
      {isSilent && <p className={styles["minor"]}>{waitingWords(isQueued, live)}</p>}
    </>
  );
}

function waitingWords(isQueued: boolean, { wait }: LiveRun): string {
  if (wait !== null)
    return `The model's provider asked for a pause of ${Math.ceil(wait.waitMs / 1_000)} s (${wait.code}).`;
  return isQueued ? "Waits for the messages before it." : "Working…";
}
