/**
 * The person at the terminal as an approver of one command's run (question-queue.ts asks the questions).
 *
 * A1. Reachable only while input and output are both a terminal and the input has not ended.
 * A2. Only a line typed after its question appeared answers it: earlier input is discarded.
 * A3. Other output while a question is open goes above tool, target and prompt, so that they stay where the answer is typed.
 */
import { StringDecoder } from "node:string_decoder";
import type { ApprovalDecision } from "../../runtime/approvals/operations.ts";
import type { ApprovalCard, Approver } from "../../runtime/ports/approver.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { OutputStream } from "./progress-printer.ts";
import { questionQueue } from "./question-queue.ts";
import type { Style } from "./style.ts";

export interface InputStream {
  readonly isTTY?: boolean | undefined;
  on(event: "data", listener: (chunk: Buffer | string) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  off(event: "data" | "end", listener: (chunk: Buffer | string) => void): unknown;
  pause(): unknown;
  ref?(): unknown;
  unref?(): unknown;
}

interface Conversation {
  readonly input: InputStream;
  readonly output: OutputStream;
  readonly style: Style;
  readonly clock: Pick<Clock, "wake">;
  readonly onDecision: (card: ApprovalCard, decision: ApprovalDecision) => void;
}

export interface TerminalApprover extends Approver {
  /** The output, for others who print there. */
  readonly beside: OutputStream;
  /** Stops reading the input. */
  close(): void;
}

/** Returns to the start of the line and clears it. */
const CLEAR_LINE = "\r\u001b[K";
const MAX_LINE_CHARS = 4096;

export function terminalApprover({ input, output, style, clock, onDecision }: Conversation): TerminalApprover {
  const decoder = new StringDecoder("utf8");
  const isTerminal = input.isTTY === true && output.isTTY === true;
  let isOpen = isTerminal;
  let typed = "";

  const display = {
    get columns() {
      return output.columns;
    },
    get rows() {
      return output.rows;
    },
    say: (text: string): void => {
      typed = "";
      output.write(text);
    },
    hold: (): void => {
      input.ref?.();
    },
    prompt: (rows: readonly string[] | null): void => {
      typed = "";
      if (rows === null) input.unref?.();
      else output.write(rows.join("\n"));
    },
  };
  const questions = questionQueue(display, style, clock, onDecision);
  const read = (chunk: Buffer | string): void => {
    const lines = (typed + (typeof chunk === "string" ? chunk : decoder.write(chunk))).split(/\r\n|[\n\r]/);
    typed = "";
    const rest = lines.pop() ?? "";
    // Only the first line of a chunk answers: the next question was not visible yet.
    const [first] = lines;
    if (first !== undefined) questions.answer(first);
    else typed = rest.slice(-MAX_LINE_CHARS);
  };
  const end = (): void => {
    isOpen = false;
    questions.end();
  };

  if (isTerminal) {
    input.on("data", read);
    input.on("end", end);
    input.unref?.();
  }
  const beside: OutputStream = {
    isTTY: output.isTTY,
    get columns() {
      return output.columns;
    },
    write(text) {
      if (!questions.isAsking) return output.write(text);
      output.write(`${CLEAR_LINE}${text}${text.endsWith("\n") ? "" : "\n"}`);
      return questions.remind();
    },
  };
  return {
    beside,
    isReachable: () => isOpen,
    ask: (card) => {
      if (isOpen) questions.ask(card);
    },
    withdraw: (id) => {
      if (isOpen) questions.withdraw(id);
    },
    close() {
      isOpen = false;
      questions.clear();
      if (!isTerminal) return;
      input.off("data", read);
      input.off("end", end);
      input.pause();
    },
  };
}
