/** `surety run "message"`: one run, shown as it happens; through the gateway when one runs on this home. */

import { type Denial, denialHints, denialIn } from "../../adapters/terminal/denial-hints.ts";
import { type OutputStream, type ProgressPrinter, progressPrinter } from "../../adapters/terminal/progress-printer.ts";
import { terminalApprover } from "../../adapters/terminal/terminal-approver.ts";
import type { Assistant, ContractOverrides, Decision, RunRequest } from "../../assistant/assistant.ts";
import type { RunRecord } from "../../kernel/journal/views/run-record.ts";
import { type ApprovalId, asSessionId, type RunId } from "../../kernel/vocabulary/identifiers.ts";
import { THINKING_LEVELS } from "../../kernel/vocabulary/thinking-level.ts";
import { AUTO } from "../../runtime/model/model-router.ts";
import type { ApprovalCard } from "../../runtime/ports/approver.ts";
import { BootError, EXIT, usageError } from "../boot-error.ts";
import type { Action, CommandContext } from "../command.ts";
import type { Config } from "../config/config.ts";
import { loadConfig } from "../config/load-config.ts";
import { configuredRefs } from "../config/resolve-configured-model-ref.ts";
import { connectAssistant } from "../connect-assistant.ts";
import { nearest } from "../nearest.ts";
import { describedTools, findOutAbout, findRun, withHome } from "../read-home.ts";
import { onInterrupt } from "../signals.ts";
import { systemClock } from "../system-clock.ts";
import { readImageFile } from "./read-image-file.ts";

export const run: Action = {
  summary: "let the assistant work on one message, and show what it does",
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
  ],
  run: performRun,
};

async function performRun(context: CommandContext): Promise<number> {
  const { isJson, output, streams } = context;
  const asked = { ...(await requestOf(context)), ...(await mediaOf(context)) };
  let decide = (_card: ApprovalCard, _decision: Decision["decision"]): void => {};
  const approver = terminalApprover({
    input: streams.stdin,
    output: streams.stderr,
    style: output.remarkStyle,
    onDecision: (card, decision) => decide(card, decision),
  });
  const mayBeAsked = approver.isReachable() || context.options.flag("wait");
  const request: RunRequest = mayBeAsked ? asked : { ...asked, isUnattended: true };
  const { assistant, isRemote, close } = await connectAssistant(context, approver);
  if (!isRemote && !approver.isReachable() && context.options.flag("wait")) output.remark(NOBODY_TO_WAIT_FOR);
  try {
    decide = (card, decision) => {
      answer(assistant, card, decision).catch((error: unknown) => output.remark(String(error)));
    };
    const submitted = await assistant.submit(request);
    if (!submitted.ok) throw refusal(submitted.code, submitted.message);
    const stopListening = onInterrupt(() => assistant.cancel(submitted.runId, "operator"));
    try {
      const printer = printerFor(context, approver.beside);
      const ask = approver.isReachable() ? approver.ask : printer.showWaiting;
      const stopLooking = isRemote ? lookForQuestions(assistant, submitted.runId, ask) : () => {};
      const { record, denials } = await follow(assistant, submitted.runId, printer).finally(stopLooking);
      // Read beside whoever writes to the home.
      const foundOut = await withHome(context, async (home) => findOutAbout(home, await findRun(home, record.id)));
      printer.finish(record, foundOut);
      if (isJson) output.json(record);
      else for (const hint of await denialHints(assistant, record, denials)) output.remark(hint);
      return exitCodeOf(record);
    } finally {
      stopListening();
    }
  } finally {
    approver.close();
    await close();
  }
}

const NOBODY_TO_WAIT_FOR =
  "warning run.no-gateway: no gateway runs on this home, so --wait has nobody to wait for and what needs approval is denied; surety start runs one";

async function requestOf(context: CommandContext): Promise<RunRequest> {
  const {
    arguments: [message = ""],
    options,
  } = context;
  const session = options.text("session");
  const [required, approvedTools] = [options.texts("require"), options.texts("approve")];
  const config = await loadConfig(context.home.configFile);
  const known = describedTools(context, config).tools.map(({ name }) => name);
  assertKnown("require", required, known);
  assertKnown("approve", approvedTools, known);
  if (required.length > 0 && options.flag("forbid-tools")) {
    throw usageError("--require and --forbid-tools contradict each other", "Leave one of them out.");
  }
  return {
    agentId: options.text("agent") ?? "main",
    message,
    sessionId: session === undefined ? null : asSessionId(session),
    model: modelOf(options.text("model"), config),
    thinkingMode: null,
    ...thinkingOf(options.text("thinking")),
    contract: overridesOf(required, options.flag("forbid-tools"), options.flag("strict")),
    approvedTools,
    source: "cli",
    principal: "operator",
    idempotencyKey: null,
  };
}

async function mediaOf({ options }: CommandContext): Promise<Pick<RunRequest, "media">> {
  const paths = options.texts("image");
  return paths.length === 0 ? {} : { media: await Promise.all(paths.map(readImageFile)) };
}

function modelOf(ref: string | undefined, config: Config): string | null {
  if (ref === undefined) return null;
  if (ref === AUTO || /^[^:]+:./.test(ref)) return ref;
  const choices = configuredRefs(config).join(", ");
  throw usageError(`--model ${ref} is not provider:model`, `There is: ${choices}; auto lets the router choose.`);
}

