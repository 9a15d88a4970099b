/**
 * The disguises of a known value: what to look for, in which alphabet.
 *
 * Text is looked at through five views of its bytes. A view reads the characters of one alphabet as digits, passes
 * over what such an encoding may be broken up with (line ends, separators, the NULs of UTF-16), and is interrupted
 * by everything else. Escapes (`\u0073`, `%73`, `&#115;`) are undone before the views, see `escape-token.ts`.
 *
 * N1. Every run of FRAGMENT_BYTES bytes of the value in UTF-8, encoded anywhere in a longer text and at any alignment,
 *     shows at least one run of `gram` digits of a needle; so does every run of characters that has as many bytes in
 *     UTF-8, where UTF-16 is what was encoded. A shorter value counts as a whole only; a run in which fewer than
 *     MIN_SECRET_BYTES bytes count is let through.
 * N2. Base64 digits that also depend on a neighbouring byte are in no needle.
 */
import { readEscape, startsEscape } from "./escape-token.ts";
import type { Needle } from "./substring-automaton.ts";

/** The shortest part of a known value that is redacted. Shorter parts get through: a documented limit. */
const FRAGMENT_BYTES = 12;

/** Below this a value occurs by chance, and redacting it would destroy text. White space and backslashes do not count. */
export const MIN_SECRET_BYTES = 8;

/** A private key of 8192 bits fits, in PEM. The needles of a longer value would take seconds to compile. */
export const MAX_SECRET_BYTES = 8192;

export const VIEWS = ["plain", "base64", "base32", "hex", "decimal"] as const;
export type View = (typeof VIEWS)[number];

export const BASE64_BITS = 6;
const BASE32_BITS = 5;
export const HEX_BITS = 4;

/** A view's reading of a byte: a digit, or one of these. */
export const SKIPPED = -1;
export const FOREIGN = -2;

const BREAKS = "\0\t\n\v\f\r \\";
const UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LOWER = UPPER.toLowerCase();

/** For each view what each of the 256 bytes means. */
export const READINGS: Readonly<Record<View, readonly number[]>> = {
  // Case is folded, since host names lose it.
  plain: bytes().map((byte) => (BREAKS.includes(String.fromCharCode(byte)) ? SKIPPED : foldCase(byte))),
  base64: reading([`${UPPER}${LOWER}0123456789+/`, `${UPPER}${LOWER}0123456789-_`], BREAKS),
  // Long host names carry base32 and hex in labels, with dots between them.
  base32: reading([`${UPPER}234567`, `${LOWER}234567`], `${BREAKS}.-`),
  hex: reading(["0123456789abcdef", "0123456789ABCDEF"], `${BREAKS}.:,-`),
  decimal: reading(["0123456789"], `${BREAKS},`),
};

/** All needles of a value, view by view in the order of VIEWS. */
export function needlesOf(value: string, owner: number): readonly (readonly Needle[])[] {
  const utf8Bytes = utf8(value);
  // Where no unit has a high byte, both orders are the same bytes shifted by one NUL.
  const utf16Orders = isLatin1(value) ? [utf16Little] : [utf16Little, utf16Big];
  const utf16Forms = utf16Orders.map((bytesOfText) => bytesOfText(value));
  const visible = withoutInvisible(value);
  const inDigits = (forms: readonly (readonly number[])[], width: number, fragmentBytes: number): readonly Needle[] =>
    forms.flatMap((form) => digitNeedles(form, width, owner, fragmentBytes));
  const inPlain = (form: readonly number[], fewest: number): Needle => {
    const symbols = significant(form);
    return { symbols, owner, gram: Math.max(MIN_SECRET_BYTES, Math.min(fewest, symbols.length)) };
  };
  const fewestPlain = fewestInFragment(visible, (character) => significant(utf8(character)).length);
  const fewestUtf16 = fewestInFragment(value, (character) => 2 * character.length);
  const needles: Readonly<Record<View, readonly Needle[]>> = {
    plain: withoutRepeated([
      ...[utf8(visible), unitwiseUtf8(visible), unescaped(visible)].map((form) => inPlain(form, fewestPlain)),
      ...utf16Orders.map((bytesOfText) => {
        const shown = (text: string): number[] => asLatin1(bytesOfText(text));
        return inPlain(
          shown(value),
          fewestInFragment(value, (character) => significant(shown(character)).length),
        );
      }),
    ]),
    base64: [...inDigits([utf8Bytes], BASE64_BITS, FRAGMENT_BYTES), ...inDigits(utf16Forms, BASE64_BITS, fewestUtf16)],
    base32: inDigits([utf8Bytes], BASE32_BITS, FRAGMENT_BYTES),
    hex: [...inDigits([utf8Bytes], HEX_BITS, FRAGMENT_BYTES), ...inDigits(utf16Forms, HEX_BITS, fewestUtf16)],
    decimal: [decimalNeedle(utf8Bytes, owner)],
  };
  return VIEWS.map((view) => needles[view]);
}

