/**
 * Questions that wait for the person at a terminal: one at a time, the whole plan, one line as the answer.
 *
 * A1. The plan cannot pass for the frame around it: each row of it is behind a bar, and characters that move the cursor or
 *     hide are written out. Tool and target are repeated directly above the prompt, where no plan can scroll them away.
 *     Every row of a question is behind the gutter, which no foreign text can draw: a model's text cannot pass for one.
 * A2. Any word that is no answer asks again and lists the words. The end of the input denies, and leaves a `resolve`
 *     unanswered.
 * A3. An answer counts for a plan that was laid out for this width: in a terminal that became narrower, rows may have lost
 *     their bar, so the question is shown again.
 * A4. No answer counts before the prompt is there, which is a moment after the question: a key that was on its way to
 *     something else answers nothing.
 */
import type { ApprovalId } from "../../kernel/vocabulary/identifiers.ts";
import type { ApprovalDecision } from "../../runtime/approvals/operations.ts";
import { targetIn } from "../../runtime/approvals/show-question.ts";
import type { ApprovalCard } from "../../runtime/ports/approver.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import { barredRows, type Columns, columnsOf, MARKED_INDENT, wrappedLine } from "./barred-text.ts";
import type { Style } from "./style.ts";
import { GUTTER, visibleLine } from "./visible-text.ts";

/** Where a question is read. */
export interface QuestionDisplay {
  /** The terminal's size. */
  readonly columns: Columns;
  readonly rows: number | undefined;
  /** Whole lines. */
  say(text: string): void;
  /** A question was shown: what is written from now on is no message, and no answer before the prompt either. */
  hold(): void;
  /** Rows to keep where the answer is written, the last one the prompt itself; null: nothing is asked. */
  prompt(rows: readonly string[] | null): void;
}

export interface QuestionQueue {
  readonly isAsking: boolean;
  ask(card: ApprovalCard): void;
  withdraw(id: ApprovalId): void;
  answer(line: string): void;
  /** Repeats the prompt. */
  remind(): void;
  /** No answer will come. */
  end(): void;
  clear(): void;
}

type Words = Readonly<Record<ApprovalCard["kind"], Readonly<Record<string, ApprovalDecision>>>>;
const WORDS: Words = {
  approve: { a: "allow", allow: "allow", y: "allow", yes: "allow", d: "deny", deny: "deny", n: "deny", no: "deny" },
  resolve: { d: "done", done: "done", r: "retry", retry: "retry", f: "fail", fail: "fail" },
};
const PROMPTS: Readonly<Record<ApprovalCard["kind"], string>> = {
  approve: "[Allow] [Deny] (a/d): ",
  resolve: "[Done] [Retry] [Fail] (d/r/f): ",
};

/** Between a question and its prompt. */
const SETTLE_MS = 700;

export function questionQueue(
  display: QuestionDisplay,
  style: Style,
  clock: Pick<Clock, "wake">,
  onDecision: (card: ApprovalCard, decision: ApprovalDecision) => void,
): QuestionQueue {
  const waiting: ApprovalCard[] = [];
  let laidOutFor = 0;
  let isSettled = false;
  let cancelWake = (): void => {};

  const remind = (): void => {
    const [card] = waiting;
    if (card === undefined) display.prompt(null);
    else if (isSettled) display.prompt([...closingRows(card, display, style), `${GUTTER} ${PROMPTS[card.kind]}`]);
  };
  const showNext = (): void => {
    const [card] = waiting;
    cancelWake();
    isSettled = false;
    if (card === undefined) {
      remind();
      return;
    }
    laidOutFor = columnsOf(display);
    display.say(questionOf(card, display, style));
    display.hold();
    cancelWake = clock.wake(SETTLE_MS, () => {
      isSettled = true;
      remind();
    });
  };
  return {
    get isAsking() {
      return waiting.length > 0;
    },
    remind,
    ask(card) {
      if (waiting.some(({ id }) => id === card.id)) return;
      waiting.push(card);
      if (waiting.length === 1) showNext();
    },
    withdraw(id) {
      const index = waiting.findIndex((card) => card.id === id);
      if (index < 0) return;
      waiting.splice(index, 1);
      if (index > 0) return;
      display.say("(no longer needs an answer: it was answered elsewhere, or its time is up)\n");
      showNext();
    },
    answer(line) {
      const [card] = waiting;
      if (card === undefined || !isSettled) return;
      const answer = WORDS[card.kind][line.trim().toLowerCase()];
      if (answer === undefined) {
        display.say(`Please answer with one of: ${Object.keys(WORDS[card.kind]).join(", ")}.\n`);
        remind();
      } else if (columnsOf(display) < laidOutFor) {
        display.say("The terminal became narrower: please read this again.\n");
        showNext();
      } else {
        waiting.shift();
        onDecision(card, answer);
        showNext();
      }
    },
    end() {
      const unanswered = waiting.splice(0);
      for (const card of unanswered) if (card.kind === "approve") onDecision(card, "deny");
    },
    clear() {
      cancelWake();
      waiting.length = 0;
    },
  };
}

/** What was assumed of a terminal that does not tell its height. */
const USUAL_ROWS = 24;

/** What is left of a row beside the gutter. */
function besideGutter(display: Pick<QuestionDisplay, "columns">): number {
  return Math.max(1, columnsOf(display) - 2);
}

function behindGutter(rows: string): readonly string[] {
  return rows.split("\n").map((row) => `${GUTTER} ${row}`);
}

function questionOf(card: ApprovalCard, display: QuestionDisplay, style: Style): string {
  const columns = besideGutter(display);
  const { rows = USUAL_ROWS } = display;
  const call = `${visibleLine(card.tool)} ${visibleLine(targetIn(card.shown, card.tool))}`.trimEnd();
  const heading =
    card.kind === "resolve"
      ? `Was this done before Surety was interrupted? ${call}`
      : `⚠️ The assistant wants to run: ${call}`;
  const plan = barredRows(card.shown, columns, "decide", style.dim);
  const { integrity, confidentiality } = card.labels;
  const facts = [
    `why: ${visibleLine(card.why)}`,
    `has seen: ${integrity}, ${confidentiality}`,
    `plan: ${visibleLine(card.planHash)}`,
    ...(plan.length < rows ? [] : [`It has ${plan.length} rows: scroll up to read all of it.`]),
  ];
  const lines = [
    ...behindGutter(wrappedLine(heading, columns, MARKED_INDENT)).map(style.yellow),
    ...plan.flatMap(behindGutter),
    ...facts.flatMap((fact) => behindGutter(wrappedLine(`  ${fact}`, columns, MARKED_INDENT)).map(style.dim)),
  ];
  return `\n${lines.join("\n")}\n`;
}

/** Tool and target of a question, to be shown directly above the answers. */
function closingRows(
  { kind, tool, shown }: Pick<ApprovalCard, "kind" | "tool" | "shown">,
  display: Pick<QuestionDisplay, "columns">,
  style: Style,
): readonly string[] {
  const columns = besideGutter(display);
  const question = kind === "resolve" ? `Was ${visibleLine(tool)} done?` : `Allow ${visibleLine(tool)}?`;
  const target = targetIn(shown, tool);
  return [
    ...behindGutter(wrappedLine(question, columns, MARKED_INDENT)).map(style.yellow),
    ...(target === "" ? [] : barredRows(target, columns, "decide", style.dim).flatMap(behindGutter)),
  ];
}
