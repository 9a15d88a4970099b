/**
 * Prints a run while it happens: what the agent does on one stream, its answer on another.
 *
 * P1. Foreign text (tool names, errors, the model's text) reaches a terminal through `visible-text.ts` only. An answer that
 *     goes to a file or a pipe is written unchanged.
 * P2. Text streams to a terminal only; elsewhere the answer is written once, at the end.
 * P3. At the end the whole recorded answer has been shown once. Text of an abandoned attempt is marked, unless that attempt
 *     went on to call tools.
 * P4. "thinking" is printed once a turn, when the model begins: after the checks, and when every call has its result. The
 *     journal records the model only once it has answered.
 * P5. A tool's output is shown live on a terminal, each row behind a bar, so that it cannot pass for ours. Of much
 *     output the end of the call says how many lines were left out, and where they are.
 * P6. A failed run says what was wrong and what to do; a completed one says what is wrong with its answer.
 * P7. A call's error text may be a stored body, which only the record has: then the reason follows at the end.
 */
import type { RunUpdate } from "../../assistant/runs/run-updates.ts";
import type { LifecycleEvent } from "../../kernel/journal/views/lifecycle-events.ts";
import type { RunRecord } from "../../kernel/journal/views/run-record.ts";
import { adviceOn } from "../../kernel/vocabulary/failures.ts";
import { formatCost } from "../../kernel/vocabulary/format-usd.ts";
import { targetIn } from "../../runtime/approvals/show-question.ts";
import type { ApprovalCard } from "../../runtime/ports/approver.ts";
import { barredRows } from "./barred-text.ts";
import { LiveOutput } from "./live-output.ts";
import { formatBytes, formatDuration, plural } from "./quantities.ts";
import type { Style } from "./style.ts";
import { safeText, visibleLine } from "./visible-text.ts";

export interface OutputStream {
  readonly isTTY?: boolean | undefined;
  /** The terminal's size; unknown for anything else. */
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  write(text: string): unknown;
}

export interface ProgressPrinter {
  show(update: RunUpdate): void;
  /** Accepted, not begun yet. */
  showQueued(runId: string): void;
  /** The run waits for an answer that is given elsewhere. */
  showWaiting(card: ApprovalCard): void;
  /** What happens beside the run. */
  note(line: string): void;
  /** Prints what was not shown of the answer, and how the run ended. */
  finish(record: RunRecord, diagnosis: RunDiagnosis): void;
}

/** Facts that a run record has no field for. */
export interface RunDiagnosis {
  /** What was wrong with the run or its answer; empty if nothing is known. */
  readonly wrong: string;
  /** The model's price is known. */
  readonly isPriced: boolean;
}

interface Screen {
  readonly progress: OutputStream;
  /** Null: the answer is not printed, as with `--json`. */
  readonly answer: OutputStream | null;
  readonly style: Style;
}

export function progressPrinter({ progress, answer, style }: Screen): ProgressPrinter {
  let live = { attempt: 0, text: "", heldBack: "" };
  let isMidLine = false;
  /** The output of the call that printed last. */
  let printed: LiveOutput | null = null;
  let isThinking = false;
  const openCalls = new Set<string>();
  const unexplained = new Set<string>();

  const endLine = (): void => {
    if (isMidLine) answer?.write("\n");
    isMidLine = false;
    if (printed !== null) progress.write(printed.endLine());
  };
  const say = (line: string): void => {
    endLine();
    progress.write(`${line}\n`);
  };
  const think = (): void => {
    if (!isThinking) say(style.dim("thinking"));
    isThinking = true;
  };
  const endOutput = (callId: string, runId: string): void => {
    if (printed?.callId !== callId) return;
    endLine();
    const left = printed.linesLeftOut;
    if (left > 0) say(style.dim(`  … ${plural(left, "more line")}: surety runs show ${visibleLine(runId)}`));
    printed = null;
  };
  const showEvent = (event: LifecycleEvent): void => {
    if (event.event_type === "tool.result") endOutput(event.payload.call_id, event.run_id);
    const line = wordsFor(event, style);
    if (line !== null) say(line);
    switch (event.event_type) {
      case "run.started":
        if (event.payload.checks.every(({ failure }) => failure === null)) think();
        break;
      case "model.requested":
        think();
        isThinking = false;
        break;
      case "tool.call":
        openCalls.add(event.payload.call_id);
        live = { ...live, text: "" };
        break;
      case "tool.result":
        openCalls.delete(event.payload.call_id);
        if (event.payload.error?.message_ref != null) unexplained.add(event.payload.call_id);
        if (openCalls.size === 0) think();
    }
  };
  const stream = ({ attempt, offset, text }: Extract<RunUpdate, { kind: "delta" }>): void => {
    if (answer?.isTTY !== true) return;
    // A watcher that comes back gets the text from its beginning; after a restart the model may write another one.
    const known = live.text + live.heldBack;
    const repeated = known.slice(offset, offset + text.length);
    const isContinued = attempt === live.attempt && text.startsWith(repeated);
    if (!isContinued) {
      if (live.text !== "") say(style.dim("(the model starts over)"));
      live = { attempt, text: "", heldBack: "" };
    }
    const [whole, half] = splitLastHalf(live.heldBack + (isContinued ? text.slice(repeated.length) : text));
    live = { attempt, text: live.text + whole, heldBack: half };
    if (whole === "") return;
    answer.write(safeText(whole));
    isMidLine = !whole.endsWith("\n");
  };
  const showWait = ({ code, waitMs }: Extract<RunUpdate, { kind: "wait" }>): void => {
    say(style.yellow(`${visibleLine(code)}: trying again in ${formatDuration(waitMs)}, as the provider asked`));
  };
  const showOutput = ({ callId, text }: Extract<RunUpdate, { kind: "output" }>): void => {
    if (progress.isTTY !== true) return;
    if (isMidLine || printed?.callId !== callId) endLine();
    if (printed?.callId !== callId) printed = new LiveOutput(callId, progress.columns, style.dim);
    progress.write(printed.write(text));
  };
  const showAnswer = ({ output }: RunRecord): void => {
    if (answer === null || output === "") return;
    if (live.text !== output) {
      if (live.text !== "") say(style.dim("(the recorded answer)"));
      answer.write(answer.isTTY === true ? safeText(output) : output);
      isMidLine = !output.endsWith("\n");
    }
    endLine();
  };

  return {
    show(update) {
      if (update.kind === "delta") stream(update);
      else if (update.kind === "output") showOutput(update);
      else if (update.kind === "wait") showWait(update);
      else showEvent(update.event);
    },
    showQueued(runId) {
      say(style.dim(`queued ${visibleLine(runId)}`));
    },
    showWaiting(card) {
      const id = visibleLine(card.id);
      const isResolve = card.kind === "resolve";
      const asks = isResolve ? "you to say whether this was done" : "approval";
      say(style.yellow(`waiting for ${asks}: ${visibleLine(card.tool)} (${id})`));
      const target = targetIn(card.shown, card.tool);
      if (target !== "") for (const row of barredRows(target, progress.columns, "decide", style.dim)) say(row);
      const answers = isResolve ? `resolve ${id} done|retry|fail` : `allow ${id}, or surety approvals deny ${id}`;
      say(style.dim(`answer: surety approvals ${answers}`));
    },
    note(line) {
      say(style.yellow(visibleLine(line)));
    },
    finish(record, diagnosis) {
      showAnswer(record);
      for (const { tool, tool_call_id: id, error } of record.trace.tool_execution_results) {
        if (unexplained.has(id) && error !== "") say(style.dim(visibleLine(`${tool}: ${withoutCode(error)}`)));
      }
      say(outcomeLine(record, diagnosis, style));
      for (const line of diagnosisLines(record, diagnosis)) say(style.dim(line));
    },
  };
}

