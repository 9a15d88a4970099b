/** A command whose options are known by a table. */
import type { CommandRules } from "./command-rules.ts";
import type { Judgement } from "./judgement.ts";
import { readOptions } from "./read-options.ts";

export function judgeByRules(name: string, rules: CommandRules, args: readonly string[]): Judgement {
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
