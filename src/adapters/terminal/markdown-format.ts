/**
 * Markdown as it streams: line by line, wrapped at words.
 *
 * K1. Without colours the text stays as it was written: its own marks are the only emphasis there is.
 * K2. With colours, marks that have their pair are taken out: an unfinished one is shown until its end arrives.
 */
import { cellsOf, clustersOf } from "./barred-text.ts";
import type { LineFormat } from "./screen.ts";
import type { Style } from "./style.ts";

type Paint = (text: string) => string;
interface Piece {
  readonly text: string;
  readonly paint: Paint;
}

const FENCE = /^\s{0,3}(?:```|~~~)/;
const BLOCK = /^(\s*)(?:(#{1,6}) +|([-*+]) +|(\d{1,9}[.)]) +|(>) ?)?/;
const INLINE = /\*\*(?=\S)(.+?)(?<=\S)\*\*|`([^`]+)`/g;

/** For one text: whether a line is code depends on those before it. */
export function markdownFormat(style: Style): LineFormat {
  const isColoured = style.bold("x") !== "x";
  let isCode = false;
  return {
    rows(line, columns, isEnded) {
      const isFence = FENCE.test(line);
      const wasCode = isCode;
      if (isFence && isEnded) isCode = !isCode;
      const width = Math.max(2, columns - 1);
      if (isFence) return cut([{ text: line, paint: style.dim }], width);
      if (wasCode) return cut([{ text: line, paint: style.cyan }], width);
      return isColoured
        ? formatted(line, width, style)
        : wrapped([{ text: line, paint: plain }], width, indentOf(line));
    },
  };
}

function plain(text: string): string {
  return text;
}

function indentOf(line: string): string {
  const [opening = "", , heading] = BLOCK.exec(line) ?? [];
  return heading === undefined ? " ".repeat(opening.length) : "";
}

function formatted(line: string, width: number, style: Style): readonly string[] {
  const [opening = "", blanks = "", heading, bullet, number, quote] = BLOCK.exec(line) ?? [];
  const rest = line.slice(opening.length);
  if (heading !== undefined) return wrapped(inline(rest, style, style.bold), width, "");
  const sign = bullet !== undefined ? "• " : quote !== undefined ? "│ " : number !== undefined ? `${number} ` : "";
  const lead = `${blanks}${sign}`;
  const pieces = inline(rest, style, quote === undefined ? plain : style.dim);
  return wrapped(
    [{ text: lead, paint: quote === undefined ? plain : style.dim }, ...pieces],
    width,
    " ".repeat(lead.length),
  );
}

function inline(text: string, style: Style, paint: Paint): readonly Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    const [whole, strong, code = ""] = match;
    pieces.push({ text: text.slice(at, match.index), paint });
    pieces.push(strong === undefined ? { text: code, paint: style.cyan } : { text: strong, paint: style.bold });
    at = match.index + whole.length;
  }
  return [...pieces, { text: text.slice(at), paint }];
}

interface Cell {
  readonly text: string;
  readonly paint: Paint;
  readonly width: number;
}

function cellsIn(pieces: readonly Piece[]): readonly Cell[] {
  return pieces.flatMap(({ text, paint }) =>
    clustersOf(text).map((cluster) => {
      const shown = cluster === "\t" ? "    " : cluster;
      return { text: shown, paint, width: cellsOf(shown, "read") };
    }),
  );
}

/** At words; a word that is longer than a row is cut. */
function wrapped(pieces: readonly Piece[], width: number, indent: string): readonly string[] {
  const hanging = indent.length < width / 2 ? indent : "";
  const rows: string[] = [];
  let row: Cell[] = [];
  let used = 0;
  const push = (cells: readonly Cell[]): void => {
    rows.push((rows.length === 0 ? "" : hanging) + painted(cells));
  };
  for (const cell of cellsIn(pieces)) {
    if (used + cell.width > width) {
      const blank = row.findLastIndex(({ text }) => text === " ");
      const isWord = blank > 0 && row.slice(0, blank).some(({ text }) => text !== " ");
      const next = cell.text === " " ? [] : isWord ? row.slice(blank + 1) : [];
      push(isWord && cell.text !== " " ? row.slice(0, blank) : row);
      row = next;
      used = hanging.length + next.reduce((sum, each) => sum + each.width, 0);
      if (cell.text === " ") continue;
    }
    row.push(cell);
    used += cell.width;
  }
  push(row);
  return rows;
}

/** Code: at the width, wherever that is. */
function cut(pieces: readonly Piece[], width: number): readonly string[] {
  const rows: string[] = [];
  let row: Cell[] = [];
  let used = 0;
  for (const cell of cellsIn(pieces)) {
    if (used + cell.width > width) {
      rows.push(painted(row));
      row = [];
      used = 0;
    }
    row.push(cell);
    used += cell.width;
  }
  return [...rows, painted(row)];
}

function painted(cells: readonly Cell[]): string {
  let text = "";
  for (let from = 0; from < cells.length; ) {
    const paint = cells[from]?.paint ?? plain;
    let to = from;
    while (to < cells.length && cells[to]?.paint === paint) to += 1;
    text += paint(
      cells
        .slice(from, to)
        .map((cell) => cell.text)
        .join(""),
    );
    from = to;
  }
  return text;
}
