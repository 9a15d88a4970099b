/**
 * The symbols of a character, as one number: what `symbolsOf` says, remembered for the characters met last, since a
 * text has few different ones.
 */
import { LEFT_OUT, MAX_SYMBOL } from "./gram-set.ts";

const SLOTS = 4096;
const MAX_PACKED = 5;
/** More symbols than fit into a number. */
export const UNPACKED = -1;

export class SymbolCache {
  readonly #symbolsOf: (code: number) => readonly number[];
  /** By slot, whose symbols are there, 0 for nobody's. Made for the first character: many texts have none. */
  #codes = new Int32Array(0);
  #packed = new Int32Array(0);

  constructor(symbolsOf: (code: number) => readonly number[]) {
    this.#symbolsOf = symbolsOf;
  }

  /** The first symbol in the lowest bits, zeros after the last. */
  packed(code: number): number {
    const slot = code % SLOTS;
    if (this.#codes[slot] !== code) {
      if (this.#codes.length === 0) {
        this.#codes = new Int32Array(SLOTS);
        this.#packed = new Int32Array(SLOTS);
      }
      this.#codes[slot] = code;
      this.#packed[slot] = pack(this.#symbolsOf(code));
    }
    return this.#packed[slot] as number;
  }
}

function pack(symbols: readonly number[]): number {
  const kept = symbols.filter((symbol) => symbol !== LEFT_OUT);
  return kept.length > MAX_PACKED ? UNPACKED : kept.reduceRight((sum, symbol) => sum * (MAX_SYMBOL + 1) + symbol, 0);
}
