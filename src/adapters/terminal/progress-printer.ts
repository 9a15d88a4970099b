/**
 * A run as it happens, in words: what the agent is doing on one stream, what it says on another.
 *
 * P1. Foreign text (tools' names and errors, the model's words) reaches a terminal through `visible-text.ts` only. Where the
 *     answer goes to a file or a pipe it is written as it is.
 * P2. Text appears while it is written only on a terminal; elsewhere the answer is written once, at the end.
 * P3. Whatever was shown live, at the end the whole answer of the record has been shown, once; text of an attempt that
 *     was given up is marked as such, and not that of one that went on to call tools.
 * P4. That the model works is said when it begins to, which is not recorded until it has answered: after the checks, and
 *     when every call of a turn has its result. It is said once a turn.
 * P5. What a tool prints is shown while it works, on a terminal only, each line behind a bar: it cannot pass for ours.
 * P6. A run that failed says what was wrong, as far as it was found out, and what can be done; one that completed says what
 *     is wrong with its answer.
 */
import type { RunUpdate } from "../../assistant/runs/run-updates.ts";
import type { LifecycleEvent } from "../../kernel/journal/views/lifecycle-events.ts";
import type { RunRecord } from "../../kernel/journal/views/run-record.ts";
import { adviceOn } from "../../kernel/vocabulary/failures.ts";
import { formatCost } from "../../kernel/vocabulary/format-usd.ts";
import type { ApprovalCard } from "../../runtime/ports/approver.ts";
import { formatBytes, formatDuration, plural } from "./quantities.ts";
import type { Style } from "./style.ts";
import { safeText, visibleLine } from "./visible-text.ts";

export interface OutputStream {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

export interface ProgressPrinter {
  show(news: RunUpdate): void;
  /** It was accepted, and others are before it. */
  showQueued(runId: string): void;
  /** Somebody has to answer this elsewhere before the run goes on. */
  showWaiting(card: ApprovalCard): void;
  /** The answer, as far as it was not shown, and how the run ended. */
  finish(record: RunRecord, foundOut: FoundOut): void;
}

/** What a record has no field for. */
export interface FoundOut {
  /** What exactly was wrong with the run or its answer; empty where nothing was, or nobody knows. */
  readonly wrong: string;
  /** Somebody named the model's price. */
  readonly isPriced: boolean;
}

interface Screen {
  readonly progress: OutputStream;
  /** Null: the answer is not wanted here, as with `--json`. */
  readonly answer: OutputStream | null;
  readonly style: Style;
}

export function progressPrinter({ progress, answer, style }: Screen): ProgressPrinter {
  let live = { attempt: 0, text: "", heldBack: "" };
  let isMidLine = false;
  let isMidOutput = false;
  let isThinking = false;
  const openCalls = new Set<string>();

  const endLine = (): void => {
    if (isMidLine) answer?.write("\n");
    isMidLine = false;
    if (isMidOutput) progress.write("\n");
    isMidOutput = false;
  };
  const say = (line: string): void => {
    endLine();
    progress.write(`${line}\n`);
  };
  const think = (): void => {
    if (!isThinking) say(style.dim("thinking"));
    isThinking = true;
  };
  const showEvent = (event: LifecycleEvent): void => {
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
        if (openCalls.size === 0) think();
    }
  };
  const stream = ({ attempt, text }: Extract<RunUpdate, { kind: "delta" }>): void => {
    if (answer?.isTTY !== true) return;
    if (attempt !== live.attempt) {
      if (live.text !== "") say(style.dim("(the model starts over)"));
      live = { attempt, text: "", heldBack: "" };
    }
    const [whole, half] = splitLastHalf(live.heldBack + text);
    live = { attempt, text: live.text + whole, heldBack: half };
    if (whole === "") return;
    answer.write(safeText(whole));
    isMidLine = !whole.endsWith("\n");
  };
  const showWait = ({ code, waitMs }: Extract<RunUpdate, { kind: "wait" }>): void => {
    say(style.yellow(`${visibleLine(code)}: trying again in ${formatDuration(waitMs)}, as the provider asks`));
  };
  const showOutput = (text: string): void => {
    if (progress.isTTY !== true) return;
    if (isMidLine) endLine();
    const lines = safeText(text).split("\n");
    const goesOn = isMidOutput ? 1 : 0;
    const isBegun = (line: string, index: number): boolean =>
      index >= goesOn && (line !== "" || index < lines.length - 1);
    progress.write(
      lines.map((line, index) => (isBegun(line, index) ? `${style.dim("  │")} ${line}` : line)).join("\n"),
    );
    isMidOutput = !text.endsWith("\n");
  };
  const showAnswer = ({ output }: RunRecord): void => {
    if (answer === null || output === "") return;
    if (live.text !== output) {
      if (live.text !== "") say(style.dim("(the answer as it was recorded)"));
      answer.write(answer.isTTY === true ? safeText(output) : output);
      isMidLine = !output.endsWith("\n");
    }
    endLine();
  };

