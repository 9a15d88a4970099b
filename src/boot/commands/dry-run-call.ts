/**
 * A tool call that the operator names at the terminal, planned for real and decided by the kernel; not part of a run.
 *
 * H1. The configured policy applies and nothing is waived: a direct call can do nothing that a run could not.
 * H2. Capabilities are those given with --grant, for this one call.
 */
import { createToolbox } from "../../adapters/tools/create-toolbox.ts";
import { whyAsked } from "../../kernel/machine/decide-now.ts";
import { decideCall, type PolicyDecision, type PolicyQuestion } from "../../kernel/policy/decide-call.ts";
import { parseCapability } from "../../kernel/vocabulary/capability.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import { parseJson } from "../../kernel/vocabulary/parse-json.ts";
import type { ChannelClass } from "../../kernel/vocabulary/risk.ts";
import type { Arguments, Planned, Toolbox } from "../../runtime/ports/toolbox.ts";
import { usageError } from "../boot-error.ts";
import { openBuiltInTools, toolTimeouts } from "../built-in-tools.ts";
import type { CommandContext, OptionSpec } from "../command.ts";
import type { Config } from "../config/config.ts";
import { toToolPolicy } from "../config/to-tool-policy.ts";
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
  const { tools } = await openBuiltInTools({ home, config, clock: systemClock });
  return createToolbox(tools, {
    ...{ clock: systemClock, timeouts: toolTimeouts(config) },
    onDefect: (error) => report("tool", error),
  });
}

interface Circumstances {
  readonly config: Config;
  readonly channelClass: ChannelClass;
  readonly capabilities: readonly string[];
  /** Labels of the context that proposes the call. */
  readonly labels: Labels;
}

type DirectCall = Pick<Planned, "tool" | "risk" | "egress" | "asksAlways">;

/** What is asked about the call, and the rules of later runs answer. */
export function directQuestion(
  { tool, risk, egress, asksAlways }: DirectCall,
  { config, channelClass, capabilities, labels }: Circumstances,
): PolicyQuestion {
  return {
    ...{ tool, risk, egress, asksAlways, channelClass, capabilities, labels },
    policy: toToolPolicy(config),
    honeypot: false,
    approvedTools: [],
    allowedTools: [tool],
  };
}

export function decideDirectCall(call: DirectCall, circumstances: Circumstances): PolicyDecision {
  const decided = decideCall(directQuestion(call, circumstances));
  const { decision, policyId } = decided;
  const { tool, risk } = call;
  return decision === "approve" ? { ...decided, reason: whyAsked(policyId, { tool, risk }) } : decided;
}
