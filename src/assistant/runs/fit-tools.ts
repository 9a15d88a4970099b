/** Tool descriptions within their budget (T-3c): the order of `tools.policy.allow` decides which are offered. */
import { matchesTool } from "../../kernel/policy/tool-pattern.ts";
import type { ToolPolicy } from "../../kernel/policy/tool-policy.ts";
import type { RegisteredTool } from "../../runtime/ports/toolbox.ts";

export interface FittedTools {
  /** In the order of the toolbox. */
  readonly offered: readonly RegisteredTool[];
  /** By name, the first to be offered first. */
  readonly leftOut: readonly string[];
}

export function fitTools(
  tools: readonly RegisteredTool[],
  { allow }: Pick<ToolPolicy, "allow">,
  maxTokens: number,
  countTokens: (text: string) => number,
): FittedTools {
  if (tools.length === 0 || countTokens(JSON.stringify(tools)) <= maxTokens) return { offered: tools, leftOut: [] };
  const placeOf = ({ name }: RegisteredTool): number => allow.findIndex((pattern) => matchesTool(pattern, name));
  const fitted = new Set<RegisteredTool>();
  const leftOut: string[] = [];
  let tokens = 0;
  for (const tool of tools.toSorted((one, other) => placeOf(one) - placeOf(other))) {
    const own = countTokens(JSON.stringify(tool));
    if (tokens + own > maxTokens) {
      leftOut.push(tool.name);
      continue;
    }
    tokens += own;
    fitted.add(tool);
  }
  return { offered: tools.filter((tool) => fitted.has(tool)), leftOut };
}
