/**
 * Which short sequences of symbols, grams, occur in a set of needles?
 *
 * M1. The first look, at one bit, errs in one direction only: for a gram of a needle it is set.
 * M2. Whoever reads as many symbols in a row of a needle as are too many has read `enough` grams in a row, at least.
 *     So a text without `enough` grams in a row holds nothing that must be found.
 */
import { madeOnce } from "./made-once.ts";
import type { Needle } from "./substring-automaton.ts";

// What the innermost loops use has a private name: an exported one is fetched anew at each use.
const WIDTH = 6;
const LENGTH = 5;
const WHOLE_GRAM = 2 ** (LENGTH * WIDTH) - 1;

/** Symbols are small numbers, so that a gram fits into one; 0 stands for what is left out. */
export const SYMBOL_BITS = WIDTH;
export const MAX_SYMBOL = 2 ** WIDTH - 1;
export const LEFT_OUT = 0;
export const GRAM_SYMBOLS = LENGTH;
/** All symbols of a gram but the first: two readings that agree in them go on alike. */
export const END_OF_GRAM = 2 ** ((LENGTH - 1) * WIDTH) - 1;

const BITS_PER_GRAM = 16;
const MIN_SLOT_BITS = 10;
const MAX_SLOT_BITS = 22;
/** The golden ratio in 32 bits: neighbours end up far apart. */
const SPREAD = 0x9e3779b1;

export interface GramSource {
  readonly needles: readonly Pick<Needle, "symbols" | "gram">[];
  /** What a needle's symbols, of which there may be many, are here. */
  readonly symbolOf: SymbolOf;
}

type SymbolOf = (symbol: number) => number;

export interface GramSet {
  /** One bit for each gram, where `slotOf` says: a first look that is mostly right. */
  readonly bits: Int32Array;
  readonly shift: number;
  /** All needles, each symbol as the character with that number: for a second look, which is never wrong. */
  readonly rows: () => readonly string[];
  /** Infinity when there is nothing to find, 0 when the set proves nothing. */
  readonly enough: number;
}

export function compileGrams(sources: readonly GramSource[]): GramSet {
  const parts = sources.map(({ needles, symbolOf }) => ({
    symbolOf,
    findable: needles.filter(({ symbols, gram }) => symbols.length >= gram),
  }));
  let count = 0;
  for (const { findable } of parts) for (const { symbols } of findable) count += symbols.length;
  const slotBits = Math.ceil(Math.log2(Math.max(1, count * BITS_PER_GRAM)));
  const shift = 32 - Math.min(MAX_SLOT_BITS, Math.max(MIN_SLOT_BITS, slotBits));
  const bits = new Int32Array(2 ** (32 - shift - 5));
  let fewest = Number.POSITIVE_INFINITY;
  for (const { findable, symbolOf } of parts) {
    for (const { symbols, gram } of findable) {
      const kept = addGrams(bits, shift, symbols, symbolOf);
      fewest = Math.min(fewest, kept === symbols.length ? gram : fewestInRow(symbols, gram, symbolOf));
    }
  }
  const rows = madeOnce(() =>
    parts.flatMap(({ findable, symbolOf }) => findable.map(({ symbols }) => rowOf(symbols.map(symbolOf)))),
  );
  return { bits, shift, rows, enough: Math.max(0, fewest - GRAM_SYMBOLS + 1) };
}

/** Returns how many of the symbols are not left out. */
function addGrams(bits: Int32Array, shift: number, symbols: readonly number[], symbolOf: SymbolOf): number {
  let gram = 0;
  let kept = 0;
  for (let at = 0; at < symbols.length; at += 1) {
    const symbol = symbolOf(symbols[at] as number);
    if (symbol === LEFT_OUT) continue;
    gram = nextGram(gram, symbol);
    kept += 1;
    if (kept < GRAM_SYMBOLS) continue;
    const slot = slotOf(gram, shift);
    bits[slot >>> 5] = (bits[slot >>> 5] as number) | (1 << slot);
  }
  return kept;
}

function rowOf(symbols: readonly number[]): string {
  return symbols.map((symbol) => (symbol === LEFT_OUT ? "" : String.fromCharCode(symbol))).join("");
}

/** How many symbols has the longest end of these, given as a row, that occurs in a needle? */
export function longestEnd(set: GramSet, symbols: string): number {
  let least = 0;
  let most = symbols.length;
  // An end of what occurs occurs itself.
  while (least < most) {
    const length = (least + most + 1) >> 1;
    if (occurs(set, symbols.slice(-length))) least = length;
    else most = length - 1;
  }
  return least;
}

/** The second look at one gram. */
export function hasGram(set: GramSet, gram: number): boolean {
  const symbols = Array.from({ length: LENGTH }, (_, place) => (gram >>> (place * WIDTH)) & MAX_SYMBOL);
  return !symbols.includes(LEFT_OUT) && occurs(set, rowOf(symbols.toReversed()));
}

function occurs({ rows }: GramSet, symbols: string): boolean {
  return rows().some((row) => row.includes(symbols));
}

export function nextGram(gram: number, symbol: number): number {
  return ((gram << WIDTH) | symbol) & WHOLE_GRAM;
}

/** Where a gram's bit is; words have 32. */
export function slotOf(gram: number, shift: number): number {
  return Math.imul(gram, SPREAD) >>> shift;
}

/** The fewest symbols that remain of any `gram` in a row. */
function fewestInRow(symbols: readonly number[], gram: number, symbolOf: SymbolOf): number {
  const counts = symbols.map((symbol) => (symbolOf(symbol) === LEFT_OUT ? 0 : 1));
  let kept = 0;
  let fewest = Number.POSITIVE_INFINITY;
  for (let to = 0; to < counts.length; to += 1) {
    kept += (counts[to] as number) - (counts[to - gram] ?? 0);
    if (to >= gram - 1) fewest = Math.min(fewest, kept);
  }
  return fewest;
}
