/**
 * One written escape, decoded: `\u0073`, `\x73`, `\u{73}`, `\n`, `%73`, `&#115;`, `&amp;`, never longer than
 * MAX_ESCAPE_CHARS. Escapes of escapes (`\\u0073`, `%2573`) are read through to the innermost one. Five named entities
 * are read exactly, accented and styled letters as the plain letter, all others as a space.
 */
export const MAX_ESCAPE_CHARS = 33;

export interface EscapeToken {
  readonly length: number;
  readonly code: number;
  /** A byte of UTF-8 (from `%XX`), not a code point. */
  readonly isByte: boolean;
}

const BACKSLASH = 0x5c;
const PERCENT = 0x25;
const AMPERSAND = 0x26;
const MAX_BACKSLASHES = 8;
/** How often a percent sign may itself be written as `%25`. */
const MAX_PERCENTS = 4;
const MAX_NAME_CHARS = 31;
const MODIFIERS: ReadonlySet<string> = new Set(
  "acute breve caron cedil circ dot fr grave macr ogon opf ring scr slash strok tilde uml".split(" "),
);
const NAMED: ReadonlyMap<string, number> = new Map([
  ["amp", 0x26],
  ["lt", 0x3c],
  ["gt", 0x3e],
  ["quot", 0x22],
  ["apos", 0x27],
]);
const SPACE = 0x20;
const MAX_CODE_POINT = 0x10ffff;

export function startsEscape(unit: number): boolean {
  return unit === BACKSLASH || unit === PERCENT || unit === AMPERSAND;
}

/** Null when there is no escape here; undefined when more text must decide. */
export function readEscape(text: string, at: number, isFinal: boolean): EscapeToken | null | undefined {
  if (!isFinal && text.length - at < MAX_ESCAPE_CHARS) return undefined;
  const unit = text.charCodeAt(at);
  if (unit === BACKSLASH) return readBackslashed(text, at);
  if (unit === PERCENT) return readPercent(text, at);
  if (unit !== AMPERSAND) return null;
  return text.charAt(at + 1) === "#" ? readNumbered(text, at) : readEntity(text, at);
}

function readBackslashed(text: string, at: number): EscapeToken | null {
  let mark = at + 1;
  while (mark - at < MAX_BACKSLASHES && text.charCodeAt(mark) === BACKSLASH) mark += 1;
  const from = mark + 1;
  switch (text.charAt(mark)) {
    case "n":
    case "N":
    case "r":
    case "R":
    case "t":
    case "T":
      return { length: from - at, code: SPACE, isByte: false };
    case "x":
    case "X":
      return hexadecimal(text, at, from, from + 2, 2, "");
    case "u":
    case "U":
      if (text.charAt(from) !== "{") return hexadecimal(text, at, from, from + 4, 4, "");
      return hexadecimal(text, at, from + 1, digitsEnd(text, from + 1, 6, 16), 1, "}");
    default:
      return null;
  }
}

function readPercent(text: string, at: number): EscapeToken | null {
  let from = at + 1;
  while (from - at < 2 * MAX_PERCENTS && text.startsWith("25", from)) from += 2;
  // The last `25` is a percent sign unless digits after it make it part of an escape.
  if (from > at + 1 && digitsEnd(text, from, 2, 16) < from + 2) from -= 2;
  const token = hexadecimal(text, at, from, from + 2, 2, "");
  return token === null ? null : { ...token, isByte: true };
}

function readNumbered(text: string, at: number): EscapeToken | null {
  const isHex = (text.charCodeAt(at + 2) | 0x20) === 0x78;
  if (isHex) return hexadecimal(text, at, at + 3, digitsEnd(text, at + 3, 6, 16), 1, ";");
  const to = digitsEnd(text, at + 2, 7, 10);
  if (to === at + 2 || text.charAt(to) !== ";") return null;
  return codePoint(Number.parseInt(text.slice(at + 2, to), 10), to + 1 - at);
}

function readEntity(text: string, at: number): EscapeToken | null {
  const from = at + 1;
  let to = from;
  while (to < from + MAX_NAME_CHARS && isLetterOrDigit(text.charCodeAt(to))) to += 1;
  if (to < from + 2 || text.charAt(to) !== ";" || digitValue(text.charCodeAt(from)) < 10) return null;
  const name = text.slice(from, to).toLowerCase();
  const code = MODIFIERS.has(name.slice(1)) ? text.charCodeAt(from) : (NAMED.get(name) ?? SPACE);
  return { length: to + 1 - at, code, isByte: false };
}

/** The digits from `from` to `to`, at least `fewest` of them, and `end` after them. */
function hexadecimal(
  text: string,
  at: number,
  from: number,
  to: number,
  fewest: number,
  end: string,
): EscapeToken | null {
  if (to - from < fewest || digitsEnd(text, from, to - from, 16) < to || !text.startsWith(end, to)) return null;
  return codePoint(Number.parseInt(text.slice(from, to), 16), to + end.length - at);
}

function codePoint(code: number, length: number): EscapeToken | null {
  return code > MAX_CODE_POINT ? null : { length, code, isByte: false };
}

/** The index after at most `most` digits. */
function digitsEnd(text: string, from: number, most: number, radix: number): number {
  let to = from;
  while (to < from + most && digitValue(text.charCodeAt(to)) < radix) to += 1;
  return to;
}

function isLetterOrDigit(unit: number): boolean {
  return digitValue(unit) < 36;
}

/** Letters go on after 9; no digit is infinity. */
function digitValue(unit: number): number {
  if (unit >= 0x30 && unit <= 0x39) return unit - 0x30;
  const lower = unit | 0x20;
  return lower >= 0x61 && lower <= 0x7a && unit >= 0x41 && unit <= 0x7a ? lower - 0x57 : Number.POSITIVE_INFINITY;
}
