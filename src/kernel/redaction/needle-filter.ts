/**
 * Proves of most texts that no needle occurs in them, at a fraction of what looking for the needles costs.
 *
 * Two views of a text are read, in symbols coarser than what the automata read: what an automaton finds in a text, the
 * view shows as grams in a row (`gram-set.ts`). How far apart symbols stand is not asked, and no needle told from another.
 *
 * X1. Sound: whatever an automaton would find in some reading of a text, `mayHold` says that the text may hold it.
 *     Escapes are read as written and undone, decorations with and without them, in any mixture (`gram-match-states.ts`).
 * X2. It is asked about whole texts. Of a text that is not complete it proves nothing.
 */
import { readDecoration, startsDecoration } from "./decoration.ts";
import { type EscapeToken, readEscape, startsEscape } from "./escape-token.ts";
import { GramMatchStates, type GramTracks } from "./gram-match-states.ts";
import {
  compileGrams,
  GRAM_SYMBOLS,
  type GramSource,
  LEFT_OUT,
  longestEnd,
  MAX_SYMBOL,
  nextGram,
  SYMBOL_BITS,
  slotOf,
} from "./gram-set.ts";
import { utf8Length } from "./secret-encodings.ts";
import { SymbolCache } from "./symbol-cache.ts";
import { fillBlock, TEXT_BLOCK } from "./text-block.ts";

export interface FilterView {
  /** The symbol of each ASCII character. */
  readonly symbols: Uint8Array;
  readonly sources: readonly GramSource[];
}

export interface FilterRules {
  readonly views: readonly [FilterView, FilterView];
  /** The symbols of other characters, or bytes, in the first view; in the second they are left out. */
  readonly symbolsBeyondAscii: (code: number, isByte: boolean) => readonly number[];
  readonly hasDecorations: boolean;
}

/** The lanes that pass over a decoration, until those that read it come to its end. */
interface Bypass {
  readonly to: number;
  readonly first: GramTracks;
  readonly second: GramTracks;
}

// Private names, for the innermost loops: see `gram-set.ts`.
const SYMBOL = MAX_SYMBOL;
const WIDTH = SYMBOL_BITS;
const NONE = LEFT_OUT;

/** In the table: a character that may be read in two ways, or is not ASCII. */
const SPECIAL = 2 ** (2 * WIDTH);

export class NeedleFilter {
  readonly #rules: FilterRules;
  /** By byte: the symbols in both views. */
  readonly #table: Uint16Array;
  readonly #beyondAscii: SymbolCache;
  readonly #first: GramMatchStates;
  readonly #second: GramMatchStates;
  #bypasses: readonly Bypass[] = [];
  /** The next character to read: its index in the text, and that of its first byte in the block. */
  #index = 0;
  #at = 0;
  /** Since this byte the block has been read in one way only. */
  #plainFrom = 0;

  constructor(rules: FilterRules) {
    const [first, second] = rules.views;
    this.#rules = rules;
    this.#beyondAscii = new SymbolCache((code) => rules.symbolsBeyondAscii(code, false));
    this.#first = new GramMatchStates(compileGrams(first.sources));
    this.#second = new GramMatchStates(compileGrams(second.sources));
    this.#table = new Uint16Array(256).fill(SPECIAL);
    for (let code = 0; code < 0x80; code += 1) {
      const isSpecial = startsEscape(code) || (rules.hasDecorations && startsDecoration(code));
      const symbols = (first.symbols[code] as number) | ((second.symbols[code] as number) << WIDTH);
      this.#table[code] = isSpecial ? symbols | SPECIAL : symbols;
    }
  }

