/**
 * One written escape, read as what it stands for: `\u0073`, `\x73`, `\u{73}`, `\n`, `%73`, `&#115;`, `&amp;`.
 * Escapes of escapes (`\\u0073`, `%2573`) are read through to the innermost one.
 *
 * K1. No escape is longer than MAX_ESCAPE_CHARS: with that much text at hand the answer is final.
 */
export const MAX_ESCAPE_CHARS = 17;

export interface EscapeToken {
  /** Characters of source. */
  readonly length: number;
  readonly code: number;
  /** A byte of UTF-8 (from `%XX`), not a code point. */
  readonly isByte: boolean;
}

const ESCAPE =
  /\\{1,8}(?:u\{(?<braced>[0-9a-f]{1,6})\}|u(?<unit>[0-9a-f]{4})|x(?<point>[0-9a-f]{2})|(?<space>[nrt]))|%(?:25){0,4}(?<byte>[0-9a-f]{2})|&(?:#(?:x(?<hex>[0-9a-f]{1,6})|(?<decimal>[0-9]{1,7}));|(?<named>amp|lt|gt|quot|apos);)/iy;

const NAMED: Readonly<Record<string, number>> = { amp: 0x26, lt: 0x3c, gt: 0x3e, quot: 0x22, apos: 0x27 };
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
  const { decimal, named } = groups;
  if (decimal !== undefined) return Number.parseInt(decimal, 10);
  return named === undefined ? SPACE : (NAMED[named.toLowerCase()] as number);
}
