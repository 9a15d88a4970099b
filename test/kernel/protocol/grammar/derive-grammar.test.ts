import fc from "fast-check";
import { type TSchema, Type } from "typebox";
import { Compile } from "typebox/compile";
import { describe, expect, test } from "vitest";
import { deriveAnswerSchemas } from "../../../../src/kernel/protocol/grammar/derive-answer-schema.ts";
import { deriveConstraint } from "../../../../src/kernel/protocol/grammar/derive-constraint.ts";
import { deriveGrammar, GRAMMAR_ENTRIES } from "../../../../src/kernel/protocol/grammar/derive-grammar.ts";
import { unsupportedKeyword } from "../../../../src/kernel/protocol/grammar/grammar-subset.ts";
import { integerBetween, LARGEST } from "../../../../src/kernel/protocol/grammar/integer-range.ts";
import { grammarJson } from "../../../../src/kernel/protocol/grammar-json.ts";
import { verifies } from "../../../requirements.ts";
import { rawOutput } from "../raw-output.ts";
import { gbnfSampler } from "./gbnf-sampler.ts";

const closed = { additionalProperties: false } as const;

/** Every kind of parameter that a tool may have. */
const SCHEMAS: readonly (readonly [string, TSchema])[] = [
  ["nothing", Type.Object({}, closed)],
  ["a text", Type.Object({ text: Type.String() }, closed)],
  [
    "lengths",
    Type.Object({ a: Type.String({ minLength: 3, maxLength: 5 }), b: Type.String({ maxLength: 2 }) }, closed),
  ],
  ["a long text", Type.Object({ text: Type.String({ minLength: 1, maxLength: 5_000 }) }, closed)],
  ["whole numbers", Type.Object({ n: Type.Integer(), m: Type.Integer({ minimum: -12, maximum: 307 }) }, closed)],
  ["numbers", Type.Object({ n: Type.Number(), m: Type.Number({ minimum: 2, maximum: 7 }) }, closed)],
  ["exclusive bounds", Type.Object({ n: Type.Integer({ exclusiveMinimum: 5, exclusiveMaximum: 8 }) }, closed)],
  ["fixed values", Type.Object({ e: Type.Enum(["a", 'b"\\', "é"]), c: Type.Literal(7), n: Type.Null() }, closed)],
  ["lists", Type.Object({ l: Type.Array(Type.Boolean(), { minItems: 2, maxItems: 3 }) }, closed)],
  ["empty lists", Type.Object({ l: Type.Array(Type.String(), { maxItems: 0 }), m: Type.Array(Type.Null()) }, closed)],
  ["unions", Type.Object({ u: Type.Union([Type.String({ minLength: 1 }), Type.Integer(), Type.Null()]) }, closed)],
  [
    "optional properties around required ones",
    Type.Object(
      {
        a: Type.Optional(Type.Boolean({ default: true })),
        b: Type.Integer(),
        c: Type.Optional(Type.Boolean({ default: true })),
        d: Type.Optional(Type.Object({ x: Type.Optional(Type.String({ default: "" })) }, { ...closed, default: {} })),
      },
      closed,
    ),
  ],
  [
    "objects in lists",
    Type.Object({ l: Type.Array(Type.Object({ k: Type.String() }, closed), { minItems: 1 }) }, closed),
  ],
];

const plain = (schema: TSchema): object => JSON.parse(JSON.stringify(schema));
const TOOLS = SCHEMAS.map(([, schema], index) => ({ name: `probe.t${index}`, parameters: plain(schema) }));
const CHECKS = new Map<string, ReturnType<typeof Compile>>(
  SCHEMAS.map(([, schema], index) => [`probe.t${index}`, Compile(schema)] as const),
);
const SAMPLES = 300;

const numbersFrom = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
};

describe("the grammar of an answer", () => {
  verifies(
    "M-P5.2/derived",
    "every sentence of its calls is read in strict mode, and each call fits its tool's schema",
    () => {
      const sample = gbnfSampler(deriveGrammar(TOOLS), numbersFrom(7));
      const seen = new Map<string, number>();
      for (let count = 0; count < SAMPLES * TOOLS.length; count += 1) {
        const { canonicalMessage, failureCode } = grammarJson.adapt(rawOutput({ content: sample("calls") }), "strict");
        expect(failureCode).toBeNull();
        expect(canonicalMessage?.content).toBe("");
        expect(canonicalMessage?.toolCalls.length).toBeGreaterThan(0);
        for (const { name, arguments: args } of canonicalMessage?.toolCalls ?? []) {
          seen.set(name, (seen.get(name) ?? 0) + 1);
          expect(CHECKS.get(name)?.Errors(args) ?? ["unknown"]).toEqual([]);
        }
      }
      for (const { name } of TOOLS) expect(seen.get(name)).toBeGreaterThan(100);
    },
  );

  verifies("M-P5.2/derived", "every sentence of its text is a text, and calls or text is one of the two", () => {
    const sample = gbnfSampler(deriveGrammar(TOOLS), numbersFrom(11));
    let texts = 0;
    for (let count = 0; count < SAMPLES; count += 1) {
      const { canonicalMessage: text } = grammarJson.adapt(rawOutput({ content: sample("text") }), "strict");
      expect(text?.toolCalls).toEqual([]);
      expect(text?.content.trim()).not.toBe("");
      const { canonicalMessage: either } = grammarJson.adapt(rawOutput({ content: sample("calls-or-text") }), "strict");
      expect((either?.toolCalls.length ?? 0) > 0).toBe(either?.content === "");
      if (either?.content !== "") texts += 1;
    }
    expect(texts).toBeGreaterThan(SAMPLES / 4);
  });

  verifies("M-P5.2/derived", "without tools it has no calls", () => {
    const grammar = deriveGrammar([]);
    expect(grammar).not.toContain("call ::=");
    expect(JSON.parse(gbnfSampler(grammar, numbersFrom(3))("calls-or-text"))).toEqual({ text: expect.any(String) });
  });

  verifies("M-P5.2/derived", "it is a function of names and schemas", () => {
    for (const form of ["gbnf", "json-schema"] as const) {
      expect(deriveConstraint(form, structuredClone(TOOLS))).toBe(deriveConstraint(form, TOOLS));
      expect(deriveConstraint(form, TOOLS.slice(1))).not.toBe(deriveConstraint(form, TOOLS));
    }
  });
});

