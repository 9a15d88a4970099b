/**
 * One line of the table: what was measured, how far the measurement strays from itself, and what it must be.
 *
 * R1. A must is missed only beyond the A/A spread: what a measurement differs from its own repeat is nobody's fault.
 * R2. What could not be measured here says why, and neither passes nor fails.
 */
export interface Bound {
  readonly is: "at most" | "at least";
  readonly must: number;
  readonly stretch?: number;
}

export interface Row {
  readonly name: string;
  /** Null: not measured, and the note says why. */
  readonly value: number | null;
  /** In the value's own unit: half the width within which a repeat falls. */
  readonly spread: number;
  readonly unit: string;
  /** Null: told for comparison. */
  readonly bound: Bound | null;
  readonly note: string;
}

export type Verdict = "stretch" | "met" | "met within spread" | "MISSED" | "not measured" | "";

export function verdictOf({ value, spread, bound }: Row): Verdict {
  if (value === null) return "not measured";
  if (bound === null) return "";
  const sign = bound.is === "at most" ? 1 : -1;
  const excess = (limit: number) => sign * (value - limit);
  if (bound.stretch !== undefined && excess(bound.stretch) <= 0) return "stretch";
  if (excess(bound.must) <= 0) return "met";
  return excess(bound.must) <= spread ? "met within spread" : "MISSED";
}

export function formatRows(rows: readonly Row[]): string {
  const head = ["figure", "value", "± A/A", "must", "stretch", "verdict", "note"];
  const lines = [head, ...rows.map(cellsOf)];
  const widths = head.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  const format = (cells: readonly string[]) => cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ");
  return lines.map((cells) => format(cells).trimEnd()).join("\n");
}

function cellsOf(row: Row): readonly string[] {
  const { name, value, spread, unit, bound, note } = row;
  const sign = bound?.is === "at least" ? "≥" : "≤";
  const told = (limit: number | undefined) => (limit === undefined ? "" : `${sign} ${digits(limit)}`);
  return [
    name,
    value === null ? "–" : `${digits(value)}${unit === "" ? "" : ` ${unit}`}`,
    value === null || spread === 0 ? "" : digits(spread),
    told(bound?.must),
    told(bound?.stretch),
    verdictOf(row),
    note,
  ];
}

export function digits(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
}