  return {
    show(news) {
      if (news.kind === "delta") stream(news);
      else if (news.kind === "output") showOutput(news.text);
      else if (news.kind === "wait") showWait(news);
      else showEvent(news.event);
    },
    showQueued(runId) {
      say(style.dim(`queued ${visibleLine(runId)}, behind others`));
    },
    showWaiting(card) {
      const id = visibleLine(card.id);
      const isResolve = card.kind === "resolve";
      say(
        style.yellow(
          `waiting for approval ${id} ${isResolve ? "of what became of" : "to run"} ${visibleLine(card.tool)}`,
        ),
      );
      const answers = isResolve ? `resolve ${id} done|retry|fail` : `allow ${id}, or surety approvals deny ${id}`;
      say(style.dim(`answer with surety approvals ${answers}`));
    },
    finish(record, foundOut) {
      showAnswer(record);
      say(outcomeLine(record, foundOut, style));
      for (const line of whatToKnow(record, foundOut)) say(style.dim(line));
    },
  };
}

/** What was found out about a run, and what to do about it. */
export function whatToKnow({ status, reason }: RunRecord, { wrong }: FoundOut): readonly string[] {
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
      // How it ended is said with the record, which knows more.
      return null;
  }
}

/** No policy denied it: nobody could tell what it would do. */
const UNPLANNED = "plan.problem";

type PayloadOf<Type extends LifecycleEvent["event_type"]> = Extract<LifecycleEvent, { event_type: Type }>["payload"];

/** Null where the result says it better. */
function callWords({ tool, decision, approval, policy_id }: PayloadOf<"tool.call">, style: Style): string | null {
  if (policy_id === UNPLANNED) return null;
  const name = visibleLine(tool);
  const by = approval === null ? `policy ${visibleLine(policy_id)}` : visibleLine(approval.by);
  if (decision === "deny") return style.yellow(`${name} denied by ${by}`);
  return approval === null ? `calling ${name}` : `calling ${name}, allowed by ${by}`;
}

function resultWords(result: PayloadOf<"tool.result">, style: Style): string {
  const name = visibleLine(result.tool);
  if (result.error?.code === "tool.not_found") return style.red(`${name} is unknown: there is no such tool`);
  if (result.error !== null)
    return style.red(`${name} failed: ${visibleLine(`${result.error.code}: ${result.error.message}`)}`);
  const size = `${formatBytes(result.output_bytes)}${result.truncated ? ", truncated" : ""}`;
  return style.dim(`${name} done in ${formatDuration(result.duration_ms)}, ${size}`);
}

function outcomeLine(record: RunRecord, foundOut: FoundOut, style: Style): string {
  const outcome = record.outcome ?? record.status;
  const paint = record.status === "completed" ? style.green : record.status === "failed" ? style.red : style.yellow;
  const reason = record.reason === null ? "" : ` (${visibleLine(record.reason)})`;
  const facts = [
    plural(record.tool_calls, "tool call"),
    formatDuration(record.duration_ms),
    ...spent(record, foundOut),
    visibleLine(`${record.provider}:${record.model}`),
    visibleLine(record.id),
  ];
  return `${paint(outcome)}${reason} · ${facts.join(" · ")}`;
}

function spent({ receipt }: RunRecord, { isPriced }: FoundOut): readonly string[] {
  if (receipt === undefined) return [];
  const { tokens, cost_usd: usd } = receipt;
  return [plural(tokens, "token"), formatCost(tokens, usd, isPriced)];
}

/** A pair of surrogates may come in two pieces. */
function splitLastHalf(text: string): readonly [string, string] {
  return /[\ud800-\udbff]$/.test(text) ? [text.slice(0, -1), text.slice(-1)] : [text, ""];
}
