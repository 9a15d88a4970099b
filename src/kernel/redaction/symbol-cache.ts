/**
 * The symbols of a character, as `symbolsOf` has them, remembered for the characters met last, since a text has few
 * different ones.
 */
import { LEFT_OUT } from "./gram-set.ts";

const SLOTS = 4096;

interface Remembered {
  readonly code: number;
  readonly symbols: readonly number[];
}

export class SymbolCache {
  readonly #symbolsOf: (code: number) => readonly number[];
  /** Made for the first character: many texts have none that is asked about. */
  #slots: (Remembered | undefined)[] | null = null;

  constructor(symbolsOf: (code: number) => readonly number[]) {
    this.#symbolsOf = symbolsOf;
  }

  /** Without those that are left out. */
  symbols(code: number): readonly number[] {
    this.#slots ??= new Array<Remembered | undefined>(SLOTS);
    const slot = code % SLOTS;
    const known = this.#slots[slot];
    if (known?.code === code) return known.symbols;
    const symbols = this.#symbolsOf(code).filter((symbol) => symbol !== LEFT_OUT);
    this.#slots[slot] = { code, symbols };
    return symbols;
  }
}
