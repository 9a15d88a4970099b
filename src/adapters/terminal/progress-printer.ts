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
 * P7. Where there is a place for what goes on now, it is shown there, and each call is one line, once it has ended.
 * P8. A call that was refused or failed says why and what to do, where it happens; the last line counts such calls.
 * P9. What the model thought is shown behind a bar: with each answer, or of a failed run its last thoughts (`thinking_mode`).
 */
import type { RunUpdate } from "../../assistant/runs/run-updates.ts";
import type { LifecycleEvent } from "../../kernel/journal/views/lifecycle-events.ts";
import type { RunRecord } from "../../kernel/journal/views/run-record.ts";
import { formatCost } from "../../kernel/vocabulary/format-usd.ts";
import { targetIn } from "../../runtime/approvals/show-question.ts";
import type { ApprovalCard } from "../../runtime/ports/approver.ts";
import { barredRows, wrappedLine } from "./barred-text.ts";
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
  /** The watcher was away: text that comes now comes from its beginning, and is shown so. */
  resume(): void;
  /** The state of the run's record, which may have changed unseen. */
  showState(record: RunRecord): void;
  /** What happens beside the run. */
  note(line: string): void;
  /** Prints what was not shown of the answer, and how the run ended. */
  finish(record: RunRecord): void;
}

/** Makes foreign text a line for this screen. */
type WrapLine = (text: string) => string;

interface Screen {
  readonly progress: OutputStream;
  /** Null: the answer is not printed, as with `--json`. */
  readonly answer: OutputStream | null;
  readonly style: Style;
  /** Shows what goes on now, until it is something else; null: nothing. Absent: it is printed. */
  readonly onStatus?: (line: string | null) => void;
  /** The output of tools is not shown. */
  readonly isFolded?: boolean;
}

