/** `surety run "message"`: one run, shown as it happens; through the gateway when one runs on this home. */

import { GatewayClientError, LOST } from "../../adapters/gateway-client/gateway-client-error.ts";
import { capabilityHints } from "../../adapters/terminal/capability-hints.ts";
import { type OutputStream, type ProgressPrinter, progressPrinter } from "../../adapters/terminal/progress-printer.ts";
import { type InputStream, terminalApprover } from "../../adapters/terminal/terminal-approver.ts";
import type { OperationClient } from "../../assistant/operations.ts";
import type { RunInput } from "../../assistant/runs/run-request.ts";
import type { RunUpdate } from "../../assistant/runs/run-updates.ts";
import type { RunRecord } from "../../kernel/journal/views/run-record.ts";
import { type ApprovalId, asApprovalId, type RunId } from "../../kernel/vocabulary/identifiers.ts";
import { THINKING_LEVELS } from "../../kernel/vocabulary/thinking-level.ts";
import { toWire } from "../../kernel/vocabulary/wire-case.ts";
import { type ApprovalDecision, cardFromWire } from "../../runtime/approvals/operations.ts";
import { AUTO } from "../../runtime/model/model-router.ts";
import type { ApprovalCard, Approver } from "../../runtime/ports/approver.ts";
import { BootError, EXIT, usageError } from "../boot-error.ts";
import type { Action, CommandContext } from "../command.ts";
import type { Config } from "../config/config.ts";
import { loadConfig } from "../config/load-config.ts";
import { configuredRefs } from "../config/resolve-configured-model-ref.ts";
import { type ConnectedAssistant, connectAssistant, valueIn } from "../connect-assistant.ts";
import { nearest } from "../nearest.ts";
import { describedTools } from "../read-home.ts";
import { readStandardInput } from "../read-standard-input.ts";
import { onInterrupt } from "../signals.ts";
import { systemClock } from "../system-clock.ts";
import { allPages } from "./all-pages.ts";
import { readImageFile } from "./read-image-file.ts";

export const command: Action = {
  summary: "let the assistant work on one message (- reads it from standard input), and show what it does",
  arguments: ["MESSAGE"],
  options: {
    agent: { type: "string", value: "A", summary: "the agent that acts (default main)" },
    model: { type: "string", value: "P:M", summary: "provider:model instead of the configured one, or auto" },
    session: { type: "string", value: "S", summary: "go on with this session" },
    image: { type: "string", value: "FILE", summary: "show this image along with the message", multiple: true },
    thinking: { type: "string", value: "LEVEL", summary: "how much the model thinks: off, low, medium, high" },
    require: { type: "string", value: "TOOL", summary: "succeed only if this tool was performed", multiple: true },
    "forbid-tools": { type: "boolean", summary: "no tool may be called" },
    strict: { type: "boolean", summary: "nothing malformed is repaired, and a tool must be called unless forbidden" },
    approve: { type: "string", value: "TOOL", summary: "approve this tool for this run", multiple: true },
    wait: { type: "boolean", summary: "without a terminal: wait for approvals given through the gateway" },
  },
  examples: [
    'surety run "list files"',
    'surety run "write hello to a.txt" --approve fs.write_text',
    'surety run "list files" --json',
    'surety run "what is on it?" --image photo.jpg',
    "git diff | surety run -",
  ],
  run: performRun,
};

async function performRun(context: CommandContext): Promise<number> {
  const { output, streams } = context;
  const isPiped = context.arguments[0] === "-";
  const asked = { ...(await inputOf(context)), ...(await mediaOf(context)) };
  return await atTerminal(context, isPiped ? ENDED_INPUT : streams.stdin, true, async (terminal) => {
    const { operations, isRemote, isReachable, show } = terminal;
    const mayBeAsked = isReachable() || context.options.flag("wait");
    const input: RunInput = mayBeAsked ? asked : { ...asked, unattended: true };
    if (!isRemote && !isReachable() && context.options.flag("wait")) output.remark(NO_GATEWAY_TO_WAIT_FOR);
    const { id } = valueIn(await operations.call("runs.create", input), hintFor);
    const stopListening = onInterrupt(() => operations.call("runs.cancel", { id }));
    return await show(id).finally(stopListening);
  });
}

interface Terminal extends Pick<ConnectedAssistant, "operations" | "isRemote">, Pick<Approver, "isReachable"> {
  /** Shows a run to its end, and asks its questions here. Returns the exit code. */
  show(runId: RunId): Promise<number>;
}

