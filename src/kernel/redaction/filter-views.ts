/**
 * The views through which `needle-filter.ts` reads a text: for loaded secrets, and for protected prompts. One view
 * covers the digits of several encodings: bytes that one encoding reads as the same digit are the same symbol, and a
 * byte that one encoding skips is left out with every byte of the same symbol. So digits in a row are symbols in a row.
 */
import { foldLetters } from "./fold-letters.ts";
import { compileFilter, LEFT_OUT, MAX_SYMBOL, type NeedleSource } from "./needle-filter.ts";
import { isInvisible, READINGS, SKIPPED, unitwiseBytes, VIEWS, type View } from "./secret-encodings.ts";
import type { Needle } from "./substring-automaton.ts";

const NOTHING = (): readonly number[] => [];

/** Letters and digits come first, and so have symbols of their own; there are more bytes than symbols. */
const FIRST_BYTE = 0x30;

/** By byte. Each reading maps a byte to its digit in one encoding. */
export function symbolsOf(readings: readonly (readonly number[])[]): Uint8Array {
  const leaders = leadersOf(readings);
  const isLeft = new Set(readings.flatMap((reading) => leaders.filter((_, byte) => reading[byte] === SKIPPED)));
  const symbols = new Uint8Array(256);
  let count = 0;
  for (let turn = 0; turn < 256; turn += 1) {
    const byte = (FIRST_BYTE + turn) % 256;
    const leader = leaders[byte] as number;
    if (isLeft.has(leader)) continue;
    if (symbols[leader] === LEFT_OUT) {
      symbols[leader] = 1 + (count % MAX_SYMBOL);
      count += 1;
    }
    symbols[byte] = symbols[leader] as number;
  }
  return symbols;
}

/** The symbols of a view's digits. */
export function symbolOfDigit(reading: readonly number[], symbols: Uint8Array): (digit: number) => number {
  const ofDigit = new Uint8Array(256);
  for (let byte = 0; byte < 256; byte += 1) {
    const digit = reading[byte] as number;
    if (digit >= 0) ofDigit[digit] = symbols[byte] as number;
  }
  return (digit) => ofDigit[digit] as number;
}

/** For each byte one that is the same symbol, the same for all of them. */
function leadersOf(readings: readonly (readonly number[])[]): readonly number[] {
  const above = Array.from({ length: 256 }, (_, byte) => byte);
  const leaderOf = (byte: number): number => {
    let leader = byte;
    while (above[leader] !== leader) leader = above[leader] as number;
    return leader;
  };
  for (const reading of readings) {
    const firstOf = new Map<number, number>();
    for (let byte = 0; byte < 256; byte += 1) {
      const digit = reading[byte] as number;
      if (digit < 0) continue;
      above[leaderOf(byte)] = leaderOf(firstOf.get(digit) ?? byte);
      if (!firstOf.has(digit)) firstOf.set(digit, byte);
    }
  }
  return above.map((_, byte) => leaderOf(byte));
}

// Plain text and Base64 skip the same characters; base32, hex and decimal also skip separators that those must see.
const FIRST: readonly View[] = ["plain", "base64"];
const SECOND: readonly View[] = ["base32", "hex", "decimal"];
const FIRST_SYMBOLS = symbolsOf(FIRST.map((view) => READINGS[view]));
const SECOND_SYMBOLS = symbolsOf(SECOND.map((view) => READINGS[view]));
/** In the order of VIEWS. */
const SYMBOL_OF_DIGIT = VIEWS.map((view) =>
  symbolOfDigit(READINGS[view], FIRST.includes(view) ? FIRST_SYMBOLS : SECOND_SYMBOLS),
);

/** May a text hold one of these needles, given for each view in the order of VIEWS? */
export function compileSecretFilter(needles: readonly (readonly Needle[])[]): (text: string) => boolean {
  const sources = SYMBOL_OF_DIGIT.map((symbolOf, view) => ({ needles: needles[view] ?? [], symbolOf }));
  const sourcesOf = (views: readonly View[]): readonly NeedleSource[] =>
    sources.filter((_, view) => views.includes(VIEWS[view] as View));
  return compileFilter([
    { symbols: FIRST_SYMBOLS, beyondAscii: plainSymbols, sources: sourcesOf(FIRST), hasDecorations: false },
    { symbols: SECOND_SYMBOLS, beyondAscii: NOTHING, sources: sourcesOf(SECOND), hasDecorations: false },
  ]);
}

function plainSymbols(code: number, isByte: boolean): readonly number[] {
  if (isByte) return [FIRST_SYMBOLS[code] as number];
  return isInvisible(code) ? [] : unitwiseBytes(code).map((byte) => FIRST_SYMBOLS[byte] as number);
}

const LETTER_SYMBOLS = Uint8Array.from({ length: 0x80 }, (_, code) => {
  const [letter] = foldLetters(code);
  return letter === undefined ? LEFT_OUT : symbolOfLetter(letter);
});
const DIGIT_SYMBOLS = symbolsOf([READINGS.base64, READINGS.hex]);

export interface DisclosureNeedles {
  readonly letters: readonly Needle[];
  readonly base64: readonly Needle[];
  readonly hex: readonly Needle[];
}

/** May an answer repeat one of these prompts? */
export function compileDisclosureFilter({ letters, base64, hex }: DisclosureNeedles): (answer: string) => boolean {
  const inDigits = [
    { needles: base64, symbolOf: symbolOfDigit(READINGS.base64, DIGIT_SYMBOLS) },
    { needles: hex, symbolOf: symbolOfDigit(READINGS.hex, DIGIT_SYMBOLS) },
  ];
  return compileFilter([
    {
      symbols: LETTER_SYMBOLS,
      beyondAscii: (code) => foldLetters(code).map(symbolOfLetter),
      sources: [{ needles: letters, symbolOf: symbolOfLetter }],
      hasDecorations: true,
    },
    { symbols: DIGIT_SYMBOLS, beyondAscii: NOTHING, sources: inDigits, hasDecorations: true },
  ]);
}

/** The 26 have symbols of their own; all other scripts share the rest. */
function symbolOfLetter(unit: number): number {
  if (unit >= 0x61 && unit <= 0x7a) return unit - 0x60;
  return 27 + (unit % (MAX_SYMBOL - 26));
}
