/**
 * One written escape, read as what it stands for: `\u0073`, `\x73`, `\u{73}`, `\n`, `%73`, `&#115;`, `&amp;`.
 * Escapes of escapes (`\\u0073`, `%2573`) are read through to the innermost one. Of the named entities five are known
 * as what they are, accented and fancy letters as the letter alone, and all others as a space.
 *
 * K1. No escape is longer than MAX_ESCAPE_CHARS: with that much text at hand the answer is final.
 */
export const MAX_ESCAPE_CHARS = 33;

export interface EscapeToken {
  /** Characters of source. */
  readonly length: number;
  readonly code: number;
  /** A byte of UTF-8 (from `%XX`), not a code point. */
  readonly isByte: boolean;
}

const BACKSLASHED = /\\{1,8}(?:u\{(?<braced>[0-9a-f]{1,6})\}|u(?<unit>[0-9a-f]{4})|x(?<point>[0-9a-f]{2})|[nrt])/;
const PERCENT = /%(?:25){0,4}(?<byte>[0-9a-f]{2})/;
const NUMBERED = /&#(?:x(?<hex>[0-9a-f]{1,6})|(?<decimal>[0-9]{1,7}));/;
const MODIFIERS = "acute|breve|caron|cedil|circ|dot|fr|grave|macr|ogon|opf|ring|scr|slash|strok|tilde|uml";
const ENTITY = new RegExp(`&(?:(?<letter>[a-z])(?:${MODIFIERS})|(?<named>[a-z][a-z0-9]{1,30}));`);
const ESCAPE = new RegExp([BACKSLASHED, PERCENT, NUMBERED, ENTITY].map(({ source }) => source).join("|"), "iy");

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
  return unit === 0x5c || unit === 0x25 || unit === 0x26;
}

/** Null when no escape stands here; undefined when that cannot be known before more text comes. */
export function readEscape(text: string, at: number, isFinal: boolean): EscapeToken | null | undefined {
  if (!isFinal && text.length - at < MAX_ESCAPE_CHARS) return undefined;
  ESCAPE.lastIndex = at;
  const match = ESCAPE.exec(text);
  if (match?.groups === undefined) return null;
  const code = codeOf(match.groups);
  return code > MAX_CODE_POINT ? null : { length: match[0].length, code, isByte: match.groups["byte"] !== undefined };
}

function codeOf(groups: Readonly<Record<string, string | undefined>>): number {
  const hex = groups["braced"] ?? groups["unit"] ?? groups["point"] ?? groups["byte"] ?? groups["hex"];
  if (hex !== undefined) return Number.parseInt(hex, 16);
  const { decimal, letter, named } = groups;
  if (decimal !== undefined) return Number.parseInt(decimal, 10);
  if (letter !== undefined) return letter.charCodeAt(0);
  return NAMED.get(named?.toLowerCase() ?? "") ?? SPACE;
}
