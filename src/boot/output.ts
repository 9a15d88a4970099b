/** What a command prints: results to stdout, remarks to stderr; one JSON document with `--json`, words without. */
import { formatTable } from "../adapters/terminal/format-table.ts";
import { type Style, styleFor } from "../adapters/terminal/style.ts";
import type { Streams } from "./streams.ts";

export interface Output {
  /** Of stdout; remarks on stderr are never coloured by it. */
  readonly style: Style;
  /** The style of stderr, for progress and questions. */
  readonly remarkStyle: Style;
  line(text: string): void;
  /** As it is, without a line end. */
  text(text: string): void;
  table(headings: readonly string[], rows: readonly (readonly string[])[]): void;
  json(value: unknown): void;
  /** The value with `--json`, else what `print` prints. */
  result(value: unknown, print: () => void): void;
  remark(text: string): void;
}

export function outputTo({ stdout, stderr }: Streams, isJson: boolean, isColourWelcome: boolean): Output {
  const style = styleFor(stdout, isColourWelcome);
  const json = (value: unknown): void => {
    stdout.write(`${JSON.stringify(value, null, 2)}\n`);
  };
  return {
    style,
    remarkStyle: styleFor(stderr, isColourWelcome),
    line: (text) => {
      stdout.write(`${text}\n`);
    },
    text: (text) => {
      stdout.write(text);
    },
    table: (headings, rows) => {
      stdout.write(formatTable(headings, rows, style));
    },
    json,
    result: (value, print) => (isJson ? json(value) : print()),
    remark: (text) => {
      stderr.write(`${text}\n`);
    },
  };
}