/** `drives`: as of connectAssistant. */
export async function atTerminal(
  context: CommandContext,
  input: InputStream,
  drives: boolean,
  use: (terminal: Terminal) => Promise<number>,
): Promise<number> {
  const { isJson, output, streams } = context;
  let decide = (_card: ApprovalCard, _decision: ApprovalDecision): void => {};
  let noteConnection = (_state: "lost" | "back"): void => {};
  const approver = terminalApprover({
    input,
    output: streams.stderr,
    style: output.remarkStyle,
    onDecision: (card, decision) => decide(card, decision),
  });
  const { operations, isRemote, close } = await connectAssistant(context, approver, drives, (state) =>
    noteConnection(state),
  );
  const undelivered = new Set<ApprovalId>();
  decide = (card, decision) => {
    answer(operations, card, decision).catch((error: unknown) => {
      output.remark(`Your answer was not taken: ${error instanceof Error ? error.message : String(error)}`);
      undelivered.add(card.id);
    });
  };
  const show = async (runId: RunId): Promise<number> => {
    const printer = printerFor(context, approver.beside);
    noteConnection = (state) => {
      printer.note(state === "back" ? "The gateway is back." : LOST);
      if (state === "lost") printer.note(`Trying to reconnect for half a minute; later: surety runs watch ${runId}`);
    };
    const shown: ShownQuestions = approver.isReachable() ? approver : { ask: printer.showWaiting, withdraw: () => {} };
    const questions = isRemote ? pollApprovals(operations, runId, shown, undelivered) : null;
    const record = await follow(operations, runId, printer, shown).finally(questions?.stop);
    questions?.withdrawAll();
    printer.finish(record);
    if (isJson) output.json(record);
    else for (const hint of await capabilityHints(operations, record)) output.remark(hint);
    return exitCodeOf(record);
  };
  try {
    return await use({
      ...{ operations, isRemote, isReachable: approver.isReachable },
      show: (runId) => show(runId).catch((error: unknown) => Promise.reject(lostWhile(runId, error))),
    });
  } finally {
    approver.close();
    await close();
  }
}

/** The gateway died while the run was shown: says how to see the rest of it. */
function lostWhile(runId: RunId, error: unknown): unknown {
  const isLost = error instanceof GatewayClientError && ["gateway.lost", "gateway.unreachable"].includes(error.code);
  if (!isLost) return error;
  return new BootError("gateway.lost", LOST, `surety start, then: surety runs watch ${runId}`, { cause: error });
}

/** The message was read to the end of standard input: no answer can come from there. */
const ENDED_INPUT: InputStream = { isTTY: false, on: () => {}, off: () => {}, pause: () => {} };

const NO_GATEWAY_TO_WAIT_FOR =
  "warning run.no-gateway: no gateway runs on this home, so --wait has no effect and calls that need approval are denied; surety start runs one";

async function inputOf(context: CommandContext): Promise<RunInput> {
  const [given = ""] = context.arguments;
  const { options, streams } = context;
  const session = options.text("session");
  const [required, approvedTools] = [options.texts("require"), options.texts("approve")];
  const config = await loadConfig(context.home.configFile);
  const known = describedTools(context, config).tools.map(({ name }) => name);
  assertKnown("require", required, known);
  assertKnown("approve", approvedTools, known);
  if (required.length > 0 && options.flag("forbid-tools")) {
    throw usageError("--require and --forbid-tools contradict each other", "Leave one of them out.");
  }
  const message = given === "-" ? await readStandardInput(streams.stdin) : given;
  return {
    agent_id: options.text("agent") ?? "main",
    message,
    ...(session === undefined ? {} : { session_id: session }),
    ...modelOf(options.text("model"), config),
    ...thinkingOf(options.text("thinking")),
    contract: overridesOf(required, options.flag("forbid-tools"), options.flag("strict")),
    approved_tools: [...approvedTools],
  };
}

async function mediaOf({ options }: CommandContext): Promise<Pick<RunInput, "media">> {
  const paths = options.texts("image");
  return paths.length === 0 ? {} : { media: toWire(await Promise.all(paths.map(readImageFile))) };
}

function modelOf(ref: string | undefined, config: Config): Pick<RunInput, "model"> {
  if (ref === undefined) return {};
  if (ref === AUTO || /^[^:]+:./.test(ref)) return { model: ref };
  const choices = configuredRefs(config).join(", ");
  throw usageError(`--model ${ref} is not provider:model`, `There is: ${choices}; auto lets the router choose.`);
}

function thinkingOf(asked: string | undefined): Pick<RunInput, "thinking_level"> {
  if (asked === undefined) return {};
  const thinking_level = THINKING_LEVELS.find((level) => level === asked);
  if (thinking_level !== undefined) return { thinking_level };
  throw usageError(`--thinking ${asked} is not a level`, `There is: ${THINKING_LEVELS.join(", ")}.`);
}

/** By exact names: a pattern could approve a tool the operator did not think of. */
function assertKnown(option: "approve" | "require", named: readonly string[], known: readonly string[]): void {
  const unknown = named.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const meant = nearest(unknown, known);
  const hint = meant === null ? `There is: ${known.join(", ")}.` : `Did you mean ${meant}?`;
  throw usageError(`--${option} ${unknown} is not a registered tool`, hint);
}

