import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../../src/kernel/vocabulary/canonical-json.ts";
import { Defect } from "../../../src/kernel/vocabulary/defect.ts";
import { anyCharacter, anyJson, anySmallJson, reverseKeys, sameJson } from "./any-json.ts";

/** What RFC 8785 asks for, said as plainly as possible. */
function plainly(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(plainly).join(",")}]`;
  const members = Object.keys(value).sort();
  return `{${members.map((key) => `${JSON.stringify(key)}:${plainly((value as Record<string, unknown>)[key])}`).join(",")}}`;
}

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

describe("RFC 8785's own examples", () => {
  test.each([
    {
      name: "3.2.2, values",
      input: String.raw`{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
      }`,
      output: String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    },
    {
      name: "3.2.3, sorting",
      input: String.raw`{
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\ud83d\ude00": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis"
      }`,
      output:
        '{"\\r":"Carriage Return","1":"One","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis","\u20ac":"Euro Sign","\u{1f600}":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    },
    {
      name: "arrays",
      input: '[ 56, { "d": true, "10": null, "1": [ ] } ]',
      output: '[56,{"1":[],"10":null,"d":true}]',
    },
    {
      name: "french",
      input:
        '{ "peach": "This sorting order", "péché": "is wrong according to French", "pêche": "but canonicalization MUST", "sin": "ignore locale" }',
      output:
        '{"peach":"This sorting order","péché":"is wrong according to French","pêche":"but canonicalization MUST","sin":"ignore locale"}',
    },
    {
      name: "structures",
      input: String.raw`{
        "1": {"f": {"f": "hi","F": 5} ,"\n": 56.0},
        "10": { }, "": "empty", "a": { },
        "111": [ {"e": "yes","E": "no" } ],
        "A": { }
      }`,
      output: String.raw`{"":"empty","1":{"\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{"E":"no","e":"yes"}],"A":{},"a":{}}`,
    },
    {
      name: "unicode",
      input: String.raw`{ "Unnormalized Unicode":"A\u030a" }`,
      output: '{"Unnormalized Unicode":"A\u030a"}',
    },
    {
      name: "weird",
      input: String.raw`{
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\u000a": "Newline",
        "1": "One",
        "\u0080": "Control\u007f",
        "\ud83d\ude02": "Smiley",
        "\u00f6": "Latin Small Letter O With Diaeresis",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "</script>": "Browser Challenge"
      }`,
      output:
        '{"\\n":"Newline","\\r":"Carriage Return","1":"One","</script>":"Browser Challenge","\u0080":"Control\u007f","\u00f6":"Latin Small Letter O With Diaeresis","\u20ac":"Euro Sign","\u{1f602}":"Smiley","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    },
  ])("$name", ({ input, output }) => {
    expect(canonicalJson(JSON.parse(input))).toBe(output);
  });

  test.each([
    ["0000000000000000", "0"],
    ["8000000000000000", "0"],
    ["0000000000000001", "5e-324"],
    ["8000000000000001", "-5e-324"],
    ["7fefffffffffffff", "1.7976931348623157e+308"],
    ["ffefffffffffffff", "-1.7976931348623157e+308"],
    ["4340000000000000", "9007199254740992"],
    ["c340000000000000", "-9007199254740992"],
    ["4430000000000000", "295147905179352830000"],
    ["44b52d02c7e14af5", "9.999999999999997e+22"],
    ["44b52d02c7e14af6", "1e+23"],
    ["44b52d02c7e14af7", "1.0000000000000001e+23"],
    ["444b1ae4d6e2ef4e", "999999999999999700000"],
    ["444b1ae4d6e2ef4f", "999999999999999900000"],
    ["444b1ae4d6e2ef50", "1e+21"],
    ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
    ["3eb0c6f7a0b5ed8d", "0.000001"],
    ["41b3de4355555553", "333333333.3333332"],
    ["41b3de4355555554", "333333333.33333325"],
    ["41b3de4355555555", "333333333.3333333"],
    ["41b3de4355555556", "333333333.3333334"],
    ["41b3de4355555557", "333333333.33333343"],
    ["becbf647612f3696", "-0.0000033333333333333333"],
    ["43143ff3c1cb0959", "1424953923781206.2"],
  ])("appendix B, the double %s is written %s", (bits, written) => {
    expect(canonicalJson(doubleOf(bits))).toBe(written);
  });

  test.each(["7fffffffffffffff", "7ff0000000000000", "fff0000000000000"])(
    "appendix B, the double %s is refused",
    (bits) => {
      expect(() => canonicalJson(doubleOf(bits))).toThrow(new Defect(`canonical JSON: ${doubleOf(bits)} is not JSON`));
    },
  );
});

test("what it writes is what RFC 8785 says, for any value", () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      expect(canonicalJson(value)).toBe(plainly(value));
    }),
  );
});

test("every character up to U+02FF, and around the surrogates, is escaped only where it must be", () => {
  const codes = [...Array(0x300).keys(), 0x2028, 0x2029, 0xd7ff, 0xe000, 0xfeff, 0xffff, 0x10000, 0x10ffff];
  for (const character of codes.map((code) => String.fromCodePoint(code))) {
    expect(canonicalJson({ [character]: character })).toBe(plainly({ [character]: character }));
  }
});

