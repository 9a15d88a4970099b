import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  atLeast,
  characterClass,
  looksRandom,
  MAX_RUN_CHARS,
  ofBothCases,
  type RunRule,
  withDigits,
} from "../../../src/kernel/redaction/character-run.ts";
import { LookAhead, MORE, NONE } from "../../../src/kernel/redaction/look-ahead.ts";

const WORD = characterClass("A-Za-z0-9");
const RULES: readonly RunRule[] = [
  atLeast(WORD, 3),
  withDigits(WORD, 4, 2),
  ofBothCases(WORD, 3),
  { ...looksRandom(WORD, 3), mixedLength: 5 },
];

/** Most of it in the class, so that runs are long and often end at the text's end. */
const anyText = fc.string({ unit: fc.constantFrom(..."aaabbA1-"), maxLength: 40 });

function counting(text: string): { readonly text: string; readonly reads: () => number } {
  let reads = 0;
  const counted = {
    length: text.length,
    charCodeAt: (at: number): number => {
      reads += 1;
      return text.charCodeAt(at);
    },
  };
  return { text: counted as unknown as string, reads: () => reads };
}

describe("what is remembered changes no answer", () => {
  test("reading from place to place is reading anew at each", () => {
    fc.assert(
      fc.property(anyText, fc.boolean(), fc.integer({ min: 1, max: 9 }), (text, isFinal, max) => {
        const ahead = new LookAhead(text, isFinal);
        for (let at = 0; at <= text.length; at += 1) {
          const anew = new LookAhead(text, isFinal);
          expect(ahead.readRun(at, WORD, max)).toBe(anew.readRun(at, WORD, max));
          for (const rule of RULES) expect(ahead.readUntilEnough(at, rule)).toBe(anew.readUntilEnough(at, rule));
        }
      }),
    );
  });

  test("going back is allowed", () => {
    const ahead = new LookAhead("aa1aaa-", true);
    const rule = withDigits(WORD, 3, 1);
    expect([3, 0, 2, 1].map((at) => ahead.readUntilEnough(at, rule))).toEqual([NONE, 3, 5, 4]);
    expect([3, 0].map((at) => ahead.readRun(at, WORD, 99))).toEqual([6, 6]);
  });
});

describe("a run", () => {
  test("is enough at the character that makes it so", () => {
    const at = (text: string, rule: RunRule): number => new LookAhead(text, true).readUntilEnough(1, rule);
    expect(at("-abcd", atLeast(WORD, 3))).toBe(4);
    expect(at("-ab", atLeast(WORD, 3))).toBe(NONE);
    expect(at("-1a2bc", withDigits(WORD, 4, 2))).toBe(5);
    expect(at("-1abcd2e", withDigits(WORD, 4, 2))).toBe(7);
    expect(at("-abcdEf", ofBothCases(WORD, 3))).toBe(6);
    expect(at("-ABCDE1", ofBothCases(WORD, 3))).toBe(NONE);
    expect(at(`-${"a".repeat(22)}B`, looksRandom(WORD, 16))).toBe(NONE);
    expect(at(`-${"a".repeat(22)}BC`, looksRandom(WORD, 16))).toBe(25);
    expect(at(`-${"a".repeat(20)}1C`, looksRandom(WORD, 16))).toBe(22);
  });

  test("may go on, unless the text is final, the run has ended or is too long", () => {
    const rule = withDigits(WORD, 3, 1);
    const long = "a".repeat(MAX_RUN_CHARS - 1);
    expect(new LookAhead("aaaa", false).readUntilEnough(0, rule)).toBe(MORE);
    expect(new LookAhead("aaaa", true).readUntilEnough(0, rule)).toBe(NONE);
    expect(new LookAhead("aaaa-", false).readUntilEnough(0, rule)).toBe(NONE);
    expect(new LookAhead(`${long}1`, false).readUntilEnough(0, rule)).toBe(MAX_RUN_CHARS);
    expect(new LookAhead(`${long}a1`, false).readUntilEnough(0, rule)).toBe(NONE);
    expect(new LookAhead(`${long}a1`, false).readUntilEnough(1, rule)).toBe(MAX_RUN_CHARS + 1);
    expect(new LookAhead("aaaa", false).readRun(0, WORD, 5)).toBe(MORE);
    expect(new LookAhead("aaaa", false).readRun(0, WORD, 4)).toBe(4);
    expect(new LookAhead("aaaa", true).readRun(0, WORD, 5)).toBe(4);
  });
});

test("a literal is there, not there, or may still come", () => {
  const ahead = new LookAhead("xsk-", false);
  expect(ahead.readLiteral(1, "sk-")).toBe(4);
  expect(ahead.readLiteral(1, "sk-ant")).toBe(MORE);
  expect(ahead.readLiteral(1, "sk_")).toBe(NONE);
  expect(new LookAhead("xsk-", true).readLiteral(1, "sk-ant")).toBe(NONE);
});

describe("a text full of starts", () => {
  const HOSTILE: readonly (readonly [string, string])[] = [
    ["one run that is never enough", "a".repeat(20_000)],
    ["runs of the greatest length", `${"a".repeat(MAX_RUN_CHARS)}-`.repeat(40)],
    ["runs that are a digit short", `${"a".repeat(600)}1`.repeat(30)],
    ["runs that are enough", "a1".repeat(10_000)],
  ];
  test.each(HOSTILE)("is read at most twice a rule, and once a run: %s", (_, text) => {
    for (const rule of [...RULES, withDigits(WORD, 16, 2)]) {
      const { text: counted, reads } = counting(text);
      const ahead = new LookAhead(counted, true);
      for (let at = 0; at < text.length; at += 1) ahead.readUntilEnough(at, rule);
      // Once on the way in, once on the way out, and the character that ends a run.
      expect(reads()).toBeLessThanOrEqual(3 * text.length);
    }
    const { text: counted, reads } = counting(text);
    const ahead = new LookAhead(counted, true);
    for (let at = 0; at < text.length; at += 1) ahead.readRun(at, WORD, MAX_RUN_CHARS);
    expect(reads()).toBeLessThanOrEqual(2 * text.length);
  });
});
