/**
 * Proves of most texts that they hold no loaded secret, in no encoding (`needle-filter.ts`).
 *
 * The first view stands for plain text and Base64, which pass over the same characters; the second for base32, hex and
 * decimal, which also pass over separators that the first must see.
 */
import type { GramSource } from "./gram-set.ts";
import { NeedleFilter } from "./needle-filter.ts";
import { isInvisible, READINGS, unitwiseBytes, VIEWS, type View } from "./secret-encodings.ts";
import type { Needle } from "./substring-automaton.ts";
import { symbolOfDigit, symbolsOf } from "./view-symbols.ts";

const FIRST: readonly View[] = ["plain", "base64"];
const SECOND: readonly View[] = ["base32", "hex", "decimal"];
const FIRST_SYMBOLS = symbolsOf(FIRST.map((view) => READINGS[view]));
const SECOND_SYMBOLS = symbolsOf(SECOND.map((view) => READINGS[view]));
/** In the order of VIEWS. */
const SYMBOL_OF_DIGIT = VIEWS.map((view) =>
  symbolOfDigit(READINGS[view], FIRST.includes(view) ? FIRST_SYMBOLS : SECOND_SYMBOLS),
);

/** From the needles of each view, in the order of VIEWS. */
export function compileSecretFilter(needles: readonly (readonly Needle[])[]): NeedleFilter {
  const sources = SYMBOL_OF_DIGIT.map((symbolOf, view) => ({ needles: needles[view] ?? [], symbolOf }));
  const sourcesOf = (views: readonly View[]): readonly GramSource[] =>
    sources.filter((_, view) => views.includes(VIEWS[view] as View));
  return new NeedleFilter({
    views: [
      { symbols: FIRST_SYMBOLS, sources: sourcesOf(FIRST) },
      { symbols: SECOND_SYMBOLS, sources: sourcesOf(SECOND) },
    ],
    symbolsBeyondAscii,
    hasDecorations: false,
  });
}

function symbolsBeyondAscii(code: number, isByte: boolean): readonly number[] {
  if (isByte) return [FIRST_SYMBOLS[code] as number];
  return isInvisible(code) ? [] : unitwiseBytes(code).map((byte) => FIRST_SYMBOLS[byte] as number);
}
