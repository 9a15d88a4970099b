import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../../src/kernel/vocabulary/canonical-json.ts";
import { type JsonValue, parseJson } from "../../../src/kernel/vocabulary/parse-json.ts";
import adversarial from "../../fixtures/adversarial.json" with { type: "json" };
import { anyCharacter, anyJson, sameJson } from "./any-json.ts";
import { inheritsNothing } from "./inherits-nothing.ts";

const DEFAULT_MAX_CHARS = 1_048_576;

/** A refusal, with the code that goes with its words. */
function refusal(problem: string, at: number): object {
  const codes: Readonly<Record<string, string>> = {
    "duplicate key": "duplicate-key",
    "something follows the value": "trailing-text",
  };
  return { ok: false, code: codes[problem] ?? "invalid", problem, at };
}

function accepted(text: string): JsonValue {
  const parsed = parseJson(text);
  if (!parsed.ok) throw new Error(`refused: ${parsed.problem} at ${parsed.at}`);
  return parsed.value;
}

function adversarialJson(name: string): string {
  const inputs = adversarial.filter((entry) => entry.name === name).map((entry) => entry.input);
  return (inputs[0] as { readonly json: string }).json;
}

/** Every object and array in a value, itself included. */
function containersOf(value: unknown): object[] {
  return typeof value === "object" && value !== null ? [value, ...Object.values(value).flatMap(containersOf)] : [];
}

function numbersOf(value: unknown): number[] {
  if (typeof value === "number") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(numbersOf) : [];
}

function readByJsonParse(text: string): { readonly value: unknown } | null {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return null;
  }
}

describe("what it accepts", () => {
  test.each<[string, unknown]>([
    ["null", null],
    ["true", true],
    ["false", false],
    ["0", 0],
    ["-0", -0],
    ["-12.5e-1", -1.25],
    ["1E+2", 100],
    ["9007199254740991", 9007199254740991],
    ["-9007199254740991", -9007199254740991],
    ["9007199254740991.0", 9007199254740991],
    // Numbers are doubles: what is written more finely becomes the nearest one, as everywhere in JavaScript.
    ["1e-400", 0],
    ["9007199254740991.4", 9007199254740991],
    ["0.1000000000000000055", 0.1],
    ['""', ""],
    [String.raw`"\"\\\/\b\f\n\r\t\u0041\u00e9\u00E9"`, '"\\/\b\f\n\r\tAéé'],
    [String.raw`"a\u0000b"`, "a\u0000b"],
    ['"\u0020\u007f\u2028\u2029\ufeff"', " \u007f\u2028\u2029\ufeff"],
    [String.raw`"\ud83d\ude02 😂"`, "😂 😂"],
    ["[]", []],
    ["{}", {}],
    [" \t\n\r[ 1 , [ ] , { } ] \t\n\r", [1, [], {}]],
    [' { "a" : 1 , "b" : [ null ] } ', { a: 1, b: [null] }],
    ['{"a":1,"A":2,"":3}', { a: 1, A: 2, "": 3 }],
  ])("%s", (text, value) => {
    expect(accepted(text)).toEqual(value);
    expect(JSON.parse(text)).toEqual(value);
  });

  test("a surrogate pair of which one half is escaped", () => {
    expect(accepted('"\ud83d\\ude02"')).toBe("😂");
  });

  test("any JSON whose numbers fit, however it is laid out", () => {
    const layout = fc.constantFrom(undefined, 1, "\t");
    fc.assert(
      fc.property(anyJson, layout, (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        const fits = numbersOf(value).every((number) => !Number.isInteger(number) || Number.isSafeInteger(number));
        const parsed = parseJson(text, { maxDepth: 512 });
        expect(parsed.ok).toBe(fits);
        if (parsed.ok) expect(sameJson(parsed.value, value)).toBe(true);
        else expect(parsed.problem).toBe("a number that does not fit");
      }),
    );
  });
});

