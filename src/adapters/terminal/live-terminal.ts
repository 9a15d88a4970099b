/**
 * A terminal one talks at: output above, below it what is going on, a question that waits, and the line one writes on.
 *
 * T1. Output never mixes with what is being written: the line stays at the bottom.
 * T2. While a question is open the line answers it; what was written before is put away, and comes back.
 * T3. A model's text is indented, so that none of its rows begins where ours do.
 * T4. Messages that wait are shown below, not within the answer that is being written.
 * T5. Without a conversation (one run) there is a line to write on while a question is open only.
 */
import type { ApprovalDecision } from "../../runtime/approvals/operations.ts";
import type { ApprovalCard, Approver } from "../../runtime/ports/approver.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import { cellsOf, clustersOf, wrappedLine } from "./barred-text.ts";
import { openLineEditor } from "./line-editor.ts";
import { markdownFormat } from "./markdown-format.ts";
import { type OutputStream, type ProgressPrinter, progressPrinter } from "./progress-printer.ts";
import { questionQueue } from "./question-queue.ts";
import { AS_IT_IS, type Footer, type LineFormat, Screen } from "./screen.ts";
import type { Style } from "./style.ts";
import { GUTTER, safeText, visibleLine } from "./visible-text.ts";

interface LiveTerminalParts {
  readonly input: NodeJS.ReadableStream;
  readonly output: OutputStream;
  readonly style: Style;
  readonly clock: Pick<Clock, "wake">;
  readonly isVerbose: () => boolean;
  readonly onInterrupt: () => void;
  /** Null: one run is shown. */
  readonly conversation: {
    readonly history: readonly string[];
    /** Messages that wait behind the run at work. */
    readonly waiting: () => readonly string[];
    /** What goes on besides the run's own state; empty: nothing. */
    readonly aside: () => string;
    readonly complete: (line: string) => readonly string[];
    readonly onMessage: (text: string) => void;
    readonly onEnd: () => void;
  } | null;
  readonly onDecision: (card: ApprovalCard, decision: ApprovalDecision) => void;
}

export interface LiveTerminal extends Approver {
  printer(): ProgressPrinter;
  /** A message as it was sent. */
  echo(text: string): void;
  /** An answer that is no model's. */
  respond(text: string): void;
  remark(line: string): void;
  /** What was written so far; clears it. False: nothing. */
  discard(): boolean;
  setHistory(messages: readonly string[]): void;
  /** After `aside` or `waiting` changed. */
  refresh(): void;
  close(): void;
}

const PROMPT = "› ";
const MORE = "… ";
/** Pasted text comes marked as such. */
const MARK_PASTES = "\u001b[?2004h";
const MARK_NO_PASTES = "\u001b[?2004l";
const MAX_INPUT_ROWS = 8;
const STOPS = "Ctrl-C stops";

