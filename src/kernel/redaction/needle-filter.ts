/**
 * Proves that most texts hold no needle, at a fraction of what the exact automata cost.
 *
 * A view reads a text in symbols that are coarser than those of an automaton. It counts how many symbols in a row could
 * be part of a needle: a symbol counts when the last GRAM_SYMBOLS symbols occur in some needle, as far as one bit tells.
 *
 * X1. Sound: if an automaton finds a needle in some reading of a text, `mayHold` is true. Where readings part
 *     (an escape, a decoration), the view reads the text as written, and at the end of that place takes the longest
 *     count of all readings and lets the next symbols pass unchecked: after them all readings agree again.
 * X2. Only for whole texts. For a text that may go on it proves nothing.
 */
import { readDecoration, startsDecoration } from "./decoration.ts";
import { readEscape, startsEscape } from "./escape-token.ts";
import type { Needle } from "./substring-automaton.ts";

/** Symbols are small numbers, so that a gram fits into one; LEFT_OUT is no symbol. */
const SYMBOL_BITS = 6;
export const MAX_SYMBOL = 2 ** SYMBOL_BITS - 1;
export const LEFT_OUT = 0;
const GRAM_SYMBOLS = 4;
const WHOLE_GRAM = 2 ** (GRAM_SYMBOLS * SYMBOL_BITS) - 1;
/** So many symbols may match without a whole gram among them. */
const UNPROVEN = GRAM_SYMBOLS - 1;

const BITS_PER_GRAM = 16;
const MIN_SLOT_BITS = 10;
const MAX_SLOT_BITS = 22;
/** The golden ratio in 32 bits spreads neighbouring grams. */
const SPREAD = 0x9e3779b1;
/** In the table: a character that may be read in two ways, or is not ASCII. */
const SPECIAL = MAX_SYMBOL + 1;
/** More than any count or place, and a small integer: the inner loop compares with it. */
const NEVER = 2 ** 30 - 1;

export interface NeedleSource {
  readonly needles: readonly Pick<Needle, "symbols" | "gram">[];
  /** From a needle's symbols to the coarser ones of the view. */
  readonly symbolOf: (symbol: number) => number;
}

export interface ViewRules {
  /** The symbol of each ASCII character. */
  readonly symbols: Uint8Array;
  /** The symbols of other characters, or bytes; LEFT_OUT may be among them. */
  readonly beyondAscii: (code: number, isByte: boolean) => readonly number[];
  readonly sources: readonly NeedleSource[];
  readonly hasDecorations: boolean;
}

/** A reading that skips to `to`, with its count there. */
interface Detour {
  readonly to: number;
  readonly count: number;
}

export function compileFilter(views: readonly ViewRules[]): (text: string) => boolean {
  const filters = views.map((rules) => new FilterView(rules));
  return (text) => filters.some((filter) => filter.mayHold(text));
}

class FilterView {
  readonly #rules: ViewRules;
  readonly #grams: GramSet;
  readonly #table = new Uint8Array(0x80);

  constructor(rules: ViewRules) {
    this.#rules = rules;
    this.#grams = compileGrams(rules.sources);
    for (let code = 0; code < 0x80; code += 1) {
      const isSpecial = startsEscape(code) || (rules.hasDecorations && startsDecoration(code));
      this.#table[code] = isSpecial ? SPECIAL : (rules.symbols[code] as number);
    }
  }

