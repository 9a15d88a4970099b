import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GramMatchStates, MAX_GRAM_LANES } from "../../../src/kernel/redaction/gram-match-states.ts";
import {
  compileGrams,
  GRAM_SYMBOLS,
  type GramSet,
  hasGram,
  LEFT_OUT,
  longestEnd,
  nextGram,
  slotOf,
} from "../../../src/kernel/redaction/gram-set.ts";

/** Symbols 1 to 3, and 0, which is left out. */
const symbolOf = (symbol: number): number => symbol % 4;
const anyNeedle = fc.record({
  symbols: fc.array(fc.nat(7), { maxLength: 24 }),
  gram: fc.integer({ min: 1, max: 16 }),
});

const kept = (symbols: readonly number[]): readonly number[] =>
  symbols.map(symbolOf).filter((symbol) => symbol !== LEFT_OUT);

function gramsOf(symbols: readonly number[]): readonly number[] {
  let gram = 0;
  return symbols
    .map((symbol) => {
      gram = nextGram(gram, symbol);
      return gram;
    })
    .slice(GRAM_SYMBOLS - 1);
}

function looksIn({ bits, shift }: GramSet, gram: number): boolean {
  const slot = slotOf(gram, shift);
  return (((bits[slot >>> 5] as number) >>> slot) & 1) === 1;
}

describe("a set of grams", () => {
  test("has every gram of every needle, and as many in a row of what is too much as it says", () => {
    fc.assert(
      fc.property(fc.array(anyNeedle, { maxLength: 4 }), (needles) => {
        const set = compileGrams([{ needles, symbolOf }]);
        const runs = needles.flatMap(({ symbols, gram }) =>
          symbols.slice(gram - 1).map((_, from) => kept(symbols.slice(from, from + gram))),
        );
        const shortest = Math.min(...runs.map((run) => run.length));
        expect(set.enough).toBe(Math.max(0, shortest - GRAM_SYMBOLS + 1));
        for (const gram of runs.flatMap(gramsOf))
          expect([looksIn(set, gram), hasGram(set, gram)]).toEqual([true, true]);
      }),
      { numRuns: 500 },
    );
  });

  test("with nothing to find never has enough, and one that proves nothing says so", () => {
    expect(compileGrams([]).enough).toBe(Number.POSITIVE_INFINITY);
    expect(compileGrams([{ needles: [{ symbols: [1, 2, 3], gram: 4 }], symbolOf }]).enough).toBe(
      Number.POSITIVE_INFINITY,
    );
    const enough = (symbols: readonly number[], gram: number): number =>
      compileGrams([{ needles: [{ symbols, gram }], symbolOf }]).enough;
    expect(enough([1, 2, 3, 1], 4)).toBe(0);
    expect(enough([1, 2, 3, 1, 2], 5)).toBe(1);
    expect(enough([1, 2, 0, 3, 1, 2], 6)).toBe(1);
    expect(enough([0, 1, 2, 3, 1, 0, 2, 1], 6)).toBe(0);
    expect(enough([1, 2, 3, 1, 2, 3, 1, 2], 8)).toBe(4);
  });

  test("takes a second look that is exact", () => {
    const set = compileGrams([{ needles: [{ symbols: [1, 1, 2, 0, 3, 1, 2, 2, 3], gram: 9 }], symbolOf }]);
    const row = (...symbols: readonly number[]): string => String.fromCharCode(...symbols);
    expect(longestEnd(set, row(3, 3, 1, 1, 2, 3))).toBe(4);
    expect(longestEnd(set, row(1, 1, 2, 3, 1, 2, 2, 3))).toBe(8);
    expect(longestEnd(set, row(1, 9))).toBe(0);
    const grams = gramsOf([1, 1, 2, 3, 1, 2, 2, 3]);
    for (const gram of grams) expect(hasGram(set, gram)).toBe(true);
    for (const gram of gramsOf([1, 2, 3, 1, 1, 3, 1, 2, 1])) expect(hasGram(set, gram)).toBe(grams.includes(gram));
    expect(hasGram(set, 1)).toBe(false);
  });
});