test("objects of any size are sorted by UTF-16 code units", () => {
  const key = fc.oneof(fc.string({ unit: anyCharacter, maxLength: 3 }), fc.nat({ max: 99 }).map(String));
  const keys = fc.uniqueArray(key, { maxLength: 70, size: "max" });
  fc.assert(
    fc.property(keys, (names) => {
      const object = Object.fromEntries(names.map((name) => [name, null]));
      expect(canonicalJson(object)).toBe(plainly(object));
    }),
  );
});

test("what it writes can be read again, and is written the same again", () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      const read: unknown = JSON.parse(canonicalJson(value));
      expect(sameJson(read, value)).toBe(true);
      expect(canonicalJson(read)).toBe(canonicalJson(value));
    }),
  );
});

test("the order in which keys came does not matter", () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      expect(canonicalJson(reverseKeys(value))).toBe(canonicalJson(value));
    }),
  );
});

test("two texts are equal if and only if the values are", () => {
  fc.assert(
    fc.property(anySmallJson, anySmallJson, (a, b) => {
      expect(canonicalJson(a) === canonicalJson(b)).toBe(sameJson(a, b));
    }),
    { numRuns: 2000 },
  );
});

test("an object without a prototype is plain, and __proto__ is a key like any other", () => {
  const bare: unknown = Object.setPrototypeOf(JSON.parse('{"a":[],"__proto__":{"b":1}}'), null);
  expect(canonicalJson(bare)).toBe('{"__proto__":{"b":1},"a":[]}');
});

describe("what is not JSON is a defect", () => {
  class Point {
    readonly x = 1;
  }
  const notPlain = "canonical JSON: an object that is not plain is not JSON";
  const loneSurrogate = "canonical JSON: a string with a lone surrogate is not JSON";
  test.each<[string, unknown, string]>([
    ["undefined", undefined, "canonical JSON: undefined is not JSON"],
    ["a function", () => 1, "canonical JSON: function is not JSON"],
    ["a symbol", Symbol("s"), "canonical JSON: symbol is not JSON"],
    ["a bigint", 1n, "canonical JSON: bigint is not JSON"],
    ["NaN", Number.NaN, "canonical JSON: NaN is not JSON"],
    ["Infinity", Number.POSITIVE_INFINITY, "canonical JSON: Infinity is not JSON"],
    ["-Infinity", Number.NEGATIVE_INFINITY, "canonical JSON: -Infinity is not JSON"],
    ["an undefined property", { a: 1, b: undefined }, "canonical JSON: undefined is not JSON"],
    ["an undefined item", [1, undefined], "canonical JSON: undefined is not JSON"],
    ["a hole in an array", new Array(1), "canonical JSON: undefined is not JSON"],
    ["a toJSON method", { toJSON: () => 1 }, "canonical JSON: function is not JSON"],
    ["a lone high surrogate", "a\ud800", loneSurrogate],
    ["a lone low surrogate", "\udc00a", loneSurrogate],
    ["surrogates in the wrong order", "\ude00\ud83d", loneSurrogate],
    ["a lone surrogate in a key", { "\ud800": 1 }, loneSurrogate],
    ["a regular expression", /a/, notPlain],
    ["a map", new Map(), notPlain],
    ["bytes", new Uint8Array(2), notPlain],
    ["a boxed string", Object("a"), notPlain],
    ["an instance of a class", new Point(), notPlain],
    ["an object that inherits", Object.create({ a: 1 }), notPlain],
  ])("%s", (_name, value, message) => {
    expect(() => canonicalJson(value)).toThrow(new Defect(message));
    expect(() => canonicalJson({ deep: [value] })).toThrow(new Defect(message));
  });

  test("128 levels are written, one more is refused, and so is a cycle", () => {
    const tooDeep = new Defect("canonical JSON: nested deeper than 128 levels, or a cycle");
    expect(canonicalJson(nested(128))).toBe(plainly(nested(128)));
    expect(() => canonicalJson(nested(129))).toThrow(tooDeep);
    const cycle: unknown[] = [];
    cycle.push({ cycle });
    expect(() => canonicalJson(cycle)).toThrow(tooDeep);
  });
});

function doubleOf(bits: string): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(`0x${bits}`));
  return view.getFloat64(0);
}

test("objects whose keys look alike when joined keep apart, however often they come", () => {
  for (let round = 0; round < 2; round += 1) {
    expect(canonicalJson({})).toBe("{}");
    expect(canonicalJson({ "": 1 })).toBe('{"":1}');
    expect(canonicalJson({ "a,b": 1 })).toBe('{"a,b":1}');
    expect(canonicalJson({ a: 1, b: 2 })).toBe('{"a":1,"b":2}');
    expect(canonicalJson({ b: 1, a: 2 })).toBe('{"a":2,"b":1}');
    expect(canonicalJson({ 'a","b': 1 })).toBe('{"a\\",\\"b":1}');
  }
});
