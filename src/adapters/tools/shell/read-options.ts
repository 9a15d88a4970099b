/**
 * Parses the options of a command by its table, as the program would (getopt with long options), and classifies it.
 *
 * O1. A forbidden option is refused in every spelling: in a bundle of short ones, with its value attached or separate,
 *     abbreviated, after operands, and in place of another option's value, in case the table is wrong about that option.
 * O2. An option in no list is unknown, abbreviations included, and needs approval.
 * O3. After `--` there are only operands.
 */
import { type Classification, commandRefused, quoted } from "./classification.ts";

export interface OptionRules {
  /** Letters of short options without a value. */
  readonly flags?: string;
  /** Letters of short options with a value, attached or as the next word; for `paths` it is a path. */
  readonly values?: string;
  readonly paths?: string;
  /** Letters of short options with an optional, attached value. */
  readonly attached?: string;
  /** `-5`, for a number of lines. */
  readonly isNumeric?: boolean;
  /** Long options: `name`, `name=` with a value, `name=?` with an attached one or none, `name=@` with a path. */
  readonly long?: string;
  /** Options that write, execute or use the network: `-o --output`. */
  readonly forbidden?: string;
}

export interface CommandRules extends OptionRules {
  /** Paths by default. `pattern`: the first operand is one, unless an option in `patternBy` gave it. */
  readonly operands?: "texts" | "pattern";
  readonly patternBy?: string;
  /** Refuses what the lists cannot express. */
  readonly refine?: (read: ReadOptions) => void;
  /** Arguments added in front, to enforce the rules. */
  readonly adds?: readonly string[];
}

export interface ReadOptions {
  readonly unknown: readonly string[];
  /** Known options without a value, by name. */
  readonly flags: readonly string[];
  /** Options with their values. */
  readonly values: readonly (readonly [option: string, value: string])[];
  /** The values that are paths. */
  readonly paths: readonly string[];
  readonly operands: readonly string[];
}

interface Reading {
  readonly rules: OptionRules;
  readonly rest: string[];
  readonly unknown: string[];
  readonly flags: string[];
  readonly values: [string, string][];
  readonly paths: string[];
  readonly operands: string[];
}

export function classifyByRules(name: string, rules: CommandRules, args: readonly string[]): Classification {
  const read = readOptions(rules, args);
  rules.refine?.(read);
  return {
    args: [...(rules.adds ?? []), ...args],
    asks: read.unknown.map((option) => `${name} has the unknown option ${option}`),
    paths: [...read.paths, ...pathOperands(rules, read)],
  };
}

function pathOperands(
  { operands: kind, patternBy = "" }: CommandRules,
  { operands, values, flags }: ReadOptions,
): readonly string[] {
  if (kind === "texts") return [];
  if (kind === undefined) return operands;
  const patternOptions = patternBy.split(" ");
  const isGiven = [...values.map(([option]) => option), ...flags].some((option) => patternOptions.includes(option));
  return isGiven ? operands : operands.slice(1);
}

function readOptions(rules: OptionRules, args: readonly string[]): ReadOptions {
  const reading: Reading = { rules, rest: [...args], unknown: [], flags: [], values: [], paths: [], operands: [] };
  for (let word = reading.rest.shift(); word !== undefined; word = reading.rest.shift()) {
    if (word === "--") reading.operands.push(...reading.rest.splice(0));
    else if (word.startsWith("--")) readLong(reading, word);
    else if (word.startsWith("-") && word.length > 1) readShort(reading, word);
    else reading.operands.push(word);
  }
  return reading;
}

function readLong(reading: Reading, word: string): void {
  const { rules } = reading;
  const [, name = "", attached] = /^--([^=]*)(?:=(.*))?$/s.exec(word) ?? [];
  const kind = wordsOf(rules.long)
    .find((option) => option.split("=", 1)[0] === name)
    ?.slice(name.length);
  if (kind === undefined || (kind === "" && attached !== undefined)) {
    refuseForbidden(rules, word);
    reading.unknown.push(word);
  } else if (kind === "=?") {
    if (attached !== undefined) reading.values.push([name, attached]);
  } else if (kind === "") {
    reading.flags.push(name);
  } else {
    takeValue(reading, name, attached, kind === "=@");
  }
}

function readShort(reading: Reading, word: string): void {
  const { rules } = reading;
  if (rules.isNumeric === true && /^-\d+$/.test(word)) return;
  const letters = word.slice(1);
  for (const [index, letter] of [...letters].entries()) {
    const rest = [...letters].slice(index + 1).join("");
    if (rules.flags?.includes(letter)) {
      reading.flags.push(letter);
      continue;
    }
    if (rules.attached?.includes(letter)) {
      if (rest !== "") reading.values.push([letter, rest]);
    } else if (rules.values?.includes(letter) || rules.paths?.includes(letter)) {
      takeValue(reading, letter, rest === "" ? undefined : rest, rules.paths?.includes(letter) === true);
    } else {
      // The rest may be the value of an unknown option, or more options.
      refuseForbidden(rules, `-${letter}${rest}`);
      reading.unknown.push(`-${letter}`);
    }
    return;
  }
}

function takeValue(reading: Reading, option: string, attached: string | undefined, isPath: boolean): void {
  const value = attached ?? reading.rest.shift();
  if (value === undefined) return;
  if (attached === undefined) refuseForbidden(reading.rules, value);
  reading.values.push([option, value]);
  if (isPath) reading.paths.push(value);
}

function refuseForbidden({ forbidden }: OptionRules, word: string): void {
  if (!word.startsWith("-") || word === "-") return;
  const name = word.split("=", 1)[0] ?? word;
  const found = wordsOf(forbidden).find((option) =>
    option.startsWith("--") ? option.startsWith(name) : !word.startsWith("--") && word.includes(option.slice(1)),
  );
  if (found !== undefined) {
    throw commandRefused(
      `${quoted(word)} is, or could be parsed as, ${found}, which writes, executes or uses the network`,
    );
  }
}

function wordsOf(list: string | undefined): readonly string[] {
  return list?.split(" ") ?? [];
}
