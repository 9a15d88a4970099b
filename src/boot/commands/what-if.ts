/** Another policy for recorded calls: shared by `surety replay` and `surety policy test`. */
import type { ToolPolicy } from "../../kernel/policy/tool-policy.ts";
import type { OtherDecision } from "../../runtime/run/replay-run.ts";
import { BootError } from "../boot-error.ts";
import type { OptionSpec } from "../command.ts";
import type { Config } from "../config/config.ts";
import { toBootError } from "../config/config-problem.ts";
import { toToolPolicy } from "../config/to-tool-policy.ts";
import { readBoundedFile, UnreadableFile } from "../read-bounded-file.ts";

const SHAPE = 'a tools.policy object such as { risk: { side_effect: "deny" } }, or a config with one';

export const POLICY_OPTION: OptionSpec = {
  type: "string",
  value: "FILE",
  summary: `also show which calls the policy in this file would decide otherwise; it holds ${SHAPE}`,
};

export const OTHER_POLICY_OPTION: OptionSpec = {
  ...POLICY_OPTION,
  summary: `use the policy in this file instead of the configured one; it holds ${SHAPE}`,
};

const MAX_POLICY_BYTES = 4 * 1024 * 1024;

/** Domains are those of the config. */
export async function readPolicy(file: string, config: Config): Promise<ToolPolicy> {
  const [{ readPolicyFile }, text] = await Promise.all([import("../config/read-config.ts"), readText(file)]);
  const reading = readPolicyFile(text, file);
  if (!reading.ok) {
    const { code, message, hint } = toBootError(reading.problems);
    throw new BootError(code, message, `${hint} ${EXPECTED}`);
  }
  return toToolPolicy({ ...config, tools: { ...config.tools, policy: reading.value } });
}

export function wireDecision({ entry, callId, tool, recorded, now, policyId }: OtherDecision) {
  return { entry, call_id: callId, tool, recorded, now, policy_id: policyId };
}

const PARTICIPLES = { allow: "allowed", approve: "asked about", deny: "denied" } as const;

export function printDecision({ entry, tool, callId, recorded, now, policyId }: OtherDecision): string {
  return `entry ${entry}: ${tool} (${callId}) was ${PARTICIPLES[recorded]}, would be ${PARTICIPLES[now]} by ${policyId}`;
}

const EXPECTED = `The file holds ${SHAPE}.`;

async function readText(file: string): Promise<string> {
  try {
    const bytes = await readBoundedFile(file, MAX_POLICY_BYTES);
    if (bytes !== null) return bytes.toString("utf8");
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    throw unreadable(`${file} cannot be read (${error.why})`, error);
  }
  throw unreadable(`${file} does not exist`);
}

function unreadable(what: string, cause?: unknown): BootError {
  return new BootError("policy.unreadable", what, EXPECTED, { cause });
}
