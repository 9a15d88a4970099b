/** Help texts: of Surety, of a command, of a family of commands. */
import type { Style } from "../adapters/terminal/style.ts";
import type { Action, OptionSpec } from "./command.ts";
import type { CatalogueRow } from "./command-catalogue.ts";
import { COMMON_OPTIONS } from "./parse-arguments.ts";

const EXAMPLES: readonly string[] = [
  "surety start",
  'surety run "list files"',
  'surety run "write hello to a.txt" --approve fs.write_text',
  "surety runs ls",
  "surety verify --home",
];

export function helpOverview(catalogue: readonly CatalogueRow[], style: Style): string {
  const sections = [...new Set(catalogue.map(({ section }) => section))];
  const listed = sections.map((section) => {
    const rows = catalogue.filter((row) => row.section === section);
    return block(section, columns(rows.map(({ name, summary }) => [name, summary])), style);
  });
  return [
    "Surety, a personal AI-agent gateway that answers for its agent.\n",
    block("Usage", ["surety COMMAND [options]", "surety COMMAND --help", "surety --version"], style),
    ...listed,
    block("Options of every command", optionLines(COMMON_OPTIONS), style),
    block("Examples", EXAMPLES, style),
  ].join("\n");
}

export function helpOnAction(words: string, action: Action, style: Style): string {
  const { summary, options, examples } = action;
  return [
    `${summary}\n`,
    block("Usage", [usageLine(words, action)], style),
    block("Options", optionLines({ ...options, ...COMMON_OPTIONS }), style),
    ...(examples.length === 0 ? [] : [block("Examples", examples, style)]),
  ].join("\n");
}

export function helpOnFamily(row: CatalogueRow, actions: Readonly<Record<string, Action>>, style: Style): string {
  const lines = Object.entries(actions).map(([name, { arguments: named = [], summary }]) => [
    [name, ...named].join(" "),
    summary,
  ]);
  return [
    `${row.summary}\n`,
    block("Usage", [`surety ${row.name} ${Object.keys(actions).join("|")}`], style),
    block("Actions", columns(lines), style),
    block("Options of every command", optionLines(COMMON_OPTIONS), style),
  ].join("\n");
}

export function usageLine(words: string, { arguments: named = [], options = {} }: Action): string {
  const hasOptions = Object.keys(options).length > 0;
  return [`surety ${words}`, ...named, ...(hasOptions ? ["[options]"] : [])].join(" ");
}

function optionLines(options: Readonly<Record<string, OptionSpec>>): readonly string[] {
  return columns(
    Object.entries(options).map(([name, { value, summary, multiple }]) => [
      `--${name}${value === undefined ? "" : ` ${value}`}`,
      multiple === true ? `${summary} (repeatable)` : summary,
    ]),
  );
}

function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const width = Math.max(0, ...rows.map(([name = ""]) => name.length));
  return rows.map(([name = "", summary = ""]) => `${name.padEnd(width)}  ${summary}`);
}

function block(title: string, lines: readonly string[], style: Style): string {
  return `${style.bold(`${title}:`)}\n${lines.map((line) => `  ${line}\n`).join("")}`;
}
