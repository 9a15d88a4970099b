/**
 * From the words of a command line to an action's arguments and options.
 *
 * A1. An unknown flag, a flag without a value or with an empty one, a word too few or too many: a usage error names it.
 * A2. A value that begins with a dash must be attached (`--out=-x`), unless it is a number: a forgotten value must not
 *     swallow the next flag. Likewise a bare `--home` does not take the next flag as its directory.
 * A3. After `--` everything is an argument.
 * A4. A word that was not valid UTF-8 is refused.
 */
import { parseArgs } from "node:util";
import { Defect } from "../kernel/vocabulary/defect.ts";
import { usageError } from "./boot-error.ts";
import type { Action, OptionSpec, OptionValues } from "./command.ts";
import { assertUtf8 } from "./environment.ts";
import { nearest } from "./nearest.ts";

export interface ParsedArguments {
  readonly arguments: readonly string[];
  readonly options: OptionValues;
}

export const COMMON_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  home: { type: "string", value: "DIR", summary: "the home directory (else SURETY_HOME, else ~/.surety)" },
  json: {
    type: "boolean",
    summary: 'print JSON; failures go to stderr as {"error": {"code", "message", "hint"}}',
  },
  help: { type: "boolean", summary: "print this help" },
};
const SHORT_NAMES: Readonly<Record<string, string>> = { f: "follow", h: "help" };

const NEGATIVE_NUMBER = /^-[0-9.]+$/;

type ParsableAction = Pick<Action, "arguments" | "options" | "takesBareHome">;

/** `usage` is the hint of an error about arguments. */
export function parseArguments(words: readonly string[], action: ParsableAction, usage: string): ParsedArguments {
  const named = action.arguments ?? [];
  const specs = new Map(Object.entries({ ...COMMON_OPTIONS, ...action.options }));
  const { tokens } = parseArgs({
    args: action.takesBareHome === true ? withoutBareHome(words) : [...words],
    options: Object.fromEntries([...specs].map(([name, { type }]) => [name, { type }])),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const given = new Map<string, string[]>();
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") positionals.push(token.value);
    if (token.kind !== "option") continue;
    const name = SHORT_NAMES[token.name] ?? token.name;
    const spec = specs.get(name);
    if (spec === undefined) throw unknownOption(token.rawName, [...specs.keys()]);
    const value = readValue(token.rawName, token.value, token.inlineValue === true, spec);
    given.set(name, [...(given.get(name) ?? []), value]);
  }
  if (!given.has("help")) checkCount(positionals, named, usage);
  for (const [at, word] of positionals.entries())
    assertUtf8(named[Math.min(at, named.length - 1)] ?? "an argument", word);
  return { arguments: positionals, options: optionValues(new Set(specs.keys()), given) };
}

/** A bare `--home` means the usual home. */
function withoutBareHome(words: readonly string[]): string[] {
  const end = words.includes("--") ? words.indexOf("--") : words.length;
  return words.filter((word, at) => {
    const next = words[at + 1];
    const hasDirectory = next !== undefined && (next === "-" || !next.startsWith("-"));
    return at >= end || word !== "--home" || hasDirectory;
  });
}

function readValue(flag: string, value: string | undefined, isAttached: boolean, spec: OptionSpec): string {
  if (spec.type === "boolean") {
    if (value !== undefined) throw usageError(`${flag} takes no value`, `Write ${flag} alone.`);
    return "true";
  }
  if (value === undefined || value === "")
    throw usageError(`${flag} needs a value`, `Write it as ${flag} ${spec.value ?? "VALUE"}.`);
  if (!isAttached && value.startsWith("-") && value !== "-" && !NEGATIVE_NUMBER.test(value)) {
    throw usageError(`${flag} needs a value`, `If ${value} is the value, write ${flag}=${value}.`);
  }
  assertUtf8(flag, value);
  return value;
}

function unknownOption(flag: string, names: readonly string[]): Error {
  const meant = nearest(flag.replace(/^-+/, ""), names);
  const hint = meant === null ? "See --help." : `Did you mean --${meant}?`;
  return usageError(`unknown option ${flag}`, hint);
}

function checkCount(given: readonly string[], named: readonly string[], usage: string): void {
  const missing = named.slice(given.length).find((name) => !name.startsWith("["));
  if (missing !== undefined) throw usageError(`${missing} is missing`, usage);
  const extra = named.at(-1)?.endsWith("...") ? undefined : given[named.length];
  if (extra !== undefined) throw usageError(`unexpected argument ${extra}`, usage);
}

function optionValues(declared: ReadonlySet<string>, given: ReadonlyMap<string, readonly string[]>): OptionValues {
  const texts = (name: string): readonly string[] => {
    if (!declared.has(name)) throw new Defect(`option --${name} was never declared`);
    return given.get(name) ?? [];
  };
  return {
    flag: (name) => texts(name).length > 0,
    text: (name) => texts(name).at(-1),
    texts,
    integer: (name, { least, most, example }) => {
      const text = texts(name).at(-1);
      if (text === undefined) return undefined;
      const number = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN;
      if (number >= least && number <= most) return number;
      throw usageError(
        `--${name} must be a whole number from ${least} to ${most}`,
        `Write it in digits, such as --${name} ${example}.`,
      );
    },
  };
}
