/** A home and a person at a terminal: shows runs there and asks their questions, through the gateway when one runs. */
import { LOST } from "../adapters/gateway-client/gateway-client-error.ts";
import { capabilityHints } from "../adapters/terminal/capability-hints.ts";
import { openLiveTerminal } from "../adapters/terminal/live-terminal.ts";
import { type OutputStream, type ProgressPrinter, progressPrinter } from "../adapters/terminal/progress-printer.ts";
import { styleFor } from "../adapters/terminal/style.ts";
import { type InputStream, terminalApprover } from "../adapters/terminal/terminal-approver.ts";
import { visibleText } from "../adapters/terminal/visible-text.ts";
import { excerptOf } from "../assistant/memory/retrieved-block.ts";
import type { OperationClient } from "../assistant/operations.ts";
import type { RunRecord } from "../kernel/journal/views/run-record.ts";
import type { ApprovalId, RunId } from "../kernel/vocabulary/identifiers.ts";
import type { ApprovalDecision } from "../runtime/approvals/operations.ts";
import type { ApprovalCard, Approver } from "../runtime/ports/approver.ts";
import { BootError, EXIT } from "./boot-error.ts";
import type { CommandContext } from "./command.ts";
import { type ConnectedAssistant, type Connecting, connectAssistant, valueIn } from "./connect-assistant.ts";
import { type Followed, followRun, isAway, pollApprovals, recordOf, type ShownQuestions } from "./follow-run.ts";
import { mayColour } from "./output.ts";
import { interrupt } from "./signals.ts";
import { systemClock } from "./system-clock.ts";

/** Where runs are shown, and the person who answers there. */
export interface Face extends Approver {
  /** For one run. */
  printer(): ProgressPrinter;
  remark(line: string): void;
  close(): void;
}

type Decide = (card: ApprovalCard, decision: ApprovalDecision) => void;
export type OpenFace = (decide: Decide) => Face;

export interface RunTerminal extends Pick<ConnectedAssistant, "operations" | "isRemote"> {
  readonly face: Face;
  /**
   * Shows a run to its end, and asks its questions here. With `leaving`, waits for a gateway that is away, and returns the
   * unended record when it aborts.
   */
  show(runId: RunId, leaving?: AbortSignal): Promise<RunRecord>;
}

export async function atTerminal(
  context: CommandContext,
  openFace: OpenFace,
  connecting: Connecting & { readonly isConversation?: boolean },
  use: (terminal: RunTerminal) => Promise<number>,
): Promise<number> {
  const said = connecting.isConversation === true ? new Set<string>() : null;
  let decide: Decide = () => {};
  let noteConnection = (_state: "lost" | "back"): void => {};
  const face = openFace((card, decision) => decide(card, decision));
  try {
    const { operations, isRemote, close } = await connectAssistant(context, face, {
      ...connecting,
      onConnection: (state) => noteConnection(state),
    });
    const undelivered = new Set<ApprovalId>();
    decide = (card, decision) => {
      answer(operations, card, decision).catch((error: unknown) => {
        face.remark(`Your answer was not taken: ${error instanceof Error ? error.message : String(error)}`);
        undelivered.add(card.id);
      });
    };
    const show = async (runId: RunId, leaving: AbortSignal | null): Promise<RunRecord> => {
      const printer = face.printer();
      const notes = connectionNotes(operations, runId, printer, leaving !== null);
      noteConnection = notes.onConnection;
      const questions: ShownQuestions = face.isReachable() ? face : { ask: printer.showWaiting, withdraw: () => {} };
      const polled = isRemote ? pollApprovals(operations, runId, questions, undelivered) : null;
      const followed = { operations, id: runId, printer, questions, leaving, ...notes };
      const record = await followRun(followed).finally(polled?.stop);
      polled?.withdrawAll();
      if (record.outcome === null) return record;
      printer.finish(record);
      if (!context.isJson) {
        const hints = [
          ...(await citationNotes(operations, runId, record)),
          ...(await capabilityHints(operations, record, said)),
        ];
        for (const hint of hints) face.remark(hint);
      }
      return record;
    };
    try {
      return await use({
        ...{ operations, isRemote, face },
        show: (runId, leaving) =>
          show(runId, leaving ?? null).catch((error: unknown) => Promise.reject(lostWhile(runId, error))),
      });
    } finally {
      await close();
    }
  } finally {
    face.close();
  }
}

