/** A command whose options are known by a table. */

import type { Classification } from "./classification.ts";
import type { CommandRules } from "./command-rules.ts";
import { readOptions } from "./read-options.ts";

export function classifyByRules(name: string, rules: CommandRules, args: readonly string[]): Classification {
  const read = readOptions(rules, args);
  rules.refine?.(read);
  return {
    args: [...(rules.adds ?? []), ...args],
    asks: read.unknown.map((option) => `nothing is known of ${name}'s option ${option}`),
    paths: [...read.paths, ...pathOperands(rules, read)],
  };
}

function pathOperands(
  { operands: kind, patternBy = "" }: CommandRules,
  { operands, values, flags }: ReturnType<typeof readOptions>,
): readonly string[] {
  if (kind === "texts") return [];
  if (kind === "paths") return operands;
  const givers = patternBy.split(" ");
  const isGiven = [...values.map(([option]) => option), ...flags].some((option) => givers.includes(option));
  return isGiven ? operands : operands.slice(1);
}
