/** `tools.policy` and the domains of `tools.http`, as contracts seal them. */
import type { ToolPolicy } from "../../kernel/policy/tool-policy.ts";
import type { Config } from "./config.ts";

export function toToolPolicy({ tools }: Config): ToolPolicy {
  return { ...tools.policy, allowDomains: tools.http.allowDomains?.slice() ?? null };
}
