/**
 * Foreign text behind a bar: every row a terminal shows of it begins with the bar, so that no row can pass for ours.
 *
 * B1. Text is cut into rows here, before the terminal would wrap it. A character counts at least as wide as a terminal
 *     draws it; where decisions are made, characters whose width depends on the terminal count as wide.
 * B2. A row ends one column early: some terminals wrap as soon as the last column is written.
 * B3. Where decisions are made, a row that goes on with a line is marked: a long line padded with spaces cannot draw rows
 *     that look like lines of their own.
 * B4. Text may come in pieces: a row goes on where the last piece ended.
 */
import { safeText, visibleText } from "./visible-text.ts";

/** What terminals begin with, and what is assumed where the width is unknown. */
const USUAL_COLUMNS = 80;
const LEAST_CELLS = 2;
const TAB_CELLS = 8;
/** Narrower terminals get the bar alone. */
const ROOM_FOR_INDENT = 24;
/** Begins the further rows of a line; only in a terminal of a few columns there is no room for it. */
const GOES_ON = "↪ ";
const ROOM_FOR_MARK = 8;
/** For a line of ours about a decision. */
export const MARKED_INDENT = `  ${GOES_ON}`;

/** For reading: `safeText`. For deciding: `visibleText`, and the widest any terminal draws. */
export type Purpose = "read" | "decide";

export interface BarredText {
  /** The rows so far end within a line. */
  readonly isMidLine: boolean;
  write(text: string): string;
  /** Ends the line if it has begun. */
  end(): string;
}

/** A terminal's width in columns; 0 or undefined: unknown. */
export type Columns = number | undefined;

export function columnsOf({ columns }: { readonly columns?: Columns }): number {
  return columns === undefined || !Number.isFinite(columns) || columns < 1 ? USUAL_COLUMNS : columns;
}

export function barredText(columns: Columns, purpose: Purpose, paint: (bar: string) => string): BarredText {
  const whole = columnsOf({ columns });
  const [bar, gap] = whole < ROOM_FOR_INDENT ? ["│", ""] : ["  │", " "];
  const rowCells = Math.max(LEAST_CELLS, whole - 1 - cellsOf(bar + gap, purpose));
  const clean = purpose === "decide" ? visibleText : safeText;
  const mark = purpose === "decide" && rowCells >= ROOM_FOR_MARK ? GOES_ON : "";
  let used: number | null = null;

  const put = (cluster: string): string => {
    if (cluster === "\n") {
      const row = used === null ? paint(bar) : "";
      used = null;
      return `${row}\n`;
    }
    const at = used ?? 0;
    const isTab = cluster === "\t";
    const cells = isTab ? Math.min(TAB_CELLS - (at % TAB_CELLS), rowCells) : cellsOf(cluster, purpose);
    const shown = isTab ? " ".repeat(cells) : cluster;
    if (used !== null && at + cells <= rowCells) {
      used = at + cells;
      return shown;
    }
    const goesOn = used === null ? "" : mark;
    const begun = `${used === null ? "" : "\n"}${paint(bar)}${gap}${goesOn}${shown}`;
    used = cellsOf(goesOn, purpose) + cells;
    return begun;
  };
  return {
    get isMidLine() {
      return used !== null;
    },
    write: (text) => clustersOf(clean(text)).map(put).join(""),
    end: () => (used === null ? "" : put("\n")),
  };
}

/** A whole text, as rows. */
export function barredRows(
  text: string,
  columns: Columns,
  purpose: Purpose,
  paint: (bar: string) => string,
): readonly string[] {
  const barred = barredText(columns, purpose, paint);
  return `${barred.write(`${text}\n`)}`.slice(0, -1).split("\n");
}

/** One line of ours that quotes foreign text: its further rows are indented, so that none begins a line. */
export function wrappedLine(line: string, columns: Columns, indent = "    "): string {
  const indentCells = cellsOf(indent, "decide");
  const rowCells = Math.max(LEAST_CELLS + indentCells, columnsOf({ columns }) - 1);
  let used = 0;
  return clustersOf(line)
    .map((cluster) => {
      const cells = cellsOf(cluster, "decide");
      const fits = used + cells <= rowCells;
      used = fits ? used + cells : indentCells + cells;
      return fits ? cluster : `\n${indent}${cluster}`;
    })
    .join("");
}

/** A character with its marks: a row must not begin with a mark, which would change what is before it. */
export function clustersOf(text: string): readonly string[] {
  return text.match(/[\n\t]|\P{M}\p{M}{0,4}|\p{M}/gu) ?? [];
}

export function cellsOf(text: string, purpose: Purpose): number {
  let cells = 0;
  for (const character of text) cells += cellsOfOne(character, purpose);
  return cells;
}

function cellsOfOne(character: string, purpose: Purpose): number {
  const code = character.codePointAt(0) ?? 0;
  // Terminals that do not combine marks give each a cell of its own.
  if (code < 0x7f || /\p{M}/u.test(character)) return 1;
  // Letters of most alphabets, symbols and lines: narrow, unless the terminal was set to draw them wide.
  const isUsuallyNarrow =
    code < 0x1100 || (code >= 0x1e00 && code < 0x2c00 && !/\p{Emoji_Presentation}/u.test(character));
  return isUsuallyNarrow && purpose === "read" ? 1 : 2;
}
