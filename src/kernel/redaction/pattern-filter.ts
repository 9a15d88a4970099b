/**
 * Proves of most texts that no rule of `secret-patterns.ts` matches in them.
 *
 * Z1. A rule is asked about all places its clues point to, and a text in which it matches has a clue that points there.
 *     So a text that has no clue, or whose clues come to nothing, is as clean as after asking about every place.
 * Z2. It is asked about whole texts. Of a text that is not complete it proves nothing.
 *
 * Clues are found by three of their characters, read without regard to case.
 */
import { isIn } from "./character-run.ts";
import { LookAhead, NONE } from "./look-ahead.ts";
import { type Clue, CONTEXT_CHARS, type SecretPattern } from "./secret-patterns.ts";
import { fillBlock, TEXT_BLOCK, unitsInBlock } from "./text-block.ts";

/** From the most frequent to the rarest, about. */
const LETTERS = "etaoinsrhldcumfpgwybvkxjqz";
const DIGIT = 27;
const MARKS = "-_:/";
const SYMBOL_BITS = 5;
const THREE_SYMBOLS = 2 ** (3 * SYMBOL_BITS) - 1;

/** By byte; letters by their rarity. 0 for all others. */
const SYMBOLS = Uint8Array.from({ length: 256 }, (_, byte) => symbolOf(String.fromCharCode(byte).toLowerCase()));

interface FoundClue {
  readonly pattern: SecretPattern;
  readonly symbols: readonly number[];
  /** Where in it the three symbols are that it is found by. */
  readonly offset: number;
  readonly nearest: number;
  readonly farthest: number;
}

export class PatternFilter {
  readonly #signs: RegExp[] = [];
  /** Clues that are found by the same three symbols. */
  readonly #groups: FoundClue[][] = [];
  /** By three symbols: which of the groups, counted from 1. */
  readonly #groupOf = new Uint8Array(THREE_SYMBOLS + 1);
  /** A match that some clue points to is at most so far before where the clue is found. */
  #farthestBack = 0;
  /** The last three symbols that were read. */
  #three = 0;

  constructor(patterns: readonly SecretPattern[]) {
    for (const pattern of patterns) {
      if (pattern.sign instanceof RegExp) this.#signs.push(pattern.sign);
      else for (const clue of pattern.sign) this.#add(foundClue(pattern, clue));
    }
  }

  #add(clue: FoundClue): void {
    const key = threeSymbols(clue.symbols, clue.offset);
    const group = this.#groups[(this.#groupOf[key] as number) - 1];
    if (group === undefined) this.#groupOf[key] = this.#groups.push([clue]);
    else group.push(clue);
    this.#farthestBack = Math.max(this.#farthestBack, clue.offset + 3 - clue.nearest);
  }

  /** A place before which no rule matches, or null when none matches in the whole text. */
  firstPlace(text: string): number | null {
    if (this.#signs.some((sign) => sign.test(text))) return 0;
    const search = new ClueSearch(text);
    this.#three = 0;
    for (let from = 0; from < text.length; ) {
      const { read, written } = fillBlock(text, from);
      /** The character that ends before byte `counted` has the index before this. */
      let index = from;
      let counted = 0;
      for (let at = this.#nextFound(0, written); at <= written; at = this.#nextFound(at, written)) {
        index += unitsInBlock(counted, at);
        counted = at;
        for (const clue of this.#groups[(this.#groupOf[this.#three] as number) - 1] as readonly FoundClue[]) {
          if (search.leadsToMatch(clue, index - 3 - clue.offset)) return Math.max(0, index - this.#farthestBack);
        }
      }
      from += read;
    }
    return null;
  }

  /** The end of the next three symbols that point to a clue, or a place past the end. */
  #nextFound(from: number, end: number): number {
    const symbols = SYMBOLS;
    const block = TEXT_BLOCK;
    const groups = this.#groupOf;
    let three = this.#three;
    let at = from;
    while (at < end) {
      three = ((three << SYMBOL_BITS) | (symbols[block[at] as number] as number)) & THREE_SYMBOLS;
      at += 1;
      if (groups[three] !== 0) {
        this.#three = three;
        return at;
      }
    }
    this.#three = three;
    return end + 1;
  }
}

class ClueSearch {
  readonly #text: string;
  #ahead: LookAhead | null = null;
  /** For each clue the place after the last it pointed to: what it points to next is not asked again. */
  #asked: Map<FoundClue, number> | null = null;

  constructor(text: string) {
    this.#text = text;
  }

  leadsToMatch(clue: FoundClue, start: number): boolean {
    const { pattern, symbols, nearest, farthest } = clue;
    const text = this.#text;
    for (let at = 0; at < symbols.length; at += 1) {
      if (start < 0 || unitSymbol(text.charCodeAt(start + at)) !== symbols[at]) return false;
    }
    this.#ahead ??= new LookAhead(text, true);
    this.#asked ??= new Map();
    const from = Math.max(0, start + nearest, this.#asked.get(clue) ?? 0);
    const to = Math.min(text.length, start + farthest + 1);
    this.#asked.set(clue, to);
    for (let place = from; place < to; place += 1) {
      if (matchesAt(pattern, this.#ahead, place)) return true;
    }
    return false;
  }
}

function matchesAt({ first, after, match, mayFollow }: SecretPattern, ahead: LookAhead, place: number): boolean {
  const { text } = ahead;
  const previous = place === 0 ? 0x20 : text.charCodeAt(place - 1);
  if (!isIn(after, previous) || !isIn(first, text.charCodeAt(place))) return false;
  return match(ahead, place) !== NONE && mayFollow(text.slice(Math.max(0, place - CONTEXT_CHARS), place));
}

function foundClue(pattern: SecretPattern, { literal, nearest, farthest }: Clue): FoundClue {
  const symbols: number[] = [];
  let offset = 0;
  let rarest = 0;
  for (let at = 0; at < literal.length; at += 1) {
    symbols.push(unitSymbol(literal.charCodeAt(at)));
    const rarity = at < 2 ? 0 : rarityOf(symbols, at - 2);
    if (rarity <= rarest) continue;
    offset = at - 2;
    rarest = rarity;
  }
  return { pattern, symbols, offset, nearest, farthest };
}

/** Of three symbols; 0 when they do not tell what was read. */
function rarityOf(symbols: readonly number[], at: number): number {
  const first = symbols[at] as number;
  const second = symbols[at + 1] as number;
  const third = symbols[at + 2] as number;
  return first * second * third === 0 ? 0 : first + second + third;
}

function threeSymbols(symbols: readonly number[], at: number): number {
  const two = ((symbols[at] as number) << SYMBOL_BITS) | (symbols[at + 1] as number);
  return (two << SYMBOL_BITS) | (symbols[at + 2] as number);
}

function unitSymbol(unit: number): number {
  return unit < 0x80 ? (SYMBOLS[unit] as number) : 0;
}

function symbolOf(character: string): number {
  if (character >= "0" && character <= "9") return DIGIT;
  const mark = MARKS.indexOf(character);
  return mark >= 0 ? DIGIT + 1 + mark : 1 + LETTERS.indexOf(character);
}
