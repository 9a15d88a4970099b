/**
 * The person at the terminal as an approver: one question at a time, the whole plan, one line as the answer.
 *
 * A1. Reachable only while input and output are both a terminal and the input has not ended.
 * A2. The plan cannot pass for the frame around it: each row of it is behind a bar, and characters that move the cursor or
 *     hide are written out. Tool and target are repeated directly above the prompt, where no plan can scroll them away.
 * A3. Only a line typed after its question appeared answers it: earlier input is discarded.
 * A4. Any other word asks again and lists the words. The end of the input denies, and leaves a `resolve` unanswered.
 * A5. Other output while a question is open goes above tool, target and prompt, so that they stay where the answer is typed.
 * A6. An answer counts for a plan that was laid out for this width: in a terminal that became narrower, rows may have lost
 *     their bar, so the question is shown again.
 */
import { StringDecoder } from "node:string_decoder";
import type { ApprovalId } from "../../kernel/vocabulary/identifiers.ts";
import type { ApprovalDecision } from "../../runtime/approvals/operations.ts";
import { targetIn } from "../../runtime/approvals/show-question.ts";
import type { ApprovalCard, Approver } from "../../runtime/ports/approver.ts";
import { barredRows, columnsOf, wrappedLine } from "./barred-text.ts";
import type { OutputStream } from "./progress-printer.ts";
import type { Style } from "./style.ts";
import { visibleLine } from "./visible-text.ts";

type Answer = ApprovalDecision;

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
  readonly onDecision: (card: ApprovalCard, decision: Answer) => void;
}

export interface TerminalApprover extends Approver {
  /** The output, for others who print there. */
  readonly beside: OutputStream;
  /** Stops reading the input. */
  close(): void;
}

const WORDS: Readonly<Record<ApprovalCard["kind"], Readonly<Record<string, Answer>>>> = {
  approve: { a: "allow", allow: "allow", y: "allow", yes: "allow", d: "deny", deny: "deny", n: "deny", no: "deny" },
  resolve: { d: "done", done: "done", r: "retry", retry: "retry", f: "fail", fail: "fail" },
};
const PROMPTS: Readonly<Record<ApprovalCard["kind"], string>> = {
  approve: "[a]llow / [d]eny: ",
  resolve: "[d]one / [r]etry / [f]ail: ",
};
/** Returns to the start of the line and clears it. */
const CLEAR_LINE = "\r\u001b[K";
const MAX_LINE_CHARS = 4096;

export function terminalApprover({ input, output, style, onDecision }: Conversation): TerminalApprover {
  const waiting: ApprovalCard[] = [];
  const decoder = new StringDecoder("utf8");
  const isTerminal = input.isTTY === true && output.isTTY === true;
  let isOpen = isTerminal;
  let typed = "";
  let laidOutFor = 0;

  const promptFor = (card: ApprovalCard): string =>
    `${[...closingRows(card, output, style), PROMPTS[card.kind]].join("\n")}`;
  const showNext = (): void => {
    const [card] = waiting;
    if (card === undefined) {
      input.unref?.();
      return;
    }
    typed = "";
    input.ref?.();
    laidOutFor = columnsOf(output);
    output.write(`${questionOf(card, output, style)}\n${promptFor(card)}`);
  };
  const settle = (card: ApprovalCard, answer: Answer): void => {
    waiting.shift();
    onDecision(card, answer);
    showNext();
  };
  const readLine = (line: string): void => {
    const [card] = waiting;
    if (card === undefined) return;
    const answer = WORDS[card.kind][line.trim().toLowerCase()];
    if (answer === undefined) output.write(`${expected(card)}\n${PROMPTS[card.kind]}`);
    else if (columnsOf(output) < laidOutFor) {
      output.write("The terminal became narrower: please read this again.\n");
      showNext();
    } else settle(card, answer);
  };
  const read = (chunk: Buffer | string): void => {
    const lines = (typed + (typeof chunk === "string" ? chunk : decoder.write(chunk))).split(/\r\n|[\n\r]/);
    typed = "";
    const rest = lines.pop() ?? "";
    // Only the first line of a chunk answers: the next question was not visible yet.
    const [first] = lines;
    if (first !== undefined) readLine(first);
    else typed = rest.slice(-MAX_LINE_CHARS);
  };
  const end = (): void => {
    isOpen = false;
    const unanswered = waiting.splice(0);
    for (const card of unanswered) if (card.kind === "approve") onDecision(card, "deny");
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
      const [card] = waiting;
      if (card === undefined) return output.write(text);
      return output.write(`${CLEAR_LINE}${text}${text.endsWith("\n") ? "" : "\n"}${promptFor(card)}`);
    },
  };
  return {
    beside,
    isReachable: () => isOpen,
    ask(card) {
      if (!isOpen || waiting.some(({ id }) => id === card.id)) return;
      waiting.push(card);
      if (waiting.length === 1) showNext();
    },
    withdraw(id: ApprovalId) {
      const index = waiting.findIndex((card) => card.id === id);
      if (index < 0) return;
      waiting.splice(index, 1);
      if (index > 0) return;
      output.write("\n(no longer needs an answer: it was answered elsewhere, or its time is up)\n");
      showNext();
    },
    close() {
      isOpen = false;
      waiting.length = 0;
      if (!isTerminal) return;
      input.off("data", read);
      input.off("end", end);
      input.pause();
    },
  };
}

function expected({ kind }: ApprovalCard): string {
  return `Please answer with one of: ${Object.keys(WORDS[kind]).join(", ")}.`;
}

/** What was assumed of a terminal that does not tell its height. */
const USUAL_ROWS = 24;

function questionOf(card: ApprovalCard, output: OutputStream, style: Style): string {
  const { columns, rows = USUAL_ROWS } = output;
  const heading =
    card.kind === "resolve"
      ? `Was this done before Surety was interrupted? ${visibleLine(card.tool)}`
      : `The assistant wants to run: ${visibleLine(card.tool)}`;
  const plan = barredRows(card.shown, columns, "decide", style.dim);
  const { integrity, confidentiality } = card.labels;
  const facts = [
    `why: ${visibleLine(card.why)}`,
    `has seen: ${integrity}, ${confidentiality}`,
    `plan: ${visibleLine(card.planHash)}`,
    ...(plan.length < rows ? [] : [`It has ${plan.length} rows: scroll up to read all of it.`]),
  ];
  return [
    "",
    style.yellow(wrappedLine(heading, columns)),
    ...plan,
    ...facts.map((fact) => style.dim(wrappedLine(`  ${fact}`, columns))),
  ].join("\n");
}

/** Tool and target of a question, to be shown directly above the answers. */
function closingRows(
  { kind, tool, shown }: Pick<ApprovalCard, "kind" | "tool" | "shown">,
  { columns }: Pick<OutputStream, "columns">,
  style: Style,
): readonly string[] {
  const question = kind === "resolve" ? `Was ${visibleLine(tool)} done?` : `Allow ${visibleLine(tool)}?`;
  const target = targetIn(shown, tool);
  return [
    style.yellow(wrappedLine(question, columns)),
    ...(target === "" ? [] : barredRows(target, columns, "decide", style.dim)),
  ];
}
