/**
 * `surety tools ls|call`: what the agent can be allowed to do; and doing it by hand, as the operator.
 *
 * T1. By hand nothing is possible that `tools.policy` denies on this channel; what it wants approved needs `--yes`.
 */
import { visibleText } from "../../adapters/terminal/visible-text.ts";
import { createToolbox } from "../../adapters/tools/create-toolbox.ts";
import { fsTools } from "../../adapters/tools/fs/fs-tools.ts";
import { openWorkspace } from "../../adapters/tools/fs/workspace.ts";
import { decideCall } from "../../kernel/policy/decide-call.ts";
import { USER_LABELS } from "../../kernel/vocabulary/labels.ts";
import { parseJson } from "../../kernel/vocabulary/parse-json.ts";
import { parseToolResponse } from "../../kernel/vocabulary/tool-envelope.ts";
import { newId } from "../../runtime/ports/randomness.ts";
import type { Arguments, Toolbox } from "../../runtime/ports/toolbox.ts";
import { BootError, EXIT, usageError } from "../boot-error.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import type { Config } from "../config/config.ts";
import { toToolPolicy } from "../config/to-tool-policy.ts";
import { describedTools } from "../read-home.ts";
import { defectReporter } from "../report-defect.ts";
import { loadSettings } from "../settings.ts";
import { systemClock } from "../system-clock.ts";
import { systemRandomness } from "../system-randomness.ts";

const ls: Action = {
  summary: "list the tools, what they take and how risky they are",
  arguments: [],
  options: {},
  examples: ["surety tools ls", "surety tools ls --json"],
  run(context) {
    const { output } = context;
    const { tools } = describedTools(context);
    output.result({ tools }, () =>
      output.table(
        ["TOOL", "RISK", "WHAT IT DOES"],
        tools.map(({ name, risk, description }) => [name, risk, description]),
      ),
    );
    return Promise.resolve(EXIT.success);
  },
};

const call: Action = {
  summary: "call a tool yourself; nothing of it is part of a run",
  arguments: ["TOOL", "[ARGS]"],
  options: { yes: { type: "boolean", summary: "approve it, where tools.policy asks for that" } },
  examples: [
    "surety tools call fs.list_dir",
    'surety tools call fs.write_text \'{"path": "a.txt", "text": "hello"}\' --yes',
  ],
  run: performCall,
};

export const tools: Command = { actions: { ls, call } };

async function performCall(context: CommandContext): Promise<number> {
  const {
    arguments: [tool = "", argsText = "{}"],
    options,
    output,
  } = context;
  const parsed = parseJson(argsText);
  if (!parsed.ok || typeof parsed.value !== "object" || parsed.value === null || Array.isArray(parsed.value)) {
    throw usageError("ARGS is no JSON object", 'Write it as \'{"path": "."}\'.');
  }
  const { config } = await loadSettings(context);
  const toolbox = await openToolbox(context, config);
  const planned = await toolbox.plan(tool, parsed.value as Arguments);
  if (!planned.ok) throw new BootError(planned.error.code, planned.error.message, "See surety tools ls.");
  const { decision, reason } = decideCall({
    tool: planned.tool,
    risk: planned.risk,
    egress: planned.egress,
    honeypot: false,
    channelClass: "cli_local",
    policy: toToolPolicy(config),
    capabilities: [],
    labels: USER_LABELS,
    approvedTools: [],
    allowedTools: [planned.tool],
  });
  if (decision === "deny") throw new BootError("policy.denied", `${planned.tool} is denied`, reason);
  if (decision === "approve" && !options.flag("yes")) {
    for (const line of visibleText(planned.shown).split("\n")) output.remark(line);
    throw new BootError("policy.denied", `${planned.tool} needs approval`, "Add --yes to approve what is shown above.");
  }
  const envelope = await toolbox.run(planned, {
    requestId: newId("req", systemRandomness),
    runId: "none",
    agentId: "operator",
    timeoutMs: planned.timeoutMs,
    idempotencyKey: null,
    isRepeat: false,
    mayAct: true,
    signal: AbortSignal.timeout(planned.timeoutMs),
  });
  const answer = parseToolResponse(envelope);
  if (!answer.ok)
    throw new BootError("internal.error", `the tool's answer is no envelope: ${answer.problem}`, "Report it.");
  if (!answer.response.ok)
    throw new BootError(answer.response.error.code, answer.response.error.message, "See surety tools ls.");
  output.json(answer.response.output);
  return EXIT.success;
}

async function openToolbox({ home, streams }: CommandContext, config: Config): Promise<Toolbox> {
  const workspace = await openWorkspace(config.tools.workspace ?? home.workspace);
  const report = defectReporter(streams);
  return createToolbox(fsTools(workspace, { annex: home.annex, clock: systemClock }), {
    clock: systemClock,
    onDefect: (error) => report("tool", error),
  });
}