  mayHold(text: string): boolean {
    const enough = Math.min(this.#first.set.enough, this.#second.set.enough);
    if (enough === 0) return true;
    if (enough === Number.POSITIVE_INFINITY) return false;
    this.#first.stand(0, 0);
    this.#second.stand(0, 0);
    this.#bypasses = [];
    this.#index = 0;
    while (this.#index < text.length) {
      const { written } = fillBlock(text, this.#index);
      this.#at = 0;
      this.#plainFrom = 0;
      while (this.#at < written) if (this.#readNext(text, written)) return true;
    }
    return false;
  }

  /** The methods that read return true when that is enough. */
  #readNext(text: string, end: number): boolean {
    if (this.#bypasses.length > 0 && this.#joinBypasses()) return true;
    const byte = TEXT_BLOCK[this.#at] as number;
    const entry = this.#table[byte] as number;
    if (entry < SPECIAL) {
      const stop = this.#asciiEnd(end);
      return this.#isOneLane() ? this.#readAscii(stop) : this.#readAsciiByLane(stop);
    }
    if (byte < 0x80) return this.#readSpecial(text, entry);
    return this.#isOneLane() ? this.#readBeyondAscii(text, end) : this.#readBeyondByLane(text);
  }

  #isOneLane(): boolean {
    return this.#first.count === 1 && this.#second.count === 1;
  }

  /** No further than where a bypass ends: up to there each character is a byte, or reading stops before. */
  #asciiEnd(end: number): number {
    let least = end;
    for (const { to } of this.#bypasses) least = Math.min(least, this.#at + to - this.#index);
    return least;
  }

  /** While there is only one reading, and characters are what the table says. */
  #readAscii(end: number): boolean {
    const table = this.#table;
    const block = TEXT_BLOCK;
    const { bits: bits1, shift: shift1, enough: enough1 } = this.#first.set;
    const { bits: bits2, shift: shift2, enough: enough2 } = this.#second.set;
    let { gram: gram1, run: run1 } = this.#first;
    let { gram: gram2, run: run2 } = this.#second;
    let at = this.#at;
    for (; at < end; at += 1) {
      const entry = table[block[at] as number] as number;
      if (entry >= SPECIAL || run1 >= enough1 || run2 >= enough2) break;
      const symbol1 = entry & SYMBOL;
      if (symbol1 !== NONE) {
        gram1 = nextGram(gram1, symbol1);
        const slot = slotOf(gram1, shift1);
        run1 = (((bits1[slot >>> 5] as number) >>> slot) & 1) === 0 ? 0 : run1 + 1;
      }
      const symbol2 = entry >> WIDTH;
      if (symbol2 !== NONE) {
        gram2 = nextGram(gram2, symbol2);
        const slot = slotOf(gram2, shift2);
        run2 = (((bits2[slot >>> 5] as number) >>> slot) & 1) === 0 ? 0 : run2 + 1;
      }
    }
    this.#index += at - this.#at;
    this.#at = at;
    const isEnough = this.#first.stand(gram1, run1 < enough1 ? run1 : this.#trueRun(this.#first, gram1, run1, 0));
    return (
      this.#second.stand(gram2, run2 < enough2 ? run2 : this.#trueRun(this.#second, gram2, run2, WIDTH)) || isEnough
    );
  }

  /** So many grams in a row seem to be in the set. Are they of one needle? Only what was read in one way can tell. */
  #trueRun(lanes: GramMatchStates, gram: number, run: number, width: number): number {
    if (!lanes.isGram(gram)) return 0;
    const count = lanes.set.enough + GRAM_SYMBOLS - 1;
    let symbols = "";
    for (let at = this.#at - 1; at >= this.#plainFrom && symbols.length < count; at -= 1) {
      const symbol = ((this.#table[TEXT_BLOCK[at] as number] as number) >> width) & SYMBOL;
      if (symbol !== NONE) symbols = String.fromCharCode(symbol) + symbols;
    }
    return symbols.length < count ? run : longestEnd(lanes.set, symbols) - GRAM_SYMBOLS + 1;
  }

  /** The same beyond ASCII, where no bypass ends. */
  #readBeyondAscii(text: string, end: number): boolean {
    const { bits, shift, enough } = this.#first.set;
    let { gram, run } = this.#first;
    let at = this.#at;
    let index = this.#index;
    while (at < end && run < enough && (TEXT_BLOCK[at] as number) >= 0x80) {
      const code = text.codePointAt(index) as number;
      const symbols = this.#beyondAscii.symbols(code);
      for (let place = 0; place < symbols.length; place += 1) {
        gram = nextGram(gram, symbols[place] as number);
        const slot = slotOf(gram, shift);
        run = (((bits[slot >>> 5] as number) >>> slot) & 1) === 0 ? 0 : run + 1;
        if (run >= enough && this.#first.isGram(gram)) return true;
      }
      at += utf8Length(code);
      index += unitCount(code);
    }
    this.#at = at;
    this.#plainFrom = at;
    this.#index = index;
    return this.#first.stand(gram, run);
  }

  /** Until there is only one reading again. */
  #readAsciiByLane(end: number): boolean {
    while (this.#at < end && !this.#isOneLane()) {
      const entry = this.#table[TEXT_BLOCK[this.#at] as number] as number;
      if (entry >= SPECIAL) return false;
      if (this.#readByLane(entry)) return true;
    }
    return false;
  }

  #readByLane(entry: number): boolean {
    this.#move(1, 1);
    if (readIn(this.#first, firstOf(entry)) || readIn(this.#second, secondOf(entry))) return true;
    this.#first.settleInTime();
    this.#second.settleInTime();
    return false;
  }

  #readBeyondByLane(text: string): boolean {
    const code = text.codePointAt(this.#index) as number;
    this.#move(utf8Length(code), unitCount(code));
    for (const symbol of this.#beyondAscii.symbols(code)) if (readIn(this.#first, symbol)) return true;
    this.#first.settleInTime();
    return false;
  }

  #readSpecial(text: string, entry: number): boolean {
    const index = this.#index;
    const token = readEscape(text, index, true);
    if (token) return this.#readBothWays(text, token);
    const decoration = this.#rules.hasDecorations ? (readDecoration(text, index, true) as number) : 0;
    if (decoration > 0) {
      const bypass = { to: index + decoration, first: this.#first.tracks(), second: this.#second.tracks() };
      this.#bypasses = [...this.#bypasses, bypass];
    }
    return this.#readByLane(entry);
  }

  /** The lanes go on with the escape undone, and a second time with it as written. */
  #readBothWays(text: string, { code, isByte, length }: EscapeToken): boolean {
    if (this.#settle()) return true;
    const [first, second] = [this.#first, this.#second];
    const [count1, count2] = [first.count, second.count];
    first.double();
    second.double();
    for (let index = this.#index; index < this.#index + length; index += 1) {
      const entry = this.#table[text.charCodeAt(index)] as number;
      if (readIn(first, firstOf(entry), count1) || readIn(second, secondOf(entry), count2)) return true;
    }
    this.#move(length, length);
    const entry = code < 0x80 ? (this.#table[code] as number) : 0;
    const undone = code < 0x80 ? [firstOf(entry)] : this.#rules.symbolsBeyondAscii(code, isByte);
    for (const symbol of undone) if (readIn(first, symbol, 0, count1)) return true;
    return readIn(second, secondOf(entry), 0, count2);
  }

  #move(bytes: number, units: number): void {
    this.#at += bytes;
    this.#index += units;
    this.#plainFrom = this.#at;
  }

  #joinBypasses(): boolean {
    const ended = this.#bypasses.filter(({ to }) => to <= this.#index);
    if (ended.length === 0) return false;
    for (const { first, second } of ended) {
      this.#first.add(first);
      this.#second.add(second);
    }
    this.#bypasses = this.#bypasses.filter(({ to }) => to > this.#index);
    this.#plainFrom = this.#at;
    return this.#settle();
  }

  /** True when there are too many readings to follow, which counts as enough. */
  #settle(): boolean {
    const isTooMany = this.#first.settle();
    return this.#second.settle() || isTooMany;
  }
}

function readIn(lanes: GramMatchStates, symbol: number, from = 0, to = lanes.count): boolean {
  return symbol !== NONE && lanes.read(symbol, from, to);
}

function firstOf(entry: number): number {
  return entry & SYMBOL;
}

function secondOf(entry: number): number {
  return (entry >> WIDTH) & SYMBOL;
}

function unitCount(code: number): number {
  return code > 0xffff ? 2 : 1;
}
