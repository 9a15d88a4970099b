/** `surety run "message"`: one run, shown as it happens; through the gateway when one runs on this home. */

import { resolve } from "node:path";
import type { InputStream } from "../../adapters/terminal/terminal-approver.ts";
import type { OperationClient } from "../../assistant/operations.ts";
import type { RunInput } from "../../assistant/runs/run-request.ts";
import type { SessionRow } from "../../assistant/sessions/session-view.ts";
import { THINKING_LEVELS } from "../../kernel/vocabulary/thinking-level.ts";
import { toWire } from "../../kernel/vocabulary/wire-case.ts";
import { AUTO } from "../../runtime/model/model-router.ts";
import { atTerminal, exitCodeOf, plainFace, runFace } from "../at-terminal.ts";
import { BootError, usageError } from "../boot-error.ts";
import type { Action, CommandContext } from "../command.ts";
import type { Config } from "../config/config.ts";
import { loadConfig } from "../config/load-config.ts";
import { configuredRefs } from "../config/resolve-configured-model-ref.ts";
import { valueIn } from "../connect-assistant.ts";
import { findSession, latestTerminalSession } from "../find-session.ts";
import { nearest } from "../nearest.ts";
import { describedTools } from "../read-home.ts";
import { readStandardInput } from "../read-standard-input.ts";
import { onInterrupt } from "../signals.ts";
import { readImageFile } from "./read-image-file.ts";

export const command: Action = {
  summary: "let the assistant work on one message (- reads it from standard input), and show what it does",
  arguments: ["MESSAGE"],
  options: {
    agent: { type: "string", value: "A", summary: "the agent that acts (default main)" },
    model: { type: "string", value: "P:M", summary: "provider:model instead of the configured one, or auto" },
    session: { type: "string", value: "S", summary: "go on with this one: its id, the beginning of it, or its title" },
    continue: { type: "boolean", summary: "go on with the latest conversation of this terminal" },
    workspace: {
      type: "string",
      value: "DIR",
      summary: "let tools work in this directory (no gateway may be running)",
    },
    image: { type: "string", value: "FILE", summary: "show this image along with the message", multiple: true },
    thinking: { type: "string", value: "LEVEL", summary: "how much the model thinks: off, low, medium, high" },
    require: { type: "string", value: "TOOL", summary: "succeed only if this tool was performed", multiple: true },
    "forbid-tools": { type: "boolean", summary: "no tool may be called" },
    strict: { type: "boolean", summary: "nothing malformed is repaired, and a tool must be called unless forbidden" },
    approve: { type: "string", value: "TOOL", summary: "approve this tool for this run", multiple: true },
    verbose: { type: "boolean", summary: "show what tools print" },
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
  const { output } = context;
  const isPiped = context.arguments[0] === "-";
  const asked = { ...(await inputOf(context)), ...(await mediaOf(context)) };
  const face = isPiped ? plainFace(context, ENDED_INPUT) : runFace(context, context.options.flag("verbose"));
  const workspace = context.options.text("workspace");
  const connecting = { drives: true, ...(workspace === undefined ? {} : { workspace: resolve(workspace) }) };
  return await atTerminal(context, face, connecting, async ({ operations, isRemote, face: { isReachable }, show }) => {
    const mayBeAsked = isReachable() || context.options.flag("wait");
    const session = await chosenSession(context, operations);
    const input: RunInput = { ...inSession(session), ...asked, ...(mayBeAsked ? {} : { unattended: true }) };
    if (!isRemote && !isReachable() && context.options.flag("wait")) output.remark(NO_GATEWAY_TO_WAIT_FOR);
    const { id } = valueIn(await operations.call("runs.create", input), hintFor);
    const stopListening = onInterrupt(() => operations.call("runs.cancel", { id }));
    const record = await show(id).finally(stopListening);
    if (context.isJson) output.json(record);
    return exitCodeOf(record);
  });
}

async function chosenSession({ options }: CommandContext, operations: OperationClient): Promise<SessionRow | null> {
  const named = options.text("session");
  if (named !== undefined && options.flag("continue")) {
    throw usageError("--session and --continue contradict each other", "Leave one of them out.");
  }
  if (named !== undefined) return await findSession(operations, named);
  const latest = options.flag("continue") ? await latestTerminalSession(operations) : null;
  if (latest !== null || !options.flag("continue")) return latest;
  throw new BootError("not_found", "there is no conversation to go on with", "Leave --continue out to begin one.");
}

/** With what was set for it (T-2.2); what the command says comes first. */
function inSession(session: SessionRow | null): Partial<RunInput> {
  if (session === null) return {};
  const { model, thinkingLevel } = session.config;
  return {
    session_id: session.id,
    ...(model === undefined ? {} : { model }),
    ...(thinkingLevel === undefined ? {} : { thinking_level: thinkingLevel }),
  };
}

/** The message was read to the end of standard input: no answer can come from there. */
const ENDED_INPUT: InputStream = { isTTY: false, on: () => {}, off: () => {}, pause: () => {} };

const NO_GATEWAY_TO_WAIT_FOR =
  "warning run.no-gateway: no gateway runs on this home, so --wait has no effect and calls that need approval are denied; surety start runs one";

async function inputOf(context: CommandContext): Promise<RunInput> {
  const [given = ""] = context.arguments;
  const { options, streams } = context;
  const [required, approvedTools] = [options.texts("require"), options.texts("approve")];
  const config = await loadConfig(context.home.configFile);
  const known = describedTools(context, config).tools.map(({ name }) => name);
  assertKnown("require", required, known);
  assertKnown("approve", approvedTools, known);
  if (required.length > 0 && options.flag("forbid-tools")) {
    throw usageError("--require and --forbid-tools contradict each other", "Leave one of them out.");
  }
  const message = given === "-" ? await readStandardInput(streams.stdin) : given;
  if (message.trim() === "") throw usageError("the message is empty", 'Say what to do: surety run "list files".');
  return {
    agent_id: options.text("agent") ?? "main",
    message,
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
