/**
 * All readings of one text against a set of grams, as `match-states.ts` has them against an automaton.
 *
 * Q1. A lane has enough when `enough` grams in a row seem to be in the set, and the last of them is.
 * Q2. No reading is lost: two become one only when they end in the same symbols and so go on alike, and the one with
 *     more grams in a row stays. With more than MAX_GRAM_LANES left the set gives up, which counts as a find.
 */
import { END_OF_GRAM, GRAM_SYMBOLS, type GramSet, hasGram, nextGram, slotOf } from "./gram-set.ts";

export const MAX_GRAM_LANES = 16;

export interface GramTracks {
  /** The last symbols of each lane. */
  readonly grams: readonly number[];
  /** How many grams in a row of each were in the set. */
  readonly runs: readonly number[];
}

export class GramMatchStates {
  readonly set: GramSet;
  /** What is past the count is of no account. */
  readonly #grams: number[] = [0];
  readonly #runs: number[] = [0];
  #count = 1;
  /** How many symbols were read since lanes last became one. */
  #unsettled = 0;
  /** The last that was found not to be in the set. */
  #falseGram = -1;

  constructor(set: GramSet) {
    this.set = set;
  }

  get count(): number {
    return this.#count;
  }

  /** The last symbols of the first lane. */
  get gram(): number {
    return this.#grams[0] as number;
  }

  /** How many grams in a row the first lane has. */
  get run(): number {
    return this.#runs[0] as number;
  }

  /** From here on there is one lane, which stands there. True when it has enough. */
  stand(gram: number, run: number): boolean {
    const isEnough = this.#isEnough(gram, run);
    this.#grams[0] = gram;
    this.#runs[0] = run >= this.set.enough ? 0 : run;
    this.#count = 1;
    return isEnough;
  }

  /** Looks a second time: a single wrong bit would do for a text that repeats itself. */
  isGram(gram: number): boolean {
    if (gram === this.#falseGram) return false;
    const isTrue = hasGram(this.set, gram);
    if (!isTrue) this.#falseGram = gram;
    return isTrue;
  }

  /** Reads a symbol in the lanes from `from` to before `to`. True when one of them has enough. */
  read(symbol: number, from: number, to: number): boolean {
    const { bits, shift, enough } = this.set;
    for (let lane = from; lane < to; lane += 1) {
      const gram = nextGram(this.#grams[lane] as number, symbol);
      const slot = slotOf(gram, shift);
      const run = (((bits[slot >>> 5] as number) >>> slot) & 1) === 0 ? 0 : (this.#runs[lane] as number) + 1;
      if (this.#isEnough(gram, run)) return true;
      this.#grams[lane] = gram;
      this.#runs[lane] = run >= enough ? 0 : run;
    }
    return false;
  }

  /** Each lane a second time, after all the others. */
  double(): void {
    const count = this.#count;
    for (let lane = 0; lane < count; lane += 1) this.#add(this.#grams[lane] as number, this.#runs[lane] as number);
  }

  tracks(): GramTracks {
    return { grams: this.#grams.slice(0, this.#count), runs: this.#runs.slice(0, this.#count) };
  }

  add({ grams, runs }: GramTracks): void {
    for (let lane = 0; lane < grams.length; lane += 1) this.#add(grams[lane] as number, runs[lane] as number);
  }

  /** Lanes that go on alike become one. True when too many are left. */
  settle(): boolean {
    this.#unsettled = 0;
    const count = this.#count;
    if (count === 1) return false;
    this.#count = 0;
    for (let lane = 0; lane < count; lane += 1) {
      const gram = this.#grams[lane] as number;
      const run = this.#runs[lane] as number;
      let twin = 0;
      while (twin < this.#count && !this.#goOnAlike(twin, lane)) twin += 1;
      if (twin === this.#count) this.#add(gram, run);
      else if (run > (this.#runs[twin] as number)) this.#runs[twin] = run;
    }
    return this.#count > MAX_GRAM_LANES;
  }

  /** The same now and then, since it takes a gram's length until lanes that parted can go on alike. */
  settleInTime(): void {
    if (this.#count === 1) return;
    this.#unsettled += 1;
    const isPair = this.#count === 2;
    if (isPair ? this.#goOnAlike(0, 1) : this.#unsettled >= GRAM_SYMBOLS) this.settle();
  }

  #goOnAlike(lane: number, other: number): boolean {
    return (((this.#grams[lane] as number) ^ (this.#grams[other] as number)) & END_OF_GRAM) === 0;
  }

  #isEnough(gram: number, run: number): boolean {
    return run >= this.set.enough && this.isGram(gram);
  }

  #add(gram: number, run: number): void {
    this.#grams[this.#count] = gram;
    this.#runs[this.#count] = run;
    this.#count += 1;
  }
}