/** For equal symbols, only the needle with the smallest gram. */
function withoutRepeated(needles: readonly Needle[]): readonly Needle[] {
  const kept = new Map<string, Needle>();
  for (const needle of needles) {
    const key = needle.symbols.join();
    if (needle.gram < (kept.get(key)?.gram ?? Number.POSITIVE_INFINITY)) kept.set(key, needle);
  }
  return [...kept.values()];
}

/** Bytes in digits of `width` bits, once for each alignment. */
export function digitNeedles(
  form: readonly number[],
  width: number,
  owner: number,
  fragmentBytes: number,
): readonly Needle[] {
  const gram = wholeDigits(Math.min(fragmentBytes, form.length), width);
  return alignments(width).map((offset) => ({ symbols: stableDigits(form, offset, width), owner, gram }));
}

/** Why a value cannot be redacted; null when it can. */
export function secretProblem(value: string): "value-too-long" | "value-too-short" | null {
  if (isTooLong(value)) return "value-too-long";
  return significantLength(value) < MIN_SECRET_BYTES ? "value-too-short" : null;
}

function isTooLong(value: string): boolean {
  // No character has less than a byte: a value that is far too long need not be encoded to know.
  return value.length > MAX_SECRET_BYTES || utf8(value).length > MAX_SECRET_BYTES;
}

/** How many bytes of a value the plain view looks at. */
function significantLength(value: string): number {
  return significant(utf8(withoutInvisible(value))).length;
}

/** A code point, or a lone UTF-16 code unit, as the bytes of UTF-8. */
function bytesOf(code: number): readonly number[] {
  if (code < 0x80) return [code];
  if (code < 0x800) return [0xc0 | (code >> 6), 0x80 | (code & 0x3f)];
  if (code < 0x10000) return [0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)];
  return [0xf0 | (code >> 18), 0x80 | ((code >> 12) & 0x3f), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)];
}

/** Code points beyond the first plane as two units, because text may be cut between them. */
export function unitwiseBytes(code: number): readonly number[] {
  return code < 0x10000 ? bytesOf(code) : unitwiseUtf8(String.fromCodePoint(code));
}

/** Characters that take no room: they break up a value for a machine, not for a reader. */
export function isInvisible(unit: number): boolean {
  if (unit < 0xad) return false;
  if (unit === 0xad || unit === 0x34f || unit === 0x61c || unit === 0x180e || unit === 0xfeff) return true;
  return (unit >= 0x200b && unit <= 0x200f) || (unit >= 0x202a && unit <= 0x202e) || (unit >= 0x2060 && unit <= 0x206f);
}

function withoutInvisible(text: string): string {
  return [...text].filter((character) => !isInvisible(character.charCodeAt(0))).join("");
}

function isLatin1(text: string): boolean {
  return unitsOf(text).every((unit) => unit <= 0xff);
}

export function utf8(text: string): number[] {
  return [...text].flatMap((character) => bytesOf(character.codePointAt(0) as number));
}

function unitwiseUtf8(text: string): number[] {
  return unitsOf(text).flatMap(bytesOf);
}