export function progressPrinter({ progress, answer, style, onStatus, isFolded = false }: Screen): ProgressPrinter {
  /** Foreign text in a line of ours: its further rows are indented, so that none of them passes for another line. */
  const wrapped: WrapLine = (text) =>
    progress.isTTY === true ? wrappedLine(visibleLine(text), progress.columns) : visibleLine(text);
  let live = { attempt: 0, text: "", heldBack: "" };
  let isMidLine = false;
  /** The output of the call that printed last. */
  let printed: LiveOutput | null = null;
  let isThinking = false;
  /** Calls without a result, in words. */
  const openCalls: OpenCalls = new Map();

  const endLine = (): void => {
    if (isMidLine) answer?.write("\n");
    isMidLine = false;
    if (printed !== null) progress.write(printed.endLine());
  };
  const say = (line: string): void => {
    endLine();
    progress.write(`${line}\n`);
  };
  const tell = (lines: readonly string[]): void => {
    if (onStatus === undefined) for (const line of lines) say(line === "thinking" ? style.dim(line) : line);
    else if (lines.length > 0) onStatus(lines.join(" "));
  };
  const think = (): void => {
    if (!isThinking) tell(["thinking"]);
    isThinking = true;
  };
  const endOutput = (callId: string, runId: string): void => {
    if (printed?.callId !== callId) return;
    endLine();
    const left = printed.linesLeftOut;
    if (left > 0) say(style.dim(`  … ${plural(left, "more line")}: surety runs show ${visibleLine(runId)}`));
    printed = null;
  };
  const showThoughts = (thoughts: string): void => {
    if (thoughts === "") return;
    say(style.dim("it thought:"));
    for (const row of barredRows(thoughts, progress.columns, "read", style.dim)) say(style.dim(row));
  };
  const showEvent = (event: LifecycleEvent): void => {
    if (event.event_type === "tool.result") endOutput(event.payload.call_id, event.run_id);
    switch (event.event_type) {
      case "run.created":
        if (onStatus === undefined) say(style.dim(`run ${visibleLine(event.run_id)}`));
        break;
      case "run.started":
        if (event.payload.checks.every(({ failure }) => failure === null)) think();
        break;
      case "model.requested":
        think();
        isThinking = false;
        showThoughts(event.payload.thoughts ?? "");
        break;
      case "tool.call":
        tell(callWords(event.payload, onStatus === undefined ? wrapped : visibleLine));
        openCalls.set(event.payload.call_id, {
          shown: event.payload.shown ?? event.payload.tool,
          because: becauseOf(event.payload),
        });
        live = { ...live, text: "" };
        break;
      case "tool.result":
        for (const line of resultWords(event.payload, openCalls, onStatus !== undefined, wrapped, style)) say(line);
        openCalls.delete(event.payload.call_id);
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
    if (progress.isTTY !== true || isFolded) return;
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
    resume() {
      live = { attempt: 0, text: "", heldBack: "" };
    },
    showState({ id, status, tool_calls: calls }) {
      const state = status === "waiting_approval" ? "waiting for approval" : status;
      say(style.dim(`${visibleLine(id)}: ${state}, ${plural(calls, "tool call")} so far`));
    },
    note(line) {
      say(style.yellow(wrapped(line)));
    },
    finish(record) {
      onStatus?.(null);
      showAnswer(record);
      const [ending, names] = outcomeLines(record, style);
      if (onStatus === undefined) say(`${ending} · ${names}`);
      else {
        say(ending);
        say(style.dim(wrapped(`  ${names}`)));
      }
      for (const line of record.explanation?.split("\n") ?? []) say(style.dim(wrapped(line)));
      if (record.thinking_mode === "on_error") showThoughts(record.trace.thoughts?.at(-1)?.text ?? "");
    },
  };
}

type PayloadOf<Type extends LifecycleEvent["event_type"]> = Extract<LifecycleEvent, { event_type: Type }>["payload"];

/** Nothing of a denied call: its result follows and names it. */
function callWords(
  { tool, shown = tool, decision, approval }: PayloadOf<"tool.call">,
  wrapped: WrapLine,
): readonly string[] {
  if (decision === "deny") return [];
  return [wrapped(`calling ${shown}${approval === null ? "" : `, allowed by ${approval.by}`}`)];
}

/** Of calls without a result: tool and arguments, and why they were allowed. */
type OpenCalls = Map<string, { readonly shown: string; readonly because: string }>;

function becauseOf({ approval, policy_id: policyId }: PayloadOf<"tool.call">): string {
  return approval === null ? policyId : `allowed by ${approval.by}`;
}

/** `isWhole`: the line is all that is said of the call. */
function resultWords(
  result: PayloadOf<"tool.result">,
  openCalls: OpenCalls,
  isWhole: boolean,
  wrapped: WrapLine,
  style: Style,
): readonly string[] {
  const { tool, error, ended_by: endedBy, call_id: callId, duration_ms: ms } = result;
  const { shown, because } = openCalls.get(callId) ?? { shown: tool, because: "" };
  if (error === null) {
    const size = `${formatBytes(result.output_bytes)}${result.truncated ? ", truncated" : ""}`;
    if (isWhole) return [style.dim(wrapped(`${shown} · ${because} · ${formatDuration(ms)}, ${size}`))];
    return [style.dim(`${visibleLine(tool)} done in ${formatDuration(ms)}, ${size}`)];
  }
  if (endedBy !== "call.refused" && endedBy !== "call.skipped") {
    const failed = isWhole ? `${shown} · ${because} · failed after ${formatDuration(ms)}` : `${tool} failed`;
    return [style.red(wrapped(`${failed}: ${error.code}: ${error.message}`))];
  }
  // It was not made, so it did not fail.
  const why = error.message.startsWith(NOT_RUN) ? error.message : `${NOT_RUN}${error.code}: ${error.message}`;
  return [style.yellow(wrapped(shown)), style.yellow(wrapped(`  ${why}`))];
}

const NOT_RUN = "Not run: ";

/** What happened; what it cost, and who it was. */
function outcomeLines(record: RunRecord, style: Style): readonly [string, string] {
  const outcome = record.outcome ?? record.status;
  const troubles = troubledCalls(record);
  const isFine = record.status === "completed" && troubles.length === 0;
  const paint = isFine ? style.green : record.status === "failed" ? style.red : style.yellow;
  const reason = record.reason === null ? "" : ` (${visibleLine(record.reason)})`;
  const { receipt } = record;
  const facts = [
    plural(record.tool_calls, "tool call"),
    ...troubles,
    formatDuration(record.duration_ms),
    ...(receipt === undefined ? [] : [plural(receipt.tokens, "token")]),
  ];
  const names = [
    ...(receipt === undefined ? [] : [formatCost(receipt)]),
    visibleLine(`${record.provider}:${record.model}`),
    visibleLine(record.id),
  ];
  return [`${paint(outcome)}${reason} · ${facts.join(" · ")}`, names.join(" · ")];
}

/** `tool_calls` counts performed calls, so those that were not run are named beside it. */
function troubledCalls({ trace }: RunRecord): readonly string[] {
  const errors = trace.tool_execution_results.map(({ error }) => error).filter((error) => error !== "");
  const refused = errors.filter((error) => /^policy\.denied: |^[a-z_.]+: Not run: /.test(error)).length;
  const failed = errors.length - refused;
  return [...(refused === 0 ? [] : [`${refused} not run`]), ...(failed === 0 ? [] : [`${failed} failed`])];
}

/** A surrogate pair may arrive in two pieces. */
function splitLastHalf(text: string): readonly [string, string] {
  return /[\ud800-\udbff]$/.test(text) ? [text.slice(0, -1), text.slice(-1)] : [text, ""];
}
