/**
 * A run as it happens, in words: what the agent is doing on one stream, what it says on another.
 *
 * P1. Foreign text (tools' names and errors, the model's words) reaches a terminal through `visible-text.ts` only. Where the
 *     answer goes to a file or a pipe it is written as it is.
 * P2. Text appears while it is written only on a terminal; elsewhere the answer is written once, at the end.
 * P3. Whatever was shown live, at the end the whole answer of the record has been shown, once; text of an attempt that
 *     was given up is marked as such.
 */
import type { RunNews } from "../../assistant/assistant.ts";
import type { LifecycleEvent } from "../../kernel/journal/views/lifecycle-events.ts";
import type { RunRecord } from "../../kernel/journal/views/run-record.ts";
import type { ApprovalCard } from "../../runtime/ports/approver.ts";
import { formatBytes, formatDuration, plural } from "./quantities.ts";
import type { Style } from "./style.ts";
import { safeText, visibleLine } from "./visible-text.ts";

export interface OutputStream {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

export interface ProgressPrinter {
  show(news: RunNews): void;
  /** Somebody has to answer this elsewhere before the run goes on. */
  showWaiting(card: ApprovalCard): void;
  /** The answer, as far as it was not shown, and the line that says how the run ended. */
  finish(record: RunRecord): void;
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

  const endLine = (): void => {
    if (isMidLine) answer?.write("\n");
    isMidLine = false;
  };
  const say = (line: string): void => {
    endLine();
    progress.write(`${line}\n`);
  };
  const stream = ({ attempt, text }: Extract<RunNews, { kind: "delta" }>): void => {
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
      else for (const line of wordsFor(news.event, style)) say(line);
    },
    showWaiting(card) {
      say(style.yellow(`waiting for approval ${visibleLine(card.id)} to run ${visibleLine(card.tool)}`));
    },
    finish(record) {
      showAnswer(record);
      say(outcomeLine(record, style));
    },
  };
}

function wordsFor(event: LifecycleEvent, style: Style): readonly string[] {
  switch (event.event_type) {
    case "run.created":
      return [style.dim(`run ${visibleLine(event.run_id)}`)];
    case "model.requested":
      return [style.dim(event.payload.attempt > 1 ? `thinking (attempt ${event.payload.attempt})` : "thinking")];
    case "tool.call":
      return [callWords(event.payload, style)];
    case "tool.result":
      return [resultWords(event.payload, style)];
    default:
      // How it ended is said with the record, which knows more.
      return [];
  }
}

type PayloadOf<Type extends LifecycleEvent["event_type"]> = Extract<LifecycleEvent, { event_type: Type }>["payload"];

function callWords({ tool, decision, approval, policy_id }: PayloadOf<"tool.call">, style: Style): string {
  const name = visibleLine(tool);
  const by = approval === null ? `policy ${visibleLine(policy_id)}` : visibleLine(approval.by);
  if (decision === "deny") return style.yellow(`${name} denied by ${by}`);
  return approval === null ? `calling ${name}` : `calling ${name}, allowed by ${by}`;
}

function resultWords(result: PayloadOf<"tool.result">, style: Style): string {
  const name = visibleLine(result.tool);
  if (result.error !== null)
    return style.red(`${name} failed: ${visibleLine(`${result.error.code}: ${result.error.message}`)}`);
  const size = `${formatBytes(result.output_bytes)}${result.truncated ? ", truncated" : ""}`;
  return style.dim(`${name} done in ${formatDuration(result.duration_ms)}, ${size}`);
}

function outcomeLine(record: RunRecord, style: Style): string {
  const outcome = record.outcome ?? record.status;
  const paint = record.status === "completed" ? style.green : record.status === "failed" ? style.red : style.yellow;
  const reason = record.reason === null ? "" : ` (${visibleLine(record.reason)})`;
  const facts = [
    plural(record.tool_calls, "tool call"),
    formatDuration(record.duration_ms),
    visibleLine(`${record.provider}:${record.model}`),
    visibleLine(record.id),
  ];
  return `${paint(outcome)}${reason} · ${facts.join(" · ")}`;
}

/** A pair of surrogates may come in two pieces. */
function splitLastHalf(text: string): readonly [string, string] {
  return /[\ud800-\udbff]$/.test(text) ? [text.slice(0, -1), text.slice(-1)] : [text, ""];
}
