/**
 * The command line: finds the command, checks how it was called, runs it and reports failures.
 *
 * M1. Options of every command may also come before the command's name.
 * M2. Only the called command is loaded.
 * M3. It never throws: every failure becomes an exit code and a line on stderr.
 */
import manifest from "../../package.json" with { type: "json" };
import { type BootError, EXIT, usageError } from "./boot-error.ts";
import type { Action } from "./command.ts";
import { type CatalogueRow, COMMAND_CATALOGUE } from "./command-catalogue.ts";
import { type ReadVariable, readProcessVariable } from "./environment.ts";
import { helpOnAction, helpOnFamily, helpOverview, usageLine } from "./help.ts";
import { findHome } from "./home.ts";
import { nearest } from "./nearest.ts";
import type { Streams } from "./output.ts";
import { mayColour, type Output, outputTo } from "./output.ts";
import { parseArguments } from "./parse-arguments.ts";
import { reportFailure } from "./report-failure.ts";

interface Call {
  readonly words: readonly string[];
  readonly streams: Streams;
  readonly output: Output;
  readonly readVariable: ReadVariable;
  readonly isJson: boolean;
}

/** Returns the exit code. */
export async function main(
  argv: readonly string[],
  streams: Streams,
  readVariable: ReadVariable = readProcessVariable,
  catalogue: readonly CatalogueRow[] = COMMAND_CATALOGUE,
): Promise<number> {
  // Read before anything can fail: it decides how failures are reported.
  const beforeDashes = argv.slice(0, argv.includes("--") ? argv.indexOf("--") : undefined);
  const isJson = beforeDashes.includes("--json");
  const isColourWelcome = mayColour(readVariable);
  try {
    const output = outputTo(streams, isJson, isColourWelcome);
    return await dispatch({ words: argv, streams, output, readVariable, isJson }, catalogue);
  } catch (error) {
    return await reportFailure(error, streams, { isJson, isColourWelcome });
  }
}

async function dispatch(call: Call, catalogue: readonly CatalogueRow[]): Promise<number> {
  const { leading, name, rest } = splitAtCommand(call.words);
  if (name === undefined) return overview(leading, call, catalogue);
  if (name === "help") return dispatch({ ...call, words: [...leading, ...rest, "--help"] }, catalogue);
  const row = catalogue.find((candidate) => candidate.name === name);
  if (row === undefined) {
    throw unknownWord(
      "command",
      name,
      catalogue.map((candidate) => candidate.name),
      "surety --help",
    );
  }
  const command = await row.load();
  if (!("actions" in command)) return perform(row.name, command, { ...call, words: [...leading, ...rest] });
  return dispatchAction(row, command.actions, { ...call, words: [...leading, ...rest] });
}

function dispatchAction(row: CatalogueRow, actions: Readonly<Record<string, Action>>, call: Call): Promise<number> {
  const { leading, name, rest } = splitAtCommand(call.words);
  const names = Object.keys(actions);
  if (name === undefined) {
    const { options } = parseArguments(leading, {}, "");
    if (!options.flag("help"))
      throw usageError(`${row.name} needs one of ${names.join(", ")}`, `See surety ${row.name} --help.`);
    call.output.help(helpOnFamily(row, actions, call.output.style));
    return Promise.resolve(EXIT.success);
  }
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (action === undefined) throw unknownWord(`action of ${row.name}`, name, names, `surety ${row.name} --help`);
  return perform(`${row.name} ${name}`, action, { ...call, words: [...leading, ...rest] });
}

async function perform(name: string, action: Action, call: Call): Promise<number> {
  const { output, streams, readVariable, isJson } = call;
  const parsed = parseArguments(call.words, action, usageLine(name, action));
  if (parsed.options.flag("help")) {
    output.help(helpOnAction(name, action, output.style));
    return EXIT.success;
  }
  const home = findHome(parsed.options.text("home"), readVariable);
  return (await action.run({ ...parsed, home, isJson, output, streams, readVariable })) ?? EXIT.success;
}

function overview(leading: readonly string[], { output }: Call, catalogue: readonly CatalogueRow[]): number {
  const versionOption = { version: { type: "boolean", summary: "print the version" } } as const;
  const { options } = parseArguments(leading, { options: versionOption }, "");
  if (options.flag("version")) {
    output.result({ version: manifest.version }, () => output.line(`surety ${manifest.version}`));
    return EXIT.success;
  }
  output.help(helpOverview(catalogue, output.style));
  return EXIT.success;
}

/** The command is the first word that is neither an option nor the value of `--home`. */
function splitAtCommand(words: readonly string[]) {
  let at = 0;
  while (at < words.length && words[at]?.startsWith("-") === true) at += words[at] === "--home" ? 2 : 1;
  return { leading: words.slice(0, at), name: words[at], rest: words.slice(at + 1) };
}

function unknownWord(what: string, word: string, known: readonly string[], help: string): BootError {
  const meant = nearest(word, known);
  return usageError(`unknown ${what} ${word}`, meant === null ? `See ${help}.` : `Did you mean ${meant}?`);
}
