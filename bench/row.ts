/**
 * One line of the table: the figure, its A/A spread, and its bounds.
 *
 * A must keeps a margin to the noise of shared machines, so a miss is real; the spread is printed for the reader. A
 * figure that cannot be measured here says why, and neither passes nor fails.
 */
export interface Bound {
  readonly is: "at most" | "at least";
  readonly must: number;
  readonly aim?: number;
}

export interface Row {
  readonly name: string;
  /** Null: not measured, and the note says why. */
  readonly value: number | null;
  /** In the value's own unit: half the distance between repeats. */
  readonly spread: number;
  readonly unit: string;
  /** Null: printed for comparison only. */
  readonly bound: Bound | null;
  readonly note: string;
}

export type Verdict = "aim" | "met" | "MISSED" | "not measured" | "";

export function verdictOf({ value, bound }: Row): Verdict {
  if (value === null) return "not measured";
  if (bound === null) return "";
  const sign = bound.is === "at most" ? 1 : -1;
  const excess = (limit: number) => sign * (value - limit);
  if (bound.aim !== undefined && excess(bound.aim) <= 0) return "aim";
  return excess(bound.must) <= 0 ? "met" : "MISSED";
}

export function formatRows(rows: readonly Row[]): string {
  const head = ["figure", "value", "± A/A", "must", "aim", "verdict", "note"];
  const lines = [head, ...rows.map(cellsOf)];
  const widths = head.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  const format = (cells: readonly string[]) => cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ");
  return lines.map((cells) => format(cells).trimEnd()).join("\n");
}

function cellsOf(row: Row): readonly string[] {
  const { name, value, spread, unit, bound, note } = row;
  const sign = bound?.is === "at least" ? "≥" : "≤";
  const format = (limit: number | undefined) => (limit === undefined ? "" : `${sign} ${digits(limit)}`);
  return [
    name,
    value === null ? "–" : `${digits(value)}${unit === "" ? "" : ` ${unit}`}`,
    value === null || spread === 0 ? "" : digits(spread),
    format(bound?.must),
    format(bound?.aim),
    verdictOf(row),
    note,
  ];
}

export function digits(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
}