test("whole numbers between two bounds, and no other", () => {
  const bound = fc.oneof(fc.integer({ min: -1_200, max: 1_200 }), fc.integer({ min: -LARGEST, max: LARGEST }));
  fc.assert(
    fc.property(bound, bound, fc.nat(), (a, b, seed) => {
      const [least, most] = a < b ? [a, b] : [b, a];
      const sample = gbnfSampler(`n ::= ${integerBetween(least, most)}\n`, numbersFrom(seed));
      for (let count = 0; count < 20; count += 1) {
        const text = sample("n");
        expect(String(Number(text))).toBe(text);
        expect(Number(text)).toBeGreaterThanOrEqual(least);
        expect(Number(text)).toBeLessThanOrEqual(most);
      }
    }),
  );
  const all = new Set<string>();
  const sample = gbnfSampler(`n ::= ${integerBetween(-11, 112)}\n`, numbersFrom(5));
  for (let count = 0; count < 20_000; count += 1) all.add(sample("n"));
  expect(all.size).toBe(124);
});

verifies("M-P5.2/derived", "the schemas for servers accept what the grammar's adapter reads, by entry", () => {
  const schemas = deriveAnswerSchemas(TOOLS);
  const whole = { calls: [{ tool: "probe.t1", args: { text: "x" } }] };
  const rows = [
    ["calls", whole, true],
    ["calls", { calls: [] }, false],
    ["calls", { text: "x" }, false],
    ["calls", { calls: [{ tool: "probe.t1", args: {} }] }, false],
    ["calls", { calls: [{ tool: "probe.t99", args: {} }] }, false],
    ["calls-or-text", { calls: [], text: "x" }, true],
    ["calls-or-text", { ...whole, text: "" }, true],
    ["text", { text: "x" }, true],
    ["text", { ...whole, text: "x" }, false],
  ] as const;
  const found = rows.map(([entry, value]) => [entry, value, Compile(schemas[entry] as TSchema).Check(value)]);
  expect(found).toEqual(rows.map((row) => [...row]));
  for (const entry of GRAMMAR_ENTRIES) expect(schemas[entry]).toMatchObject({ type: "object" });
  expect(Object.keys(deriveAnswerSchemas([]))).toEqual(["text"]);
});

describe("a schema that no grammar can enforce", () => {
  verifies("M-P5.2/derived", "is none of ours", () => {
    for (const [name, schema] of SCHEMAS) expect([name, unsupportedKeyword(plain(schema), "p")]).toEqual([name, null]);
  });

  const inside = (property: object): object => ({
    ...{ type: "object", properties: { x: property }, required: ["x"], additionalProperties: false },
  });

  test.each([
    [{ type: "string", pattern: "^a" }, "p/properties/x/pattern"],
    [{ type: "string", format: "date" }, "p/properties/x/format"],
    [{ type: ["string", "null"] }, "p/properties/x/type"],
    [{ type: "date" }, "p/properties/x/type"],
    [{ type: "integer", multipleOf: 2 }, "p/properties/x/multipleOf"],
    [{ type: "number", minimum: 0.5 }, "p/properties/x/minimum"],
    [{ type: "number", maximum: 2 }, "p/properties/x/maximum"],
    [{ type: "number", minimum: 0, maximum: 2.5 }, "p/properties/x/maximum"],
    [{ type: "array", items: { type: "string", pattern: "a" } }, "p/properties/x/items/pattern"],
    [{ type: "array", items: { type: "string" }, uniqueItems: true }, "p/properties/x/uniqueItems"],
    [{ type: "array" }, "p/properties/x/items"],
    [{ type: "object", properties: {} }, "p/properties/x/additionalProperties"],
    [{ type: "object", patternProperties: {}, additionalProperties: false }, "p/properties/x/patternProperties"],
    [{ anyOf: [{ type: "null" }, { $ref: "#/a" }] }, "p/properties/x/anyOf/1/$ref"],
    [{ anyOf: [] }, "p/properties/x/anyOf"],
    [{ allOf: [{ type: "null" }] }, "p/properties/x/allOf"],
    [{ enum: [{}] }, "p/properties/x/enum"],
    [{ enum: [] }, "p/properties/x/enum"],
    [{ const: [1] }, "p/properties/x/const"],
    [{}, "p/properties/x"],
    [{ type: "boolean", not: {} }, "p/properties/x/not"],
  ])("%j is named by its path", (property, path) => {
    expect(unsupportedKeyword(inside(property), "p")).toBe(path);
  });
});
