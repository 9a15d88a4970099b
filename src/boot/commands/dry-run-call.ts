/**
 * A tool call that the operator names at the terminal; not part of a run. Its capabilities are those given with --grant, for
 * this one call.
 */
import { createToolbox } from "../../adapters/tools/create-toolbox.ts";
import { parseCapability } from "../../kernel/vocabulary/capability.ts";
import { parseJson } from "../../kernel/vocabulary/parse-json.ts";
import type { Arguments, Toolbox } from "../../runtime/ports/toolbox.ts";
import { usageError } from "../boot-error.ts";
import { openBuiltInTools, toolTimeouts } from "../built-in-tools.ts";
import type { CommandContext, OptionSpec } from "../command.ts";
import type { Config } from "../config/config.ts";
import { describedChannels } from "../configured-channels.ts";
import { defectReporter } from "../report-failure.ts";
import { systemClock } from "../system-clock.ts";

export const GRANT_OPTION: OptionSpec = {
  type: "string",
  value: "CAP",
  summary: "as if this capability were granted: net, or net:<domain>",
  multiple: true,
};

/** The command's second argument: the call's arguments, as JSON. */
export function argumentsOf({ arguments: [, text = "{}"] }: CommandContext): Arguments {
  const parsed = parseJson(text);
  if (parsed.ok && typeof parsed.value === "object" && parsed.value !== null && !Array.isArray(parsed.value)) {
    return parsed.value as Arguments;
  }
  throw usageError("ARGS must be a JSON object", 'Write it as \'{"path": "."}\'.');
}

export function grantsOf({ options }: CommandContext): readonly string[] {
  const grants = options.texts("grant");
  const wrong = grants.find((text) => parseCapability(text) === null);
  if (wrong === undefined) return grants;
  throw usageError(`--grant ${wrong} is not a capability`, "Write net, or net:example.org for one domain.");
}

export async function openToolbox({ home, streams }: CommandContext, config: Config): Promise<Toolbox> {
  const report = defectReporter(streams);
  const { toolsFor } = await openBuiltInTools({ home, config, clock: systemClock });
  return createToolbox(toolsFor(config, describedChannels(config)), {
    ...{ clock: systemClock, timeouts: toolTimeouts(config) },
    onDefect: (error) => report("tool", error),
  });
}
