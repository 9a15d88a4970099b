/**
 * What a command prints: results to stdout, remarks to stderr; one JSON document with `--json`, words without.
 *
 * P1. Printed text cannot move a terminal's cursor, change its colours or forge a line. Only `help`, which holds no
 *     foreign text, is written as it is.
 * P2. A line is one line everywhere. Multi-line text and JSON are left unchanged unless they go to a terminal.
 */
import { barredRows, type Purpose } from "../adapters/terminal/barred-text.ts";
import { formatTable } from "../adapters/terminal/format-table.ts";
import type { OutputStream } from "../adapters/terminal/progress-printer.ts";
import { type Style, styleFor } from "../adapters/terminal/style.ts";
import type { InputStream } from "../adapters/terminal/terminal-approver.ts";
import { safeText, visibleJson, visibleLine } from "../adapters/terminal/visible-text.ts";
import type { ReadVariable } from "./environment.ts";

export interface Streams {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
}

export interface Output {
  /** The style of stdout. */
  readonly style: Style;
  /** The style of stderr, for progress and questions. */
  readonly remarkStyle: Style;
  line(text: string): void;
  /** One line: a name and its value. */
  field(name: string, value: string): void;
  /** Any number of lines. */
  text(text: string): void;
  /** Any number of lines, each row behind a bar: as an approver reads a plan, or as a tool printed it. */
  barred(text: string, purpose: Purpose): void;
  help(text: string): void;
  table(headings: readonly string[], rows: readonly (readonly string[])[]): void;
  json(value: unknown): void;
  jsonText(json: string): void;
  /** Prints the value with `--json`, else calls `print`. */
  result(value: unknown, print: () => void): void;
  remark(text: string): void;
}

const NAME_WIDTH = 9;

/** False if NO_COLOR is set (no-color.org) or the terminal shows no colours. */
export function mayColour(readVariable: ReadVariable): boolean {
  return readVariable("NO_COLOR") === undefined && readVariable("TERM") !== "dumb";
}

export function outputTo({ stdout, stderr }: Streams, isJson: boolean, isColourWelcome: boolean): Output {
  const style = styleFor(stdout, isColourWelcome && !isJson);
  const jsonText = (json: string): void => {
    stdout.write(`${visibleJson(json)}\n`);
  };
  const json = (value: unknown): void => jsonText(JSON.stringify(value, null, 2));
  return {
    style,
    remarkStyle: styleFor(stderr, isColourWelcome),
    line: (text) => {
      stdout.write(`${visibleLine(text)}\n`);
    },
    field: (name, value) => {
      stdout.write(`${style.dim(name.padEnd(NAME_WIDTH))} ${visibleLine(value)}\n`);
    },
    text: (text) => {
      stdout.write(`${stdout.isTTY === true ? safeText(text) : text}\n`);
    },
    barred: (text, purpose) => {
      for (const row of barredRows(text, stdout.columns, purpose, style.dim)) stdout.write(`${row}\n`);
    },
    help: (text) => {
      if (isJson) json({ help: text });
      else stdout.write(text);
    },
    table: (headings, rows) => {
      stdout.write(formatTable(headings, rows, style));
    },
    json,
    jsonText,
    result: (value, print) => (isJson ? json(value) : print()),
    remark: (text) => {
      stderr.write(`${visibleLine(text)}\n`);
    },
  };
}