function utf16Little(text: string): number[] {
  return unitsOf(text).flatMap((unit) => [unit & 0xff, unit >> 8]);
}

function utf16Big(text: string): number[] {
  return unitsOf(text).flatMap((unit) => [unit >> 8, unit & 0xff]);
}

function unitsOf(text: string): number[] {
  return Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
}

/** A value may hold what reads as an escape; undoing the escapes around it undoes that too. */
function unescaped(text: string): number[] {
  const form: number[] = [];
  for (let at = 0; at < text.length; ) {
    const found = startsEscape(text.charCodeAt(at)) ? readEscape(text, at, true) : null;
    if (found?.isByte) form.push(found.code);
    else form.push(...unitwiseBytes(found ? found.code : text.charCodeAt(at)));
    at += found?.length ?? 1;
  }
  return form;
}

/** Bytes that were decoded as Latin-1 and written as text. */
function asLatin1(bytes: readonly number[]): number[] {
  return bytes.filter((byte) => !isInvisible(byte)).flatMap(bytesOf);
}

function significant(form: readonly number[]): number[] {
  return form.map((byte) => READINGS.plain[byte] as number).filter((digit) => digit !== SKIPPED);
}

/**
 * The least measure among all runs of characters with FRAGMENT_BYTES bytes or more, and no more than that;
 * of the whole for a shorter value.
 */
function fewestInFragment(value: string, measure: (character: string) => number): number {
  const sizes: number[] = [];
  const measures: number[] = [];
  let fewest = FRAGMENT_BYTES;
  let from = 0;
  let bytes = 0;
  let count = 0;
  for (const character of value) {
    const size = utf8(character).length;
    const measured = measure(character);
    sizes.push(size);
    measures.push(measured);
    bytes += size;
    count += measured;
    while (bytes - (sizes[from] as number) >= FRAGMENT_BYTES) {
      bytes -= sizes[from] as number;
      count -= measures[from] as number;
      from += 1;
    }
    if (bytes >= FRAGMENT_BYTES) fewest = Math.min(fewest, count);
  }
  return bytes < FRAGMENT_BYTES ? Math.min(fewest, count) : fewest;
}

/** The bit offsets at which a byte can start within a digit. */
function alignments(width: number): readonly number[] {
  const offsets = [0, 1, 2, 3, 4].map((count) => (count * 8) % width);
  return [...new Set(offsets)];
}

/** How many digits so many bytes fill alone, wherever they start. */
function wholeDigits(byteCount: number, width: number): number {
  const lost = Math.max(...alignments(width).map((offset) => (width - offset) % width));
  return Math.floor((byteCount * 8 - lost) / width);
}

/** The digits that lie wholly within the bytes, when the first byte starts `offset` bits into a digit. */
function stableDigits(form: readonly number[], offset: number, width: number): readonly number[] {
  const digits: number[] = [];
  for (let bit = (width - offset) % width; bit + width <= form.length * 8; bit += width) {
    const pair = ((form[bit >> 3] as number) << 8) | (form[(bit >> 3) + 1] ?? 0);
    digits.push((pair >> (16 - (bit & 7) - width)) & ((1 << width) - 1));
  }
  return digits;
}

/** `115, 107, 45`, as a byte array is printed. Bytes of text have two digits or more. */
function decimalNeedle(form: readonly number[], owner: number): Needle {
  const symbols = form.flatMap((byte) => [...String(byte)].map(Number));
  return { symbols, owner, gram: Math.min(symbols.length, 2 * FRAGMENT_BYTES) };
}

function bytes(): number[] {
  return Array.from({ length: 256 }, (_, byte) => byte);
}

function foldCase(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
}

function reading(alphabets: readonly string[], skipped: string): readonly number[] {
  return bytes().map((byte) => {
    const character = String.fromCharCode(byte);
    const digit = Math.max(...alphabets.map((alphabet) => alphabet.indexOf(character)));
    if (digit >= 0) return digit;
    return skipped.includes(character) ? SKIPPED : FOREIGN;
  });
}
