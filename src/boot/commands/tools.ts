/**
 * `surety tools ls|call`: lists the tools; calls one directly, as the operator.
 *
 * T1. A direct call cannot do what `tools.policy` denies on this channel; what needs approval needs `--yes`.
 * T2. A call that changes something takes the home's lock: beside a gateway only the gateway writes, since it tracks which
 *     files are untrusted (U5 of untrusted-marks.ts).
 */
import { type HomeLock, takeHomeLock } from "../../adapters/store-sqlite/home-lock.ts";
import { visibleText } from "../../adapters/terminal/visible-text.ts";
import { USER_LABELS } from "../../kernel/vocabulary/labels.ts";
import { parseToolResponse } from "../../kernel/vocabulary/tool-envelope.ts";
import { newId } from "../../runtime/ports/randomness.ts";
import { StoreError } from "../../runtime/ports/store.ts";
import type { CallContext, Planned, Toolbox } from "../../runtime/ports/toolbox.ts";
import { decideDirectCall } from "../administration/policy.ts";
import { BootError } from "../boot-error.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import type { Config } from "../config/config.ts";
import { loadConfig } from "../config/load-config.ts";
import type { Home } from "../home.ts";
import { describedTools } from "../read-home.ts";
import { withSettings } from "../settings.ts";
import { systemRandomness } from "../system-randomness.ts";
import { argumentsOf, GRANT_OPTION, grantsOf, openToolbox } from "./dry-run-call.ts";

const ls: Action = {
  summary: "list the tools, their risk and what they do",
  examples: ["surety tools ls", "surety tools ls --json"],
  async run(context) {
    const { output, home } = context;
    const { tools } = describedTools(context, await loadConfig(home.configFile));
    output.result({ tools }, () =>
      output.table(
        ["TOOL", "RISK", "WHAT IT DOES"],
        tools.map(({ name, risk, description }) => [name, risk, description]),
      ),
    );
  },
};

const call: Action = {
  summary: "call a tool yourself, outside of any run",
  arguments: ["TOOL", "[ARGS]"],
  options: {
    yes: { type: "boolean", summary: "approve the call, if tools.policy asks for approval" },
    grant: { ...GRANT_OPTION, summary: "grant this call a capability: net, or net:<domain>" },
  },
  examples: [
    "surety tools call fs.list_dir",
    'surety tools call fs.write_text \'{"path": "a.txt", "text": "hello"}\' --yes',
    'surety tools call http.get \'{"url": "https://example.org"}\' --grant net:example.org',
  ],
  run: (context) => withSettings(context, ({ config }) => performCall(context, config)),
};

export const command: Command = { actions: { ls, call } };

async function performCall(context: CommandContext, config: Config): Promise<void> {
  const [tool = ""] = context.arguments;
  const { options, output } = context;
  const args = argumentsOf(context);
  const capabilities = grantsOf(context);
  const toolbox = await openToolbox(context, config);
  const planned = await toolbox.plan(tool, args);
  if (!planned.ok) throw new BootError(planned.error.code, planned.error.message, "See surety tools ls.");
  const { decision, reason } = decideDirectCall(planned, {
    ...{ config, capabilities, channelClass: "cli_local", labels: USER_LABELS },
  });
  if (decision === "deny") throw new BootError("policy.denied", `${planned.tool} is denied`, reason);
  if (decision === "approve" && !options.flag("yes")) {
    throw needsApproval(context, planned);
  }
  const perform = async ({ run }: Toolbox): Promise<unknown> => await run(planned, callContext(planned.timeoutMs));
  // Opened again under the lock: the first toolbox may have read stale state.
  const performAlone = async (): Promise<unknown> => perform(await openToolbox(context, config));
  const isReading = planned.risk === "read_only";
  const answer = parseToolResponse(isReading ? await perform(toolbox) : await alone(context, performAlone));
  if (!answer.ok)
    throw new BootError(
      "internal.error",
      `the tool's answer is malformed: ${answer.problem}`,
      "This is a bug in Surety: please report it.",
    );
  if (!answer.response.ok)
    throw new BootError(answer.response.error.code, answer.response.error.message, "See surety tools ls.");
  output.json(answer.response.output);
}

function needsApproval({ output, isJson }: CommandContext, { tool, shown }: Planned): BootError {
  // With --json, stderr holds the error document alone.
  if (!isJson) for (const line of visibleText(shown).split("\n")) output.remark(line);
  const hint = isJson
    ? "See its plan with surety policy explain --json, then add --yes to approve it."
    : "Add --yes to approve the plan above.";
  return new BootError("policy.denied", `${tool} needs approval`, hint);
}

async function alone<Result>({ home }: CommandContext, work: () => Promise<Result>): Promise<Result> {
  const lock = lockOf(home);
  try {
    return await work();
  } finally {
    lock.release();
  }
}

function lockOf({ directory }: Home): HomeLock {
  try {
    return takeHomeLock(directory);
  } catch (error) {
    throw error instanceof StoreError && error.code === "store.in-use" ? busyHome(error) : error;
  }
}

function busyHome(cause: StoreError): BootError {
  const hint = 'Let the gateway do it: surety run "…" --approve TOOL; or stop it first.';
  return new BootError(cause.code, "another surety process works on this home, and only it may change files", hint, {
    cause,
  });
}

function callContext(timeoutMs: number): CallContext {
  return {
    requestId: newId("req", systemRandomness),
    runId: "none",
    agentId: "operator",
    timeoutMs,
    idempotencyKey: null,
    isRepeat: false,
    mayAct: true,
    seen: USER_LABELS,
    signal: AbortSignal.timeout(timeoutMs),
    onOutput: null,
  };
}
