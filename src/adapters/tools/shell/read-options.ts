/**
 * The options of one command, read by a table as the program itself would read them (getopt with long options).
 *
 * O1. A forbidden option is refused in every way it can be written: in a bundle of short ones, with its value attached
 *     or apart, abbreviated to any beginning, behind operands, and in the place of another option's value, should the
 *     table be wrong about that option.
 * O2. An option that is in no list is unknown, an abbreviated one included: whoever asked for it is not believed.
 * O3. Behind `--` there are operands only.
 */
import { commandRefused, quoted } from "./command-refused.ts";

export interface OptionRules {
  /** Letters of short options without a value. */
  readonly flags?: string;
  /** Letters of short options that take a value, attached or as the next word; of `paths` it is a path. */
  readonly values?: string;
  readonly paths?: string;
  /** Letters of short options whose value, if any, is attached. */
  readonly attached?: string;
  /** `-5`, for a number of lines. */
  readonly isNumeric?: boolean;
  /** Long options: `name`, `name=` with a value, `name=?` with an attached one or none, `name=@` with a path. */
  readonly long?: string;
  /** What writes, executes or reaches out: `-o --output`. */
  readonly forbidden?: string;
}

export interface ReadOptions {
  readonly unknown: readonly string[];
  /** Known ones without a value, by their names. */
  readonly flags: readonly string[];
  /** Options that were given a value, with it. */
  readonly values: readonly (readonly [option: string, value: string])[];
  /** Those of the values that are paths. */
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

export function readOptions(rules: OptionRules, args: readonly string[]): ReadOptions {
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
      // Of an unknown option nobody knows whether what follows is its value or more options.
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
    throw commandRefused(`${quoted(word)} is, or could be read as, ${found}, which writes, executes or reaches out`);
  }
}

function wordsOf(list: string | undefined): readonly string[] {
  return list?.split(" ") ?? [];
}
