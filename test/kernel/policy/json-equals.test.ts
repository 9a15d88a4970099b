import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { jsonEquals } from "../../../src/kernel/policy/json-equals.ts";

const parse = (text: string): unknown => JSON.parse(text);
const nested = (levels: number): unknown => parse(`${"[".repeat(levels)}${"]".repeat(levels)}`);

describe("jsonEquals", () => {
  test("a value equals a copy of itself, and two values are equal exactly when their sorted forms are", () => {
    const sorted = (value: unknown): string =>
      JSON.stringify(value, (_key, part: unknown) =>
        typeof part === "object" && part !== null && !Array.isArray(part)
          ? Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))
          : part,
      );
    const anyValue = fc.jsonValue({ maxDepth: 3 });
    fc.assert(
      fc.property(anyValue, anyValue, (a, b) => {
        expect(jsonEquals(a, parse(JSON.stringify(a)))).toBe(true);
        if (sorted(a) !== sorted(b)) expect(jsonEquals(a, b)).toBe(false);
      }),
    );
  });

  test.each([
    ["key order", { a: 1, b: [2] }, { b: [2], a: 1 }, true],
    ["a number and its text", 1, "1", false],
    ["null and an empty object", null, {}, false],
    ["an empty object and null", {}, null, false],
    ["an empty list and an empty object", [], {}, false],
    ["an empty object and an empty list", {}, [], false],
    ["a list and an object with its keys", ["x"], { 0: "x" }, false],
    ["a missing key", { a: 1, b: 2 }, { a: 1 }, false],
    ["an extra key", { a: 1 }, { a: 1, b: 2 }, false],
    ["another key", { a: 1 }, { b: 1 }, false],
    ["an absent key and an undefined one", { a: undefined }, { b: undefined }, false],
    ["an inherited key", parse('{"toString":1}'), { a: 1 }, false],
    ["list order", [1, 2], [2, 1], false],
    ["list length", [1], [1, 1], false],
    ["a deep difference", { a: { b: [{ c: 1 }] } }, { a: { b: [{ c: 2 }] } }, false],
    ["false and null", false, null, false],
    ["a text and a list", "a", ["a"], false],
  ])("%s", (_what, a, b, expected) => {
    expect(jsonEquals(a, b)).toBe(expected);
  });

  test("__proto__ is a key like any other", () => {
    expect(jsonEquals(parse('{"__proto__":{"a":1}}'), parse('{"__proto__":{"a":1}}'))).toBe(true);
    expect(jsonEquals(parse('{"__proto__":{"a":1}}'), parse('{"__proto__":{"a":2}}'))).toBe(false);
    expect(jsonEquals(parse('{"__proto__":{}}'), parse('{"x":{}}'))).toBe(false);
    expect(jsonEquals(parse('{"__proto__":{}}'), {})).toBe(false);
  });

  test("sixty-four levels are compared, below that nothing is equal", () => {
    expect(jsonEquals(nested(64), nested(64))).toBe(true);
    expect(jsonEquals(nested(65), nested(65))).toBe(false);
    expect(jsonEquals(nested(5000), nested(5000))).toBe(false);
  });

  test("it ends on cycles, and calls them unequal", () => {
    const cycle = () => {
      const value: Record<string, unknown> = {};
      value["a"] = value;
      value["b"] = value;
      return value;
    };
    expect(jsonEquals(cycle(), cycle())).toBe(false);
  });
});
