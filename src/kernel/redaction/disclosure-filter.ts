/**
 * Proves of most answers that they repeat no protected text (`needle-filter.ts`). The first view stands for letters,
 * which pass over all else; the second for Base64 and hex.
 */
import { foldLetters } from "./fold-letters.ts";
import { LEFT_OUT, MAX_SYMBOL } from "./gram-set.ts";
import { NeedleFilter } from "./needle-filter.ts";
import { READINGS } from "./secret-encodings.ts";
import type { Needle } from "./substring-automaton.ts";
import { symbolOfDigit, symbolsOf } from "./view-symbols.ts";

const LETTER_SYMBOLS = Uint8Array.from({ length: 0x80 }, (_, code) => {
  const [letter] = foldLetters(code);
  return letter === undefined ? LEFT_OUT : symbolOfLetter(letter);
});
const DIGIT_SYMBOLS = symbolsOf([READINGS.base64, READINGS.hex]);
const symbolOfBase64 = symbolOfDigit(READINGS.base64, DIGIT_SYMBOLS);
const symbolOfHex = symbolOfDigit(READINGS.hex, DIGIT_SYMBOLS);

export interface DisclosureNeedles {
  readonly letters: readonly Needle[];
  readonly base64: readonly Needle[];
  readonly hex: readonly Needle[];
}

export function compileDisclosureFilter({ letters, base64, hex }: DisclosureNeedles): NeedleFilter {
  return new NeedleFilter({
    views: [
      { symbols: LETTER_SYMBOLS, sources: [{ needles: letters, symbolOf: symbolOfLetter }] },
      {
        symbols: DIGIT_SYMBOLS,
        sources: [
          { needles: base64, symbolOf: symbolOfBase64 },
          { needles: hex, symbolOf: symbolOfHex },
        ],
      },
    ],
    symbolsBeyondAscii: (code) => foldLetters(code).map(symbolOfLetter),
    hasDecorations: true,
  });
}

/** The 26 have symbols of their own, and all other scripts share the rest. */
function symbolOfLetter(unit: number): number {
  if (unit >= 0x61 && unit <= 0x7a) return unit - 0x60;
  return 27 + (unit % (MAX_SYMBOL - 26));
}