  mayHold(text: string): boolean {
    const { fewest } = this.#grams;
    if (fewest === NEVER) return false;
    if (fewest <= UNPROVEN) return true;
    const table = this.#table;
    const run = new SymbolRun(this.#grams);
    let detours: readonly Detour[] = [];
    let nextEnd = NEVER;
    for (let at = 0; at < text.length; ) {
      if (at >= nextEnd) {
        run.join(detours.filter(({ to }) => to <= at));
        detours = detours.filter(({ to }) => to > at);
        nextEnd = Math.min(NEVER, ...detours.map(({ to }) => to));
      }
      const unit = text.charCodeAt(at);
      const symbol = unit < 0x80 ? (table[unit] as number) : SPECIAL;
      if (symbol < SPECIAL) {
        at += 1;
        if (symbol !== LEFT_OUT) run.read(symbol);
      } else {
        const started = this.#detoursAt(text, at, run.count);
        detours = [...detours, ...started];
        nextEnd = Math.min(nextEnd, ...started.map(({ to }) => to));
        const code = text.codePointAt(at) as number;
        at += code > 0xffff ? 2 : 1;
        for (const each of this.#symbolsOf(code, false)) run.read(each);
      }
      if (run.count >= fewest) return true;
    }
    return detours.some(({ count }) => count >= fewest);
  }

  /** The other readings of what starts here. */
  #detoursAt(text: string, at: number, count: number): readonly Detour[] {
    const detours: Detour[] = [];
    const decoration = this.#rules.hasDecorations ? (readDecoration(text, at, true) as number) : 0;
    if (decoration > 0) detours.push({ to: at + decoration, count });
    const token = readEscape(text, at, true);
    if (token) detours.push({ to: at + token.length, count: count + this.#symbolsOf(token.code, token.isByte).length });
    return detours;
  }

  #symbolsOf(code: number, isByte: boolean): readonly number[] {
    const { symbols, beyondAscii } = this.#rules;
    const all = code < 0x80 ? [symbols[code] as number] : beyondAscii(code, isByte);
    return all.filter((symbol) => symbol !== LEFT_OUT);
  }
}

class SymbolRun {
  /** At most so many of the last symbols, in any reading, occur in a row in a needle. */
  count = UNPROVEN;
  readonly #bits: Int32Array;
  readonly #shift: number;
  readonly #longestRepeat: number;
  #gram = 0;
  /** How many of the last symbols are the same. */
  #same = 0;
  /** So many of the next symbols pass unchecked. */
  #unchecked = 0;

  constructor({ bits, shift, longestRepeat }: GramSet) {
    this.#bits = bits;
    this.#shift = shift;
    this.#longestRepeat = longestRepeat;
  }

  read(symbol: number): void {
    const last = this.#gram;
    const gram = ((last << SYMBOL_BITS) | symbol) & WHOLE_GRAM;
    const slot = Math.imul(gram, SPREAD) >>> this.#shift;
    this.#gram = gram;
    this.#same = symbol === (last & MAX_SYMBOL) ? this.#same + 1 : 1;
    if (this.#unchecked > 0) this.#unchecked -= 1;
    else if ((((this.#bits[slot >>> 5] as number) >>> slot) & 1) === 0) {
      this.count = UNPROVEN;
      return;
    }
    this.count = this.#same > this.#longestRepeat ? this.#longestRepeat : this.count + 1;
  }

  join(detours: readonly Detour[]): void {
    this.count = Math.max(this.count, ...detours.map(({ count }) => count));
    this.#same = 0;
    this.#gram = 0;
    this.#unchecked = UNPROVEN;
  }
}

interface GramSet {
  /** One bit for each gram of a needle; other grams may share it. */
  readonly bits: Int32Array;
  readonly shift: number;
  /** As many symbols in a row are a find; NEVER when there is nothing to find. */
  readonly fewest: number;
  /** No needle repeats one symbol more often, which keeps rulers (`-----`) from being suspected. */
  readonly longestRepeat: number;
}

function compileGrams(sources: readonly NeedleSource[]): GramSet {
  const needles = sources.flatMap((source) =>
    source.needles
      .filter(({ symbols, gram }) => symbols.length >= gram)
      .map(({ symbols, gram }) => ({ symbols: symbols.map(source.symbolOf), gram })),
  );
  const total = needles.reduce((sum, { symbols }) => sum + symbols.length, 0);
  const slotBits = Math.ceil(Math.log2(Math.max(1, total * BITS_PER_GRAM)));
  const shift = 32 - Math.min(MAX_SLOT_BITS, Math.max(MIN_SLOT_BITS, slotBits));
  const bits = new Int32Array(2 ** (32 - shift - 5));
  let fewest = NEVER;
  let longestRepeat = UNPROVEN;
  for (const needle of needles) {
    fewest = Math.min(fewest, fewestInRow(needle.symbols, needle.gram));
    const symbols = needle.symbols.filter((symbol) => symbol !== LEFT_OUT);
    let gram = 0;
    let same = 0;
    for (const [at, symbol] of symbols.entries()) {
      same = symbol === symbols[at - 1] ? same + 1 : 1;
      longestRepeat = Math.max(longestRepeat, same);
      gram = ((gram << SYMBOL_BITS) | symbol) & WHOLE_GRAM;
      const slot = Math.imul(gram, SPREAD) >>> shift;
      if (at >= UNPROVEN) bits[slot >>> 5] = (bits[slot >>> 5] as number) | (1 << slot);
    }
  }
  return { bits, shift, fewest, longestRepeat };
}

/** The fewest symbols that the view shows of any `gram` in a row. */
function fewestInRow(symbols: readonly number[], gram: number): number {
  const shown = symbols.map((symbol) => (symbol === LEFT_OUT ? 0 : 1));
  let count = 0;
  let fewest = NEVER;
  for (let to = 0; to < shown.length; to += 1) {
    count += (shown[to] as number) - (shown[to - gram] ?? 0);
    if (to >= gram - 1) fewest = Math.min(fewest, count);
  }
  return fewest;
}
