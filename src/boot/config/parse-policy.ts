/** A `tools.policy` object that a caller wants to try: checked as the config's own, with the config's domains. */
import type { ParsePolicy } from "../../assistant/verification/recorded-runs.ts";
import type { Config } from "./config.ts";
import { toToolPolicy } from "./to-tool-policy.ts";

export function policyParser(config: () => Config): ParsePolicy {
  return async (value) => {
    // The schema is large and rarely needed.
    const { readPolicyFile } = await import("./read-config.ts");
    const reading = readPolicyFile(JSON.stringify(value, null, 1), "policy");
    if (!reading.ok) {
      const [{ message, hint }] = reading.problems;
      return { ok: false, problem: `${message}. ${hint}` };
    }
    const now = config();
    return { ok: true, policy: toToolPolicy({ ...now, tools: { ...now.tools, policy: reading.value } }) };
  };
}
