/**
 * Tool descriptions within their budget (T-3c): the order of `tools.policy.allow` decides which are offered. Tokens are counted
 * alike for every model, since a model without a tokenizer of its own counts them from above, and tools would go missing.
 */
import { matchesTool } from "../../kernel/policy/tool-pattern.ts";
import type { ToolPolicy } from "../../kernel/policy/tool-policy.ts";
import type { RegisteredTool } from "../../runtime/ports/toolbox.ts";

export interface FittedTools {
  /** In the order of the toolbox. */
  readonly offered: readonly RegisteredTool[];
  /** By name, the first to be offered first. */
  readonly leftOut: readonly string[];
}

/** Four characters of JSON make about one token. */
export function descriptionTokens({ name, description, parameters }: RegisteredTool): number {
  return Math.ceil(JSON.stringify({ name, description, parameters }).length / 4);
}

export function fitTools(
  tools: readonly RegisteredTool[],
  { allow }: Pick<ToolPolicy, "allow">,
  maxTokens: number,
): FittedTools {
  const placeOf = ({ name }: RegisteredTool): number => allow.findIndex((pattern) => matchesTool(pattern, name));
  const fitted = new Set<RegisteredTool>();
  const leftOut: string[] = [];
  let tokens = 0;
  for (const tool of tools.toSorted((one, other) => placeOf(one) - placeOf(other))) {
    const own = descriptionTokens(tool);
    if (tokens + own > maxTokens) {
      leftOut.push(tool.name);
      continue;
    }
    tokens += own;
    fitted.add(tool);
  }
  return { offered: tools.filter((tool) => fitted.has(tool)), leftOut };
}
