import fc from "fast-check";
import { expect, test } from "vitest";
import {
  compileNeedles,
  type Needle,
  NOTHING_TRACKED,
  SubstringTracker,
} from "../../../src/kernel/redaction/substring-automaton.ts";

const symbols = fc.array(fc.nat(2), { maxLength: 9 });
const anyNeedles = fc
  .array(fc.tuple(symbols, fc.integer({ min: 1, max: 5 })), { maxLength: 5 })
  .map((rows) => rows.map(([row, gram], owner): Needle => ({ symbols: row, owner, gram })));

const occursIn = (end: readonly number[], needle: Needle): boolean =>
  `,${needle.symbols.join()},`.includes(`,${end.join()},`);

/** The same answers, from the definition. */
function expectedAt(needles: readonly Needle[], read: readonly number[]) {
  const ends = read.map((_, from) => read.slice(from));
  const from = ends.findIndex((end) => needles.some((needle) => occursIn(end, needle)));
  const isHit = (end: readonly number[]) =>
    needles.some((needle) => end.length >= needle.gram && occursIn(end, needle));
  const hitFrom = ends.findIndex(isHit);
  return { heldFrom: from < 0 ? Number.POSITIVE_INFINITY : from, hitFrom: hitFrom < 0 ? null : hitFrom };
}

test("after each symbol the longest end within a needle is known, and whether it is a hit", () => {
  fc.assert(
    fc.property(anyNeedles, fc.array(fc.nat(3), { maxLength: 30 }), (needles, stream) => {
      const automaton = compileNeedles(needles);
      let tracking = NOTHING_TRACKED;
      for (const [at, symbol] of stream.entries()) {
        const tracker = new SubstringTracker(automaton, 3, tracking);
        const hit = tracker.follow(symbol, at);
        const expected = expectedAt(needles, stream.slice(0, at + 1));
        expect(tracker.heldFrom()).toBe(expected.heldFrom);
        expect(hit?.from ?? null).toBe(expected.hitFrom);
        tracking = tracker.tracking();
        expect(tracking.starts.length).toBe(tracking.length);
      }
    }),
    { numRuns: 500 },
  );
});

test("the owner of a hit holds what was hit; of several, the one with the least gram, then the first", () => {
  fc.assert(
    fc.property(anyNeedles, fc.array(fc.nat(2), { maxLength: 30 }), (needles, stream) => {
      const tracker = new SubstringTracker(compileNeedles(needles), 3, NOTHING_TRACKED);
      for (const [at, symbol] of stream.entries()) {
        const hit = tracker.follow(symbol, at);
        if (hit === null) continue;
        const end = stream.slice(hit.from, at + 1);
        const holders = needles.filter((needle) => occursIn(end, needle));
        const least = Math.min(...holders.map(({ gram }) => gram));
        expect(hit.owner).toBe(holders.find(({ gram }) => gram === least)?.owner);
      }
    }),
    { numRuns: 500 },
  );
});

test("one tracker through a long stream and many short-lived ones agree", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(2), { minLength: 300, maxLength: 400 }), (stream) => {
      const automaton = compileNeedles([{ symbols: stream.slice(50, 150), owner: 0, gram: 6 }]);
      const lasting = new SubstringTracker(automaton, 3, NOTHING_TRACKED);
      let tracking = NOTHING_TRACKED;
      for (const [at, symbol] of stream.entries()) {
        const fresh = new SubstringTracker(automaton, 3, tracking);
        expect(lasting.follow(symbol, at)).toEqual(fresh.follow(symbol, at));
        tracking = fresh.tracking();
        expect(lasting.tracking()).toEqual(tracking);
      }
    }),
    { numRuns: 8 },
  );
});

test("ignored symbols do not end a match, until there are too many in a row", () => {
  const automaton = compileNeedles([{ symbols: [1, 2, 3], owner: 7, gram: 3 }]);
  const afterGaps = (gap: number) => {
    const tracker = new SubstringTracker(automaton, 3, NOTHING_TRACKED);
    tracker.skip(1);
    tracker.follow(1, 10);
    for (let count = 0; count < gap; count += 1) tracker.skip(1);
    tracker.follow(2, 20);
    for (let count = 0; count < gap; count += 1) tracker.skip(1);
    return tracker.follow(3, 30);
  };
  expect(afterGaps(3)).toEqual({ from: 10, owner: 7 });
  expect(afterGaps(4)).toBeNull();
});

test("the gap is part of what a tracking remembers", () => {
  const automaton = compileNeedles([{ symbols: [1, 2], owner: 0, gram: 2 }]);
  const first = new SubstringTracker(automaton, 1, NOTHING_TRACKED);
  first.follow(1, 0);
  first.skip(1);
  const second = new SubstringTracker(automaton, 1, first.tracking());
  second.skip(1);
  expect(second.tracking()).toBe(NOTHING_TRACKED);
});

test("a symbol no needle has ends the match", () => {
  const tracker = new SubstringTracker(compileNeedles([{ symbols: [0, 1, 0], owner: 0, gram: 2 }]), 3, NOTHING_TRACKED);
  expect(tracker.follow(0, 0)).toBeNull();
  expect(tracker.follow(2, 1)).toBeNull();
  expect(tracker.heldFrom()).toBe(Number.POSITIVE_INFINITY);
  expect(tracker.follow(1, 2)).toBeNull();
  expect(tracker.follow(0, 3)).toEqual({ from: 2, owner: 0 });
  tracker.reset();
  expect(tracker.tracking()).toBe(NOTHING_TRACKED);
});