/** What went wrong with a run, and what to do. */
export function diagnosisLines({ status, reason }: RunRecord, { wrong }: RunDiagnosis): readonly string[] {
  const advice = reason === null || status !== "failed" ? null : adviceOn(reason);
  return [wrong, advice ?? ""].filter((line) => line !== "").map(visibleLine);
}

function wordsFor(event: LifecycleEvent, style: Style): string | null {
  switch (event.event_type) {
    case "run.created":
      return style.dim(`run ${visibleLine(event.run_id)}`);
    case "tool.call":
      return callWords(event.payload, style);
    case "tool.result":
      return resultWords(event.payload, style);
    default:
      // The record, which knows more, says how it ended.
      return null;
  }
}

/** No rule denied the call: it could not be planned. */
const UNPLANNED = "plan.problem";

type PayloadOf<Type extends LifecycleEvent["event_type"]> = Extract<LifecycleEvent, { event_type: Type }>["payload"];

/** Null when the result says more. */
function callWords({ tool, decision, approval, policy_id }: PayloadOf<"tool.call">, style: Style): string | null {
  if (policy_id === UNPLANNED) return null;
  const name = visibleLine(tool);
  const by = visibleLine(approval === null ? policy_id : approval.by);
  if (decision === "deny") return style.yellow(`${name} denied by ${by}`);
  return approval === null ? `calling ${name}` : `calling ${name}, allowed by ${by}`;
}

function resultWords(result: PayloadOf<"tool.result">, style: Style): string {
  const name = visibleLine(result.tool);
  if (result.error?.code === "tool.not_found") return style.red(`${name}: there is no such tool`);
  // A denied call did not fail: it was not made.
  if (result.error?.code === "policy.denied")
    return style.yellow(
      result.error.message_ref === null ? `${name} not run: ${visibleLine(result.error.message)}` : `${name} not run`,
    );
  if (result.error !== null)
    return style.red(`${name} failed: ${visibleLine(`${result.error.code}: ${result.error.message}`)}`);
  const size = `${formatBytes(result.output_bytes)}${result.truncated ? ", truncated" : ""}`;
  return style.dim(`${name} done in ${formatDuration(result.duration_ms)}, ${size}`);
}

function withoutCode(error: string): string {
  return error.replace(/^policy\.denied: /, "");
}

function outcomeLine(record: RunRecord, diagnosis: RunDiagnosis, style: Style): string {
  const outcome = record.outcome ?? record.status;
  const paint = record.status === "completed" ? style.green : record.status === "failed" ? style.red : style.yellow;
  const reason = record.reason === null ? "" : ` (${visibleLine(record.reason)})`;
  const facts = [
    plural(record.tool_calls, "tool call"),
    formatDuration(record.duration_ms),
    ...spent(record, diagnosis),
    visibleLine(`${record.provider}:${record.model}`),
    visibleLine(record.id),
  ];
  return `${paint(outcome)}${reason} · ${facts.join(" · ")}`;
}

function spent({ receipt }: RunRecord, { isPriced }: RunDiagnosis): readonly string[] {
  if (receipt === undefined) return [];
  const { tokens, cost_usd: usd } = receipt;
  return [plural(tokens, "token"), formatCost(tokens, usd, isPriced)];
}

/** A surrogate pair may arrive in two pieces. */
function splitLastHalf(text: string): readonly [string, string] {
  return /[\ud800-\udbff]$/.test(text) ? [text.slice(0, -1), text.slice(-1)] : [text, ""];
}