describe("lanes of grams", () => {
  /** One way to read it, or two. */
  const symbol = fc.integer({ min: 1, max: 2 });
  const anyItem = fc.oneof(
    { weight: 3, arbitrary: fc.tuple(fc.tuple(symbol)) },
    { weight: 1, arbitrary: fc.tuple(fc.array(symbol, { maxLength: 1 }), fc.array(symbol, { maxLength: 3 })) },
  );
  type Item = readonly (readonly number[])[];

  function readItem(lanes: GramMatchStates, [first, second]: Item): boolean {
    const { count } = lanes;
    if (second === undefined) return (first as readonly number[]).some((each) => lanes.read(each, 0, lanes.count));
    lanes.double();
    return (
      second.some((each) => lanes.read(each, count, lanes.count)) ||
      (first as readonly number[]).some((each) => lanes.read(each, 0, count))
    );
  }

  test("have enough as soon as some reading has, and unless they give up no sooner", () => {
    const anyNeedles = fc.array(fc.array(symbol, { minLength: 7, maxLength: 12 }), { minLength: 1, maxLength: 2 });
    fc.assert(
      fc.property(anyNeedles, fc.array(anyItem, { maxLength: 22 }), (rows, items: readonly Item[]) => {
        const needles = rows.map((symbols) => ({ symbols, gram: 7 }));
        const set = compileGrams([{ needles, symbolOf: (each) => each }]);
        const lanes = new GramMatchStates(set);
        /** Every mixture of readings that differ, one by one. */
        let readings = new Map([["", new GramMatchStates(set)]]);
        for (const item of items) {
          const isFound = readItem(lanes, item);
          lanes.settleInTime();
          const next = new Map<string, GramMatchStates>();
          let isInSome = false;
          for (const [before, reading] of readings) {
            for (const way of item) {
              const other = new GramMatchStates(set);
              other.stand(reading.gram, reading.run);
              if (way.some((each) => other.read(each, 0, 1))) isInSome = true;
              next.set(before + way.join(""), other);
            }
          }
          expect(isFound).toBe(isInSome);
          if (isFound || lanes.settle()) return;
          readings = next;
          if (readings.size > 300) return;
        }
      }),
      { numRuns: 600 },
    );
  });

  test("are few: more than allowed, and the set gives up", () => {
    const set = compileGrams([{ needles: [{ symbols: [1, 2, 3, 1, 2, 3, 3, 3], gram: 8 }], symbolOf }]);
    const lanes = new GramMatchStates(set);
    const standing = (count: number): boolean => {
      lanes.stand(0, 0);
      for (let lane = 1; lane < count; lane += 1) lanes.add({ grams: [lane], runs: [0] });
      return lanes.settle();
    };
    expect(standing(MAX_GRAM_LANES)).toBe(false);
    expect(lanes.count).toBe(MAX_GRAM_LANES);
    expect(standing(MAX_GRAM_LANES + 1)).toBe(true);
  });

  test("become one when they end alike, and the longer run stays", () => {
    const set = compileGrams([{ needles: [{ symbols: [1, 2, 3, 1, 2, 3, 3, 3], gram: 8 }], symbolOf }]);
    const alike = gramsOf([1, 2, 3, 1, 2, 3]);
    const other = gramsOf([3, 3, 3, 1, 2, 3]);
    for (const [first, second] of [
      [alike, other],
      [other, alike],
    ] as const) {
      const lanes = new GramMatchStates(set);
      lanes.stand(first[1] as number, first === alike ? 2 : 0);
      lanes.add({ grams: [second[1] as number], runs: [second === alike ? 2 : 0] });
      lanes.settle();
      expect([lanes.count, lanes.run]).toEqual([1, 2]);
      expect(lanes.tracks().runs).toEqual([2]);
    }
  });

  test("do not take a bit that is set by chance for enough", () => {
    const set = compileGrams([{ needles: [{ symbols: [1, 2, 3, 1, 2, 3], gram: 6 }], symbolOf }]);
    const lanes = new GramMatchStates({ ...set, bits: set.bits.map(() => -1) });
    for (let count = 0; count < 100; count += 1) expect(lanes.read(1, 0, 1)).toBe(false);
    expect([1, 2, 3, 1, 2, 3].map((each) => lanes.read(each, 0, 1))).toContain(true);
  });
});
