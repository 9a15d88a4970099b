/** `tools.policy` and the domains of `tools.http`, as contracts seal them. */
import type { ToolPolicy } from "../../kernel/policy/tool-policy.ts";
import type { Config } from "./config.ts";

type PolicyParts = { readonly tools: Pick<Config["tools"], "policy" | "http"> };

export function toToolPolicy({ tools }: PolicyParts): ToolPolicy {
  return { ...tools.policy, allowDomains: tools.http.allowDomains?.slice() ?? null };
}