type Overrides = NonNullable<RunInput["contract"]>;

function overridesOf(required: readonly string[], isForbidden: boolean, isStrict: boolean): Overrides {
  const strict = isStrict ? { strict_mode: true } : {};
  if (isForbidden) return { ...strict, tool_policy: "forbidden" };
  if (required.length === 0) return isStrict ? { ...strict, tool_policy: "required" } : {};
  return { ...strict, tool_policy: "required", required_effects: required.map((tool) => ({ tool })) };
}

function printerFor({ isJson, output, streams }: CommandContext, beside: OutputStream): ProgressPrinter {
  const progress = isJson && streams.stderr.isTTY !== true ? { write: () => {} } : beside;
  return progressPrinter({ progress, answer: isJson ? null : streams.stdout, style: output.remarkStyle });
}

async function follow(
  operations: OperationClient,
  id: RunId,
  printer: ProgressPrinter,
  { withdraw }: ShownQuestions,
): Promise<RunRecord> {
  const subscription = await operations.subscribe("runs.events", { id }, 0, new AbortController().signal);
  const hasBegun = announceQueued(operations, id, printer);
  for await (const update of subscription.ok ? subscription.updates : []) {
    hasBegun();
    const answered = approvalIn(update);
    if (answered !== null) withdraw(answered);
    printer.show(update);
  }
  return valueIn(await operations.call("runs.get", { id }), () => "See surety verify --home.");
}

/** The question that was answered before this call. */
function approvalIn(update: RunUpdate): ApprovalId | null {
  if (update.kind !== "event" || update.event.event_type !== "tool.call") return null;
  const { approval } = update.event.payload;
  return approval === null ? null : asApprovalId(approval.id);
}

/** Most runs begin within this time: then nothing is said about the queue. */
const BEGINS_WITHIN_MS = 300;

/** Says that the run is queued, unless the returned function is called first. */
function announceQueued(operations: OperationClient, id: RunId, printer: ProgressPrinter): () => void {
  let isWaiting = true;
  const look = async (): Promise<void> => {
    const record = await operations.call("runs.get", { id });
    if (isWaiting && record.ok && record.value.status === "queued") printer.showQueued(id);
  };
  // A lost gateway is reported by `follow`.
  const cancel = systemClock.wake(BEGINS_WITHIN_MS, () => look().catch(() => {}));
  return () => {
    isWaiting = false;
    cancel();
  };
}

const POLL_MS = 300;

type ShownQuestions = Pick<Approver, "ask" | "withdraw">;

/** Beside a gateway: asks this terminal what the gateway holds for this run, and takes back what was answered elsewhere. */
function pollApprovals(
  operations: OperationClient,
  runId: RunId,
  { ask, withdraw }: ShownQuestions,
  undelivered: Set<ApprovalId>,
): { stop(): void; withdrawAll(): void } {
  let asked: ReadonlySet<ApprovalId> = new Set();
  let isOver = false;
  const poll = async (): Promise<void> => {
    const all = await allPages(
      async (page) => valueIn(await operations.call("approvals.list", page), hintFor).approvals,
    );
    if (isOver) return;
    const pending = all.filter(({ run_id }) => run_id === runId);
    const ids = new Set(pending.map(({ id }) => id));
    for (const id of asked) if (!ids.has(id)) withdraw(id);
    for (const card of pending) if (undelivered.delete(card.id) || !asked.has(card.id)) ask(cardFromWire(card));
    asked = ids;
  };
  // A lost gateway is reported by `follow`.
  const pollSafely = (): void => {
    poll()
      .catch(() => {})
      .finally(() => {
        if (!isOver) systemClock.wake(POLL_MS, pollSafely);
      });
  };
  pollSafely();
  return {
    stop: () => {
      isOver = true;
    },
    withdrawAll: () => {
      for (const id of asked) withdraw(id);
    },
  };
}

async function answer(operations: OperationClient, card: ApprovalCard, decision: ApprovalDecision): Promise<void> {
  const { id, planHash: plan_hash } = card;
  valueIn(await operations.call("approvals.decide", { id, decision, plan_hash }), hintFor);
}

function exitCodeOf({ status }: RunRecord): number {
  if (status === "completed") return EXIT.success;
  return status === "cancelled" ? EXIT.interrupted : EXIT.failure;
}

const HINTS: Readonly<Record<string, string>> = {
  // The message says it all, in one line (P-1.3).
  "invalid.request": "",
  not_found: "See surety config get agents for agents; surety runs show RUN names the session of a run.",
  "queue.full": "Wait until some have ended (surety runs ls --status queued), or raise gateway.queue.max.",
  "store.unavailable": "The gateway reports why on its stderr, and continues by itself once it can write again.",
  "payload.too_large": "Make it smaller. Through a running gateway, a message and its images have room for 750 KB.",
};

function hintFor(code: string): string {
  return HINTS[code] ?? "See surety run --help.";
}
