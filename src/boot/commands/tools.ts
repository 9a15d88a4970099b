/** `surety tools ls|call`: what the agent can be allowed to do; and doing it by hand, as the operator. */
import { visibleText } from "../../adapters/terminal/visible-text.ts";
import { parseJson } from "../../kernel/vocabulary/parse-json.ts";
import { parseToolResponse } from "../../kernel/vocabulary/tool-envelope.ts";
import { newId } from "../../runtime/ports/randomness.ts";
import type { Arguments } from "../../runtime/ports/toolbox.ts";
import { BootError, EXIT, usageError } from "../boot-error.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import { openToolbox } from "../read-home.ts";
import { loadSettings } from "../settings.ts";
import { systemRandomness } from "../system-randomness.ts";

const ls: Action = {
  summary: "list the tools, what they take and how risky they are",
  arguments: [],
  options: {},
  examples: ["surety tools ls", "surety tools ls --json"],
  async run(context) {
    const { output } = context;
    const { tools } = await openToolbox(context, (await loadSettings(context)).config);
    output.result({ tools }, () =>
      output.table(
        ["TOOL", "RISK", "WHAT IT DOES"],
        tools.map(({ name, risk, description }) => [name, risk, description]),
      ),
    );
    return EXIT.success;
  },
};

const call: Action = {
  summary: "call a tool yourself; nothing of it is part of a run",
  arguments: ["TOOL", "[ARGS]"],
  options: { yes: { type: "boolean", summary: "do it although it changes something" } },
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
  const toolbox = await openToolbox(context, (await loadSettings(context)).config);
  const planned = await toolbox.plan(tool, parsed.value as Arguments);
  if (!planned.ok) throw new BootError(planned.error.code, planned.error.message, "See surety tools ls.");
  if (planned.risk === "side_effect" && !options.flag("yes")) {
    output.remark(visibleText(planned.shown));
    throw new BootError("policy.denied", `${planned.tool} changes something`, "Add --yes to do it all the same.");
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
