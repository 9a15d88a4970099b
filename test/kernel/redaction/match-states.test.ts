import fc from "fast-check";
import { expect, test } from "vitest";
import { MAX_LANES, MatchStates } from "../../../src/kernel/redaction/match-states.ts";
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

function readAll(lanes: MatchStates, way: readonly number[], at: number): boolean {
  return way.map((each) => lanes.read(each, at, 1) !== null).includes(true);
}

function readItem(lanes: MatchStates, [first, second]: Item, at: number): boolean {
  if (second === undefined) return readAll(lanes, first as readonly number[], at);
  const other = lanes.fork();
  const isHit = [readAll(other, second, at), readAll(lanes, first as readonly number[], at)].includes(true);
  lanes.join(other);
  return isHit;
}

test("lanes find at each item what some mixture of readings would find there, and nothing else", () => {
  // Three choices make no more readings than there may be lanes.
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
        const lanes = MatchStates.from(automaton, MAX_GAP, tracks);
        const ways = item.flatMap((way) => readings.map((reading) => ({ way, reading: reading.fork() })));
        const isHit = ways.map(({ way, reading }) => readAll(reading, way, at)).includes(true);
        readings = ways.map(({ reading }) => reading);
        expect(readItem(lanes, item, at)).toBe(isHit);
        tracks = lanes.tracks();
      }
    }),
    { numRuns: 2_000 },
  );
});

const FROM_61 = [6, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

test("a set has one lane again once its readings come to the same", () => {
  const automaton = compileNeedles([{ symbols: [6, 1, 2, 3, 4], owner: 0, gram: 5 }]);
  const lanes = MatchStates.from(automaton, MAX_GAP, []);
  readItem(lanes, [[2], [6, 1]], 0);
  expect(lanes.tracks().length).toBe(2);
  lanes.read(2, 1, 1);
  expect(lanes.tracks().map(({ length }) => length)).toEqual([3]);
  expect(lanes.heldFrom()).toBe(0);
  lanes.read(FOREIGN, 2, 1);
  expect(lanes.tracks().length).toBe(1);
  expect(lanes.heldFrom()).toBe(Number.POSITIVE_INFINITY);
});

test("of two that stand on the same, both stay while one can bear more of what is passed over", () => {
  const automaton = compileNeedles([{ symbols: [1, 2], owner: 0, gram: 2 }]);
  const gapped = [1, ...Array.from({ length: MAX_GAP }, () => SKIPPED)];
  for (const item of [
    [gapped, [1]],
    [[1], gapped],
  ]) {
    const lanes = MatchStates.from(automaton, MAX_GAP, []);
    readItem(lanes, item, 0);
    lanes.read(SKIPPED, 1, 1);
    expect(lanes.read(2, 2, 1)).toEqual({ from: 0, owner: 0 });
  }
});

test("a shorter match stays while it covers more of the source", () => {
  const automaton = compileNeedles([{ symbols: [0, 0, 0, 0, 0, 0], owner: 0, gram: 6 }]);
  const lanes = MatchStates.from(automaton, MAX_GAP, []);
  lanes.read(0, 0, 1);
  readItem(lanes, [[0], [FOREIGN, 0, 0, 0]], 1);
  expect(lanes.heldFrom()).toBe(0);
  expect(lanes.tracks().map(({ starts }) => starts)).toEqual([
    [0, 1],
    [1, 1, 1],
  ]);
});

test("there are never more lanes than allowed, and the longest matches stay", () => {
  const lanes = MatchStates.from(compileNeedles([{ symbols: FROM_61, owner: 0, gram: 14 }]), MAX_GAP, []);
  let most = 0;
  let hit = false;
  for (let at = 0; at < 13; at += 1) {
    hit = readItem(lanes, [[0], [6, 1]], at);
    most = Math.max(most, lanes.tracks().length);
    expect(lanes.heldFrom()).toBe(0);
  }
  expect(most).toBe(MAX_LANES);
  expect(hit).toBe(true);
});

test("what is passed over counts with its width", () => {
  const automaton = compileNeedles([{ symbols: [1, 2], owner: 0, gram: 2 }]);
  const afterWidth = (width: number) => {
    const lanes = MatchStates.from(automaton, MAX_GAP, []);
    lanes.read(1, 0, 1);
    lanes.read(SKIPPED, 1, width);
    return lanes.read(2, 1 + width, 1);
  };
  expect(afterWidth(MAX_GAP)).toEqual({ from: 0, owner: 0 });
  expect(afterWidth(MAX_GAP + 1)).toBeNull();
});