const NOTE_CHARS = 80;

/** What the answer cites, each in a line: a terminal follows no link, so the command that shows it stands there. */
async function citationNotes(
  operations: OperationClient,
  id: RunId,
  { output }: Pick<RunRecord, "output">,
): Promise<readonly string[]> {
  if (!output.includes("[mem:")) return [];
  const given = await operations.call("memory.given", { id });
  if (!given.ok) return [];
  const { memories, not_given } = given.value;
  return [
    ...memories
      .filter(({ cited }) => cited)
      .map(({ id: memory, text }) => {
        const excerpt = text === null ? "forgotten" : excerptOf(text, [], NOTE_CHARS);
        return `${memory}: ${visibleText(excerpt)} (surety memory show ${memory})`;
      }),
    ...not_given.map((memory) => `${memory}: this run was not given such a memory`),
  ];
}

/** A terminal on which what goes on can be drawn again and again. */
export function canDraw({ streams, isJson, readVariable }: CommandContext): boolean {
  const isTerminal = streams.stdout.isTTY === true && streams.stderr.isTTY === true;
  return isTerminal && streams.stdin.isTTY === true && !isJson && readVariable("TERM") !== "dumb";
}

/** For one run: drawn where that is possible. */
export function runFace(context: CommandContext, isVerbose: boolean): OpenFace {
  const { streams, readVariable } = context;
  if (!canDraw(context)) return plainFace(context, streams.stdin);
  return (onDecision) =>
    openLiveTerminal({
      input: streams.stdin as unknown as NodeJS.ReadableStream,
      output: streams.stdout,
      style: styleFor(streams.stdout, mayColour(readVariable)),
      clock: systemClock,
      isVerbose: () => isVerbose,
      onInterrupt: interrupt,
      conversation: null,
      onDecision,
    });
}

/** Progress on stderr, the answer on stdout, questions to a terminal. */
export function plainFace(context: CommandContext, input: InputStream): OpenFace {
  const { output, streams } = context;
  return (decide) => {
    const approver = terminalApprover({
      ...{ input, output: streams.stderr, style: output.remarkStyle, clock: systemClock },
      onDecision: decide,
    });
    return { ...approver, printer: () => printerFor(context, approver.beside), remark: output.remark };
  };
}

function printerFor({ isJson, output, streams }: CommandContext, beside: OutputStream): ProgressPrinter {
  const progress = isJson && streams.stderr.isTTY !== true ? { write: () => {} } : beside;
  return progressPrinter({ progress, answer: isJson ? null : streams.stdout, style: output.remarkStyle });
}

/** Says once that the gateway is away, and what the record says once it is back. */
function connectionNotes(
  operations: OperationClient,
  runId: RunId,
  printer: ProgressPrinter,
  isPatient: boolean,
): Pick<Followed, "onConnection" | "caughtUp"> {
  let isLost = false;
  let caughtUp = Promise.resolve();
  const waiting = isPatient
    ? "Waiting for it: surety start"
    : `Trying to reconnect for half a minute; later: surety runs watch ${runId}`;
  const onConnection = (state: "lost" | "back"): void => {
    if (isLost === (state === "lost")) return;
    isLost = state === "lost";
    if (isLost) {
      printer.note(LOST);
      printer.note(waiting);
      return;
    }
    printer.note("The gateway is back.");
    printer.resume();
    caughtUp = recordOf(operations, runId)
      .then((record) => printer.showState(record))
      // It went away again, which `followRun` reports.
      .catch(() => {});
  };
  return { onConnection, caughtUp: () => caughtUp };
}

/** The gateway died while the run was shown: says how to see the rest of it. */
function lostWhile(runId: RunId, error: unknown): unknown {
  if (!isAway(error)) return error;
  return new BootError("gateway.lost", LOST, `surety start, then: surety runs watch ${runId}`, { cause: error });
}

async function answer(operations: OperationClient, card: ApprovalCard, decision: ApprovalDecision): Promise<void> {
  const { id, planHash: plan_hash } = card;
  valueIn(await operations.call("approvals.decide", { id, decision, plan_hash }), () => "See surety approvals ls.");
}

export function exitCodeOf({ status }: RunRecord): number {
  if (status === "completed") return EXIT.success;
  return status === "cancelled" ? EXIT.interrupted : EXIT.failure;
}
