import fc from "fast-check";
import { expect, test } from "vitest";
import { MAX_MATCH_STATES, MatchStates } from "../../../src/kernel/redaction/match-states.ts";
import { FOREIGN, SKIPPED } from "../../../src/kernel/redaction/secret-encodings.ts";
import { compileNeedles, type Needle } from "../../../src/kernel/redaction/substring-automaton.ts";

const MAX_GAP = 3;
const symbol = fc.oneof({ weight: 6, arbitrary: fc.nat(2) }, fc.constantFrom(SKIPPED, FOREIGN));
/** One way to read it, or two. */
const anyItem = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.tuple(symbol)) },
  { weight: 1, arbitrary: fc.tuple(fc.tuple(symbol), fc.array(symbol, { minLength: 1, maxLength: 3 })) },
);
const anyNeedles = fc
  .array(fc.tuple(fc.array(fc.nat(2), { maxLength: 9 }), fc.integer({ min: 2, max: 6 })), { maxLength: 4 })
  .map((rows) => rows.map(([symbols, gram], owner): Needle => ({ symbols, owner, gram })));

type Item = readonly (readonly number[])[];

function readAll(matchStates: MatchStates, way: readonly number[], at: number): boolean {
  return way.map((each) => matchStates.read(each, at, 1) !== null).includes(true);
}

function readItem(matchStates: MatchStates, [first, second]: Item, at: number): boolean {
  if (second === undefined) return readAll(matchStates, first as readonly number[], at);
  const other = matchStates.fork();
  const isHit = [readAll(other, second, at), readAll(matchStates, first as readonly number[], at)].includes(true);
  matchStates.join(other);
  return isHit;
}

test("matchStates find at each item what some mixture of readings would find there, and nothing else", () => {
  // Three choices make no more readings than there may be matchStates.
  const items = fc.array(anyItem, { maxLength: 25 }).map((all) => {
    let choices = 0;
    return all.map((item): Item => {
      if (item.length === 2) choices += 1;
      return choices > 3 ? item.slice(0, 1) : item;
    });
  });
  fc.assert(
    fc.property(anyNeedles, items, (needles, stream) => {
      const automaton = compileNeedles(needles);
      let tracks = MatchStates.from(automaton, MAX_GAP, []).tracks();
      /** Every mixture of readings, one by one. */
      let readings = [MatchStates.from(automaton, MAX_GAP, [])];
      for (const [at, item] of stream.entries()) {
        const matchStates = MatchStates.from(automaton, MAX_GAP, tracks);
        const ways = item.flatMap((way) => readings.map((reading) => ({ way, reading: reading.fork() })));
        const isHit = ways.map(({ way, reading }) => readAll(reading, way, at)).includes(true);
        readings = ways.map(({ reading }) => reading);
        expect(readItem(matchStates, item, at)).toBe(isHit);
        tracks = matchStates.tracks();
      }
    }),
    { numRuns: 2_000 },
  );
});

const FROM_61 = [6, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

test("a set has one matchState again once its readings come to the same", () => {
  const automaton = compileNeedles([{ symbols: [6, 1, 2, 3, 4], owner: 0, gram: 5 }]);
  const matchStates = MatchStates.from(automaton, MAX_GAP, []);
  readItem(matchStates, [[2], [6, 1]], 0);
  expect(matchStates.tracks().length).toBe(2);
  matchStates.read(2, 1, 1);
  expect(matchStates.tracks().map(({ length }) => length)).toEqual([3]);
  expect(matchStates.heldFrom()).toBe(0);
  matchStates.read(FOREIGN, 2, 1);
  expect(matchStates.tracks().length).toBe(1);
  expect(matchStates.heldFrom()).toBe(Number.POSITIVE_INFINITY);
});

test("of two that stand on the same, both stay while one can bear more of what is passed over", () => {
  const automaton = compileNeedles([{ symbols: [1, 2], owner: 0, gram: 2 }]);
  const gapped = [1, ...Array.from({ length: MAX_GAP }, () => SKIPPED)];
  for (const item of [
    [gapped, [1]],
    [[1], gapped],
  ]) {
    const matchStates = MatchStates.from(automaton, MAX_GAP, []);
    readItem(matchStates, item, 0);
    matchStates.read(SKIPPED, 1, 1);
    expect(matchStates.read(2, 2, 1)).toEqual({ from: 0, owner: 0 });
  }
});

test("a shorter match stays while it covers more of the source", () => {
  const automaton = compileNeedles([{ symbols: [0, 0, 0, 0, 0, 0], owner: 0, gram: 6 }]);
  const matchStates = MatchStates.from(automaton, MAX_GAP, []);
  matchStates.read(0, 0, 1);
  readItem(matchStates, [[0], [FOREIGN, 0, 0, 0]], 1);
  expect(matchStates.heldFrom()).toBe(0);
  expect(matchStates.tracks().map(({ starts }) => starts)).toEqual([
    [0, 1],
    [1, 1, 1],
  ]);
});

test("there are never more matchStates than allowed, and the longest matches stay", () => {
  const matchStates = MatchStates.from(compileNeedles([{ symbols: FROM_61, owner: 0, gram: 14 }]), MAX_GAP, []);
  let most = 0;
  let hit = false;
  for (let at = 0; at < 13; at += 1) {
    hit = readItem(matchStates, [[0], [6, 1]], at);
    most = Math.max(most, matchStates.tracks().length);
    expect(matchStates.heldFrom()).toBe(0);
  }
  expect(most).toBe(MAX_MATCH_STATES);
  expect(hit).toBe(true);
});

test("what is passed over counts with its width", () => {
  const automaton = compileNeedles([{ symbols: [1, 2], owner: 0, gram: 2 }]);
  const afterWidth = (width: number) => {
    const matchStates = MatchStates.from(automaton, MAX_GAP, []);
    matchStates.read(1, 0, 1);
    matchStates.read(SKIPPED, 1, width);
    return matchStates.read(2, 1 + width, 1);
  };
  expect(afterWidth(MAX_GAP)).toEqual({ from: 0, owner: 0 });
  expect(afterWidth(MAX_GAP + 1)).toBeNull();
});