export function openLiveTerminal(parts: LiveTerminalParts): LiveTerminal {
  const { input, output, style, clock, onInterrupt, onDecision, isVerbose, conversation } = parts;
  let isOpen = true;
  /** No answer will come. */
  let hasEnded = false;
  let status: string | null = null;
  let question: readonly string[] | null = null;

  const footer = (columns: number): Footer => {
    const aside = conversation === null ? STOPS : conversation.aside();
    const state = [...(status === null ? [] : [status]), ...(aside === "" ? [] : [aside])].join(" · ");
    const waiting = conversation?.waiting().map((text) => `${PROMPT}${visibleLine(text)} (waits)`) ?? [];
    const working = [...waiting, ...(state === "" ? [] : [state])].map((row) => style.dim(wrappedOnce(row, columns)));
    const above = question === null ? working : question.slice(0, -1);
    if (conversation === null && question === null)
      return { rows: [...above, ""], cursor: { row: above.length, column: 0 } };
    const prompt = question === null ? PROMPT : (question.at(-1) ?? `${GUTTER} `);
    const { rows, cursor } = inputRows(editor.text, prompt, columns);
    return { rows: [...above, ...rows], cursor: { row: above.length + cursor.row, column: cursor.column } };
  };
  const screen = new Screen(output, footer);
  const say = (text: string): void => screen.write(text, AS_IT_IS);
  const questions = questionQueue(
    {
      get columns() {
        return output.columns;
      },
      get rows() {
        return output.rows;
      },
      say,
      hold: () => {
        question = [];
        editor.holdDraft();
        screen.refresh();
      },
      prompt: (rows) => {
        const wasAsking = question !== null;
        question = rows;
        if (rows !== null) editor.holdDraft();
        else if (wasAsking) editor.restoreDraft();
        screen.refresh();
      },
    },
    style,
    clock,
    onDecision,
  );
  const editor = openLineEditor({
    ...{ input, onInterrupt },
    complete: (line) => conversation?.complete(line) ?? [],
    onEnd: () => {
      hasEnded = true;
      if (conversation === null) questions.end();
      else conversation.onEnd();
    },
    onLine: (text, isAnswer) => {
      if (isAnswer) questions.answer(text);
      else if (text.trim() !== "") conversation?.onMessage(text);
    },
    onChange: () => screen.refresh(),
    onChoices: (choices) =>
      say(`${style.dim(wrappedLine(choices.map(visibleLine).join("  "), screen.columns, "  "))}\n`),
  });
  if (conversation !== null) editor.setHistory(conversation.history);
  output.write(MARK_PASTES);
  screen.refresh();

  const printer = (): ProgressPrinter => {
    const format = indented(markdownFormat(style));
    return progressPrinter({
      progress: { isTTY: true, columns: screen.columns, write: say },
      answer: { isTTY: true, write: (text) => screen.write(text, format) },
      style,
      isFolded: !isVerbose(),
      onStatus: (line) => {
        status = line;
        screen.refresh();
      },
    });
  };
  return {
    printer,
    isReachable: () => isOpen && !hasEnded,
    ask: (card) => {
      if (isOpen) questions.ask(card);
    },
    withdraw: (id) => {
      if (isOpen) questions.withdraw(id);
    },
    echo(text) {
      const rows = safeText(text).split("\n");
      const shown = rows.map((row, at) => wrappedLine(`${at === 0 ? PROMPT : MORE}${row}`, screen.columns, "  "));
      say(`${style.bold(shown.join("\n"))}\n`);
    },
    respond(text) {
      screen.write(`${safeText(text)}\n`, indented(markdownFormat(style)));
    },
    remark(line) {
      say(`${style.yellow(wrappedLine(visibleLine(line), screen.columns, "  "))}\n`);
    },
    discard() {
      const { lines } = editor.text;
      if (lines.every((line) => line === "")) return false;
      editor.clear();
      screen.refresh();
      return true;
    },
    setHistory: editor.setHistory,
    refresh: () => screen.refresh(),
    close() {
      if (!isOpen) return;
      isOpen = false;
      questions.clear();
      editor.close();
      screen.close();
      output.write(MARK_NO_PASTES);
    },
  };
}

const INDENT = "  ";

function indented(format: LineFormat): LineFormat {
  return {
    rows: (line, columns, isEnded) =>
      format.rows(line, columns - INDENT.length, isEnded).map((row) => (row === "" ? row : INDENT + row)),
  };
}

/** One row of ours; what does not fit is left out. */
function wrappedOnce(line: string, columns: number): string {
  const [first = "", ...others] = wrappedLine(line, columns - 1).split("\n");
  return others.length === 0 ? first : `${first}…`;
}

/** The lines behind the prompt, cut into rows; of many the last ones. */
function inputRows(
  { lines, cursor }: { readonly lines: readonly string[]; readonly cursor: number },
  prompt: string,
  columns: number,
): Footer {
  const rows: string[] = [];
  let place = { row: 0, column: 0 };
  const shownLines = lines.flatMap((line, at) => {
    // A message brought back has several lines in the one that is being written.
    const parts = line.split("\n");
    const isLast = at === lines.length - 1;
    let offset = 0;
    return parts.map((part) => {
      const begin = offset;
      offset += part.length + 1;
      const within = isLast && cursor >= begin && cursor <= begin + part.length ? cursor - begin : null;
      return { part, within };
    });
  });
  for (const [at, { part, within }] of shownLines.entries()) {
    const lead = at === 0 ? prompt : MORE;
    if (within !== null) {
      const before = cutRows(lead + safeText(part.slice(0, within)).replaceAll("\t", " "), columns - 1);
      place = { row: rows.length + before.length - 1, column: widthOf(before.at(-1) ?? "") };
    }
    rows.push(...cutRows(lead + safeText(part).replaceAll("\t", " "), columns - 1));
  }
  // The cursor may stand behind a full row.
  if (place.row >= rows.length) rows.push("");
  const hidden = Math.max(0, Math.min(rows.length - MAX_INPUT_ROWS, place.row));
  const shown = rows.slice(hidden, hidden + MAX_INPUT_ROWS);
  return { rows: shown, cursor: { row: place.row - hidden, column: place.column } };
}

function cutRows(line: string, width: number): readonly string[] {
  const rows = [""];
  let used = 0;
  for (const cluster of clustersOf(line)) {
    const cells = cellsOf(cluster, "read");
    if (used + cells > width) {
      rows.push("");
      used = 0;
    }
    rows[rows.length - 1] += cluster;
    used += cells;
  }
  return rows;
}

function widthOf(row: string): number {
  return cellsOf(row, "read");
}
