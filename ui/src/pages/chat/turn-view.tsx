import { memo, useEffect } from "react";
import { type LiveRun, useLiveRun } from "../../data/live-run.ts";
import { refresh, useRecord } from "../../data/records.ts";
import { announceQuietly } from "../../parts/announcer.tsx";
import { ApprovalCard } from "../../parts/approval-card/approval-card.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Markdown } from "../../parts/markdown.tsx";
import { Time } from "../../parts/time.tsx";
import styles from "./chat.module.css";
import { ReceiptLine } from "./receipt-line.tsx";
import { fromLive, type ShownCall, ToolCalls } from "./tool-calls.tsx";
import type { Turn } from "./turns.ts";

/** A question, what was done for it, and the answer. */
export const TurnView = memo(({ turn, sessionId }: { turn: Turn; sessionId: string }) => (
  <div className={styles["turn"]}>
    <p className={styles["who"]}>
      You · <Time at={turn.askedAt} />
    </p>
    <div className={styles["asked"]}>
      <HostileText text={turn.asked} />
    </div>
    {turn.answer === null ? <Unanswered turn={turn} sessionId={sessionId} /> : <Answered turn={turn} />}
  </div>
));

function Answered({ turn }: { turn: Turn }) {
  const { value: run } = useRecord("runs.get", turn.runId === null ? null : ({ id: turn.runId } as never));
  const hasFailed = run !== undefined && run.output === "" && run.explanation !== undefined;
  return (
    <>
      <p className={styles["who"]}>
        Surety · <Time at={turn.answer?.at ?? 0} />
      </p>
      <ToolCalls calls={callsOf(turn, run?.trace.tool_execution_results ?? [])} />
      {hasFailed ? (
        <p className={styles["failed"]}>
          <HostileText text={run.explanation ?? ""} />
        </p>
      ) : (
        <div className={styles["answer"]}>
          <Markdown text={turn.answer?.text ?? ""} />
        </div>
      )}
      {run !== undefined && <ReceiptLine run={run} />}
    </>
  );
}

function callsOf(
  turn: Turn,
  performed: readonly { tool_call_id: string; summary: string; output: string; error: string }[],
) {
  return turn.calls.map((call): ShownCall => {
    const done = performed.find(({ tool_call_id }) => tool_call_id === call.id);
    return {
      id: call.id,
      tool: call.tool,
      summary: done?.summary ?? "",
      args: call.args,
      state: call.ok === false ? "failed" : "done",
      durationMs: null,
      result: done === undefined ? call.result : done.error === "" ? done.output : done.error,
      isTruncated: false,
    };
  });
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
  const hasNothing = live.text === "" && live.calls.length === 0;
  return (
    <>
      <p className={styles["who"]}>Surety</p>
      <ToolCalls calls={live.calls.map(fromLive)} />
      {live.text !== "" && (
        <div className={styles["answer"]}>
          <Markdown text={live.text} />
        </div>
      )}
      {live.error !== null && <ErrorNote error={live.error} />}
      {asks.map((approval) => (
        <ApprovalCard key={approval.id} approval={approval} />
      ))}
      {hasNothing && asks.length === 0 && live.error === null && (
        <p className={styles["minor"]}>{waitingWords(isQueued, live)}</p>
      )}
    </>
  );
}

function waitingWords(isQueued: boolean, { wait }: LiveRun): string {
  if (wait !== null)
    return `The model's provider asked for a pause of ${Math.ceil(wait.waitMs / 1_000)} s (${wait.code}).`;
  return isQueued ? "Waits for the messages before it." : "Working…";
}
