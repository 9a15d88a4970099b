import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../../src/kernel/vocabulary/canonical-json.ts";
import { jsonProblem } from "../../../src/kernel/vocabulary/json-problem.ts";
import { parseJson } from "../../../src/kernel/vocabulary/parse-json.ts";
import { anyJson, sameJson } from "./any-json.ts";

describe("jsonProblem", () => {
  const cycle: unknown[] = [];
  cycle.push(cycle);
  const deep = (levels: number): unknown => JSON.parse(`${"[".repeat(levels)}${"]".repeat(levels)}`);
  const surrogate = "a lone surrogate in a string";
  const unfit = "a number that does not fit";
  test.each<[string, unknown, string | null]>([
    ["null", null, null],
    ["a boolean", false, null],
    ["text", "é 😂", null],
    ["a number", -0.5, null],
    ["the largest integer", 9007199254740991, null],
    ["three levels", { a: [{ b: 1 }] }, null],
    ["no prototype", Object.create(null), null],
    ["an own __proto__", JSON.parse('{"__proto__":{"a":1}}'), null],
    ["a lone surrogate", ["\ud800"], surrogate],
    ["a lone surrogate in a key", { "\ud800": 1 }, surrogate],
    ["an integer too large", { a: 9007199254740992 }, unfit],
    ["an overflow", [JSON.parse("1e400")], unfit],
    ["not a number", Number.NaN, unfit],
    ["four levels", [[[[]]]], "nested deeper than 3 levels"],
    ["four levels of objects", { a: { a: { a: {} } } }, "nested deeper than 3 levels"],
    ["a cycle", cycle, "nested deeper than 3 levels"],
    ["a depth that would exhaust the stack", deep(100_000), "nested deeper than 3 levels"],
    ["undefined", { a: undefined }, "not JSON"],
    ["a hole", new Array(1), "not JSON"],
    ["a function", () => 1, "not JSON"],
    ["a bigint", 1n, "not JSON"],
    ["a map", new Map(), "not JSON"],
  ])("%s", (_, value, problem) => {
    expect(jsonProblem(value, 3)).toBe(problem);
  });

  test("it agrees with parseJson about everything that JSON.parse reads", () => {
    const anyValue = fc.oneof(
      anyJson,
      fc.jsonValue({ stringUnit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)) }),
    );
    fc.assert(
      fc.property(anyValue, fc.integer({ min: 0, max: 4 }), (value, maxDepth) => {
        const parsed = parseJson(JSON.stringify(value), { maxDepth });
        expect(jsonProblem(value, maxDepth) === null).toBe(parsed.ok);
        if (parsed.ok) expect(sameJson(JSON.parse(canonicalJson(value)), parsed.value)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test("it never throws", () => {
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
        (value) => {
          if (jsonProblem(value, 32) === null) expect(parseJson(canonicalJson(value)).ok).toBe(true);
        },
      ),
    );
  });
});