function thinkingOf(wished: string | undefined): Pick<RunRequest, "thinkingLevel"> {
  if (wished === undefined) return {};
  const thinkingLevel = THINKING_LEVELS.find((level) => level === wished);
  if (thinkingLevel !== undefined) return { thinkingLevel };
  throw usageError(`--thinking ${wished} is no level`, `There is: ${THINKING_LEVELS.join(", ")}.`);
}

/** Each by its name: a pattern would approve what nobody thought of. */
function assertKnown(option: "approve" | "require", named: readonly string[], known: readonly string[]): void {
  const unknown = named.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const meant = nearest(unknown, known);
  const hint = meant === null ? `There is: ${known.join(", ")}.` : `Did you mean ${meant}?`;
  throw usageError(`--${option} ${unknown} names no tool`, hint);
}

function overridesOf(required: readonly string[], isForbidden: boolean, isStrict: boolean): ContractOverrides {
  const strict = isStrict ? { strictMode: true } : {};
  if (isForbidden) return { ...strict, toolPolicy: "forbidden" };
  if (required.length === 0) return isStrict ? { ...strict, toolPolicy: "required" } : {};
  return { ...strict, toolPolicy: "required", requiredEffects: required.map((tool) => ({ tool })) };
}

function printerFor({ isJson, output, streams }: CommandContext, beside: OutputStream): ProgressPrinter {
  const progress = isJson && streams.stderr.isTTY !== true ? { write: () => {} } : beside;
  return progressPrinter({ progress, answer: isJson ? null : streams.stdout, style: output.remarkStyle });
}

interface Followed {
  readonly record: RunRecord;
  readonly denials: readonly Denial[];
}

async function follow(assistant: Assistant, runId: RunId, printer: ProgressPrinter): Promise<Followed> {
  const news = await assistant.watch(runId, 0, new AbortController().signal);
  const denials: Denial[] = [];
  const hasBegun = lookForQueue(assistant, runId, printer);
  for await (const item of news ?? []) {
    hasBegun();
    printer.show(item);
    const denial = denialIn(item);
    if (denial !== null) denials.push(denial);
  }
  const record = await assistant.run(runId);
  if (record === null) throw new BootError("not_found", `run ${runId} vanished`, "See surety verify --home.");
  return { record, denials };
}

/** Most runs begin within this, and need not be said to have waited. */
const BEGINS_WITHIN_MS = 300;

/** Says that the run waits for its turn, unless it is told in time that it does not. */
function lookForQueue(assistant: Assistant, runId: RunId, printer: ProgressPrinter): () => void {
  let isWaiting = true;
  const look = async (): Promise<void> => {
    const record = await assistant.run(runId);
    if (isWaiting && record?.status === "queued") printer.showQueued(runId);
  };
  // A gateway that is gone is noticed by whoever follows the run.
  const stopLooking = systemClock.wake(BEGINS_WITHIN_MS, () => look().catch(() => {}));
  return () => {
    isWaiting = false;
    stopLooking();
  };
}

const ASK_PAGE = { limit: 100, offset: 0 };
const LOOK_AGAIN_MS = 300;

/** Beside a gateway the questions of this run are looked for, and put before whoever sits at this terminal. */
function lookForQuestions(assistant: Assistant, runId: RunId, ask: (card: ApprovalCard) => void): () => void {
  const asked = new Set<ApprovalId>();
  let isOver = false;
  const look = async (): Promise<void> => {
    for (const card of await assistant.approvals(ASK_PAGE)) {
      if (card.runId !== runId || asked.has(card.id)) continue;
      asked.add(card.id);
      ask(card);
    }
    if (!isOver) systemClock.wake(LOOK_AGAIN_MS, lookSafely);
  };
  // A gateway that is gone is noticed by whoever follows the run.
  const lookSafely = (): void => {
    look().catch(() => {});
  };
  lookSafely();
  return () => {
    isOver = true;
  };
}

async function answer(assistant: Assistant, card: ApprovalCard, decision: Decision["decision"]): Promise<void> {
  const decided = await assistant.decide({ id: card.id, decision, planHash: card.planHash, principal: "operator" });
  if (!decided.ok) throw refusal(decided.code, decided.message);
}

function exitCodeOf({ status }: RunRecord): number {
  if (status === "completed") return EXIT.success;
  return status === "cancelled" ? EXIT.interrupted : EXIT.failure;
}

/** What is wrong with a request says so itself, in one line (P-1.3). */
const REFUSAL_HINTS: Readonly<Record<string, string>> = {
  "invalid.request": "",
  not_found: "See surety config get agents for agents; surety runs show RUN names the session of a run.",
  "queue.full": "Wait until some have ended (surety runs ls --status queued), or raise gateway.queue.max.",
  "store.unavailable": "The gateway says why on its stderr, and goes on by itself as soon as it can write again.",
  "payload.too_large": "Make it smaller. Through a running gateway, a message and its images have room for 750 KB.",
};

function refusal(code: string, message: string): BootError {
  return new BootError(code, message, REFUSAL_HINTS[code] ?? "See surety run --help.");
}
