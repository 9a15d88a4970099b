/** Another policy for recorded calls: shared by `surety replay` and `surety policy test`. */
import { readFile } from "node:fs/promises";
import type { ToolPolicy } from "../../kernel/policy/tool-policy.ts";
import type { OtherDecision } from "../../runtime/run/replay-run.ts";
import { BootError } from "../boot-error.ts";
import type { OptionSpec } from "../command.ts";
import type { Config } from "../config/config.ts";
import { toBootError } from "../config/config-problem.ts";
import { toToolPolicy } from "../config/to-tool-policy.ts";

export const POLICY_OPTION: OptionSpec = {
  type: "string",
  value: "FILE",
  summary: "also show which calls the tools.policy in this file would decide otherwise",
};

export async function readPolicy(file: string, config: Config): Promise<ToolPolicy> {
  const [{ readPolicyFile }, text] = await Promise.all([import("../config/read-config.ts"), readText(file)]);
  const reading = readPolicyFile(text, file);
  if (!reading.ok) throw toBootError(reading.problems);
  return toToolPolicy({ ...config, tools: { ...config.tools, policy: reading.value } });
}

export function wireDecision({ entry, callId, tool, recorded, now, policyId }: OtherDecision) {
  return { entry, call_id: callId, tool, recorded, now, policy_id: policyId };
}

const PARTICIPLES = { allow: "allowed", approve: "asked about", deny: "denied" } as const;

export function printDecision({ entry, tool, callId, recorded, now, policyId }: OtherDecision): string {
  return `entry ${entry}: ${tool} (${callId}) was ${PARTICIPLES[recorded]}, would be ${PARTICIPLES[now]} by ${policyId}`;
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw unreadable(file, error);
  }
}

function unreadable(file: string, cause: unknown): BootError {
  return new BootError("policy.unreadable", `${file} cannot be read`, "Name a file that holds a tools.policy object.", {
    cause,
  });
}