describe("what it refuses, and where", () => {
  const expectedValue = "expected a value";
  const unfit = "a number that does not fit";
  const control = "a control character in a string";
  const unknownEscape = "an unknown escape";
  const surrogate = "a lone surrogate in a string";
  const follows = "something follows the value";
  test.each<[string, string, number]>([
    ["", expectedValue, 0],
    ["  ", expectedValue, 2],
    ["\ufeff{}", expectedValue, 0],
    ["\u00a01", expectedValue, 0],
    ["nul", expectedValue, 0],
    ["nULL", expectedValue, 0],
    ["True", expectedValue, 0],
    ["tru e", expectedValue, 0],
    ["falsy", expectedValue, 0],
    ["undefined", expectedValue, 0],
    ["NaN", expectedValue, 0],
    ["-Infinity", expectedValue, 0],
    ["'a'", expectedValue, 0],
    ["+1", expectedValue, 0],
    [".5", expectedValue, 0],
    ["-", expectedValue, 0],
    ["- 1", expectedValue, 0],
    ["01", follows, 1],
    ["-01", follows, 2],
    ["1.", follows, 1],
    ["1e", follows, 1],
    ["1e+", follows, 1],
    ["0x10", follows, 1],
    ["1 2", follows, 2],
    ["null,", follows, 4],
    ["{}}", follows, 2],
    ['"a" // b', follows, 4],
    ["nullnull", follows, 4],
    ["1e400", unfit, 0],
    ["[-1e400]", unfit, 1],
    ["9007199254740992", unfit, 0],
    ["-9007199254740992", unfit, 0],
    ["9007199254740993", unfit, 0],
    ["9007199254740992.0", unfit, 0],
    ["9007199254740991.6", unfit, 0],
    ["[0, 1e21]", unfit, 4],
    ["[", expectedValue, 1],
    ["[1", "expected a comma or a closing bracket", 2],
    ["[1 2]", "expected a comma or a closing bracket", 3],
    ["[1}", "expected a comma or a closing bracket", 2],
    ["[1,]", expectedValue, 3],
    ["[,1]", expectedValue, 1],
    ["{", "expected a key", 1],
    ["{a:1}", "expected a key", 1],
    ["{ 1:1}", "expected a key", 2],
    ['{"a":1,}', "expected a key", 7],
    ['{"a"}', "expected a colon", 4],
    ['{"a" 1}', "expected a colon", 5],
    ['{"a":}', expectedValue, 5],
    ['{"a":1', "expected a comma or a closing brace", 6],
    ['{"a":1 "b":2}', "expected a comma or a closing brace", 7],
    ['{"a":1]', "expected a comma or a closing brace", 6],
    ['{"a":1,"a":1}', "duplicate key", 7],
    ['{"a":1, "b":2, "\\u0061":3}', "duplicate key", 15],
    ['{"__proto__":1,"__proto__":2}', "duplicate key", 15],
    ['[{"a":{"b":1,"b":2}}]', "duplicate key", 13],
    ['"', "a string without an end", 0],
    ['["abc', "a string without an end", 1],
    ['"abc\\"', "a string without an end", 0],
    ['{"abc', "a string without an end", 1],
    ['"a\nb"', control, 2],
    ['"a\tb"', control, 2],
    ['"\u0000"', control, 1],
    ['"\u001f"', control, 1],
    [String.raw`"ab\x41"`, unknownEscape, 3],
    [String.raw`"\'"`, unknownEscape, 1],
    [String.raw`"\U0041"`, unknownEscape, 1],
    [String.raw`"\u004"`, unknownEscape, 1],
    [String.raw`"\u00g1"`, unknownEscape, 1],
    [String.raw`"\u+041"`, unknownEscape, 1],
    ['"\\', unknownEscape, 1],
    ['"\\u12', unknownEscape, 1],
    [String.raw`[1, "a\ud800"]`, surrogate, 4],
    [String.raw`"\ude02\ud83d"`, surrogate, 0],
    [String.raw`"\ud83d\u0041"`, surrogate, 0],
    ['"\ud800"', surrogate, 0],
    [String.raw`{"\udc00":1}`, surrogate, 1],
  ])("%j", (text, problem, at) => {
    expect(parseJson(text)).toEqual(refusal(problem, at));
  });

  test("more than 64 levels, or as many as the caller allows", () => {
    const arrays = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
    const objects = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
    expect(parseJson(arrays(64)).ok).toBe(true);
    expect(parseJson(objects(64)).ok).toBe(true);
    const tooDeep = "nested deeper than 64 levels";
    expect(parseJson(arrays(65))).toEqual(refusal(tooDeep, 64));
    expect(parseJson(objects(65))).toEqual(refusal(tooDeep, 64 * 5));
    expect(parseJson(`[${arrays(63)},${arrays(63)}]`).ok).toBe(true);
    expect(parseJson("[1]", { maxDepth: 1 }).ok).toBe(true);
    expect(parseJson("[[]]", { maxDepth: 1 })).toEqual(refusal("nested deeper than 1 levels", 1));
    expect(parseJson("1", { maxDepth: 0 }).ok).toBe(true);
    expect(parseJson("{}", { maxDepth: 0 })).toEqual(refusal("nested deeper than 0 levels", 0));
  });

  test("a depth that would exhaust the stack, whatever the caller allows", () => {
    // The adversarial case dos_oversize/json_depth: '[' x 100000 + ']' x 100000.
    const bomb = "[".repeat(100_000) + "]".repeat(100_000);
    expect(parseJson(bomb)).toEqual(refusal("nested deeper than 64 levels", 64));
    const unbounded = parseJson(bomb, { maxDepth: Number.POSITIVE_INFINITY });
    expect(unbounded).toEqual(refusal("nested deeper than 512 levels", 512));
  });

  test("more than 1 MiB, or as much as the caller allows", () => {
    const text = `"${"a".repeat(DEFAULT_MAX_CHARS - 2)}"`;
    expect(parseJson(text).ok).toBe(true);
    const problem = `longer than ${DEFAULT_MAX_CHARS} characters`;
    expect(parseJson(`${text} `)).toEqual(refusal(problem, DEFAULT_MAX_CHARS));
    expect(parseJson("1234", { maxChars: 4 })).toEqual({ ok: true, value: 1234 });
    expect(parseJson("12345", { maxChars: 4 })).toEqual(refusal("longer than 4 characters", 4));
  });
});

