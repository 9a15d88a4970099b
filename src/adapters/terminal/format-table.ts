/** Rows under headings, in columns as wide as needed; text cannot break out of its cell. */
import type { Style } from "./style.ts";
import { visibleLine } from "./visible-text.ts";

const GAP = "  ";

export function formatTable(headings: readonly string[], rows: readonly (readonly string[])[], style: Style): string {
  const cells = rows.map((row) => headings.map((_, column) => visibleLine(row[column] ?? "")));
  const widths = headings.map((heading, column) =>
    Math.max(widthOf(heading), ...cells.map((row) => widthOf(row[column] ?? ""))),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - widthOf(cell)))
      .join(GAP)
      .trimEnd();
  return [style.bold(line(headings)), ...cells.map(line)].map((text) => `${text}\n`).join("");
}

function widthOf(text: string): number {
  return [...text].length;
}