describe("for any text at all", () => {
  const anyText = fc.oneof(
    fc.string({ unit: fc.constantFrom(...'{}[]":,\\u0d8e19-+.tfn \n\ud800\udc00') }),
    fc.array(fc.nat({ max: 0xffff })).map((units) => String.fromCharCode(...units)),
    // Nearly JSON: one place of a valid text replaced.
    fc
      .tuple(
        fc.json({ stringUnit: anyCharacter }),
        fc.nat(),
        fc.nat({ max: 3 }),
        fc.constantFrom(...'{}[]":,\\ue01-.\n', "", "a"),
      )
      .map(([text, at, removed, added]) => {
        const start = at % (text.length + 1);
        return text.slice(0, start) + added + text.slice(start + removed);
      }),
  );

  test("it never throws, and accepts nothing that JSON.parse does not read as the same value", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const parsed = parseJson(text);
        if (!parsed.ok) {
          expect(parsed.at).toBeGreaterThanOrEqual(0);
          expect(parsed.at).toBeLessThanOrEqual(text.length);
          return;
        }
        const read = readByJsonParse(text);
        expect(read).not.toBeNull();
        expect(sameJson(parsed.value, read?.value)).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });

  test("what it accepts can be written canonically and read again", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const parsed = parseJson(text);
        if (parsed.ok) expect(sameJson(accepted(canonicalJson(parsed.value)), parsed.value)).toBe(true);
      }),
    );
  });

  test("no object it makes inherits anything", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const parsed = parseJson(text);
        const objects = parsed.ok ? containersOf(parsed.value).filter((container) => !Array.isArray(container)) : [];
        expect(objects.every(inheritsNothing)).toBe(true);
      }),
    );
  });
});

describe("adversarial cases", () => {
  test("proto_pollution/object_assign: __proto__ is an own key and pollutes nothing", () => {
    const value = accepted(adversarialJson("object_assign")) as Record<string, unknown>;
    expect(inheritsNothing(value)).toBe(true);
    expect(Object.keys(value)).toEqual(["__proto__"]);
    expect(value["polluted"]).toBeUndefined();
    expect(Object.hasOwn({ ...value }, "__proto__")).toBe(true);
    expect({ ...value }["polluted"]).toBeUndefined();
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test("proto_pollution/args_constructor: constructor is an own key and reaches no function", () => {
    const value = accepted(adversarialJson("args_constructor")) as Record<string, unknown>;
    expect(Object.keys(value)).toEqual(["path", "constructor"]);
    expect(canonicalJson(value)).toBe('{"constructor":{"prototype":{"x":1}},"path":"a"}');
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
    expect((accepted("{}") as Record<string, unknown>)["constructor"]).toBeUndefined();
  });

  test("unicode/lone_surrogate: refused, so that its hash is never asked for", () => {
    const text = adversarialJson("lone_surrogate");
    expect(parseJson(text)).toEqual(refusal("a lone surrogate in a string", 8));
  });
});
