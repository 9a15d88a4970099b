import fc from "fast-check";
import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { DecidedSchemas, NOTHING_SPENT, ResultSchemas } from "../../../src/kernel/journal/entry.ts";
import { EventSchemas } from "../../../src/kernel/journal/event.ts";
import { CALM } from "../../../src/kernel/machine/recovery.ts";
import { Defect } from "../../../src/kernel/vocabulary/defect.ts";
import { HASH_PATTERN } from "../../../src/kernel/vocabulary/hash.ts";
import { CALL_ID_PATTERN, closed } from "../../../src/kernel/vocabulary/schema-primitives.ts";
import { canonicalWire } from "../../../src/kernel/vocabulary/wire-case.ts";
import { wireWriter } from "../../../src/kernel/vocabulary/wire-writer.ts";
import { anyOf, anyText } from "../journal/any-record.ts";
import { anyCharacter, anyJson, reverseKeys } from "./any-json.ts";

/** A schema, and any value of it. */
interface Shape {
  readonly schema: object;
  readonly value: fc.Arbitrary<unknown>;
}

const anyString = fc.oneof(anyText, fc.string({ unit: anyCharacter, maxLength: 100 }));
const anyNumber = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(-0, 1e21, 1e-7, 5e-324, Number.MAX_VALUE, Number.MAX_SAFE_INTEGER),
);
/** Words that need escapes, and words that do not. */
const WORDS = ["allow", "a.b", "", "ë", 'a"b', "\\", "\n", "\u{1f512}", "\u2028", "\u007f"];
const anyWord = fc.constantFrom(...WORDS);
const anyWords = fc.uniqueArray(anyWord, { minLength: 1, maxLength: 3 });

const ofText: readonly Shape[] = [
  { schema: Type.String(), value: anyString },
  { schema: Type.String({ minLength: 1 }), value: anyString.filter((text) => text !== "") },
  { schema: Type.String({ pattern: "^[^]*$" }), value: anyString },
  { schema: Type.String({ pattern: HASH_PATTERN }), value: fc.stringMatching(new RegExp(HASH_PATTERN)) },
  { schema: Type.String({ pattern: CALL_ID_PATTERN }), value: fc.stringMatching(new RegExp(CALL_ID_PATTERN)) },
];
const ofScalars: readonly Shape[] = [
  { schema: Type.Integer({ minimum: 0 }), value: fc.maxSafeNat() },
  { schema: Type.Integer(), value: fc.maxSafeInteger() },
  { schema: Type.Number(), value: anyNumber },
  { schema: Type.Boolean(), value: fc.boolean() },
  { schema: Type.Null(), value: fc.constant(null) },
  { schema: { type: ["string", "null"] }, value: fc.option(anyString) },
  { schema: { enum: ["a", 1, null, true] }, value: fc.constantFrom("a", 1, null, true) },
  { schema: Type.Literal(1.5), value: fc.constant(1.5) },
  { schema: Type.Literal(false), value: fc.constant(false) },
  { schema: { const: null }, value: fc.constant(null) },
];
const ofWords = anyWords.map((words): Shape => ({ schema: Type.Enum(words), value: fc.constantFrom(...words) }));
const ofOneWord = anyWord.map(literal);

const ANYTHING: Shape = { schema: Type.Unknown(), value: anyJson };

/** Some begin alike, and go on with a capital, a small letter or a digit. */
const OURS = ["a", "aB", "aBc", "a1", "ab", "abC", "stepId", "steps", "type", "typeOf", "constructor", "z"];
/** Below them stands what is not ours. */
const THEIRS = ["args", "output", "rawPayload", "risk"];

const { shape: anyShape } = fc.letrec<{ shape: Shape; object: Shape }>((tie) => ({
  shape: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    fc.oneof(fc.constantFrom(...ofText, ...ofScalars), ofWords, ofOneWord),
    { weight: 3, arbitrary: tie("object") },
    { weight: 2, arbitrary: tie("shape").map(listOf) },
    fc.tuple(tie("shape"), tie("shape")).map(pairOf),
    { weight: 2, arbitrary: fc.tuple(tie("shape"), fc.boolean()).map(orNull) },
    fc.array(tie("shape"), { minLength: 1, maxLength: 3 }).map(unionOf),
    {
      weight: 2,
      arbitrary: fc
        .tuple(
          fc.array(fc.tuple(anyWord, tie("object")), { minLength: 1, maxLength: 3 }),
          fc.option(tie("shape"), { freq: 2 }),
        )
        .map(unionByType),
    },
  ),
  object: fc
    .record({
      ours: fc.dictionary(fc.constantFrom(...OURS), tie("shape"), { maxKeys: 4, noNullPrototype: true }),
      theirs: fc.dictionary(fc.constantFrom(...THEIRS), fc.oneof(fc.constant(ANYTHING), tie("shape"), ofWords), {
        maxKeys: 2,
        noNullPrototype: true,
      }),
      optional: fc.option(fc.constantFrom(...OURS, ...THEIRS), { freq: 2 }),
    })
    .map(({ ours, theirs, optional }) => objectOf({ ...ours, ...theirs }, optional)),
}));

function literal(word: string): Shape {
  return { schema: Type.Literal(word), value: fc.constant(word) };
}

function listOf({ schema, value }: Shape): Shape {
  return { schema: Type.Array(schema), value: fc.array(value, { maxLength: 3 }) };
}

function pairOf([one, other]: readonly [Shape, Shape]): Shape {
  return { schema: Type.Tuple([one.schema, other.schema]), value: fc.tuple(one.value, other.value) };
}

function orNull([{ schema, value }, isFirst]: readonly [Shape, boolean]): Shape {
  const schemas = isFirst ? [Type.Null(), schema] : [schema, Type.Null()];
  return { schema: Type.Union(schemas), value: fc.option(value, { freq: 2 }) };
}

function unionOf(shapes: readonly Shape[]): Shape {
  return {
    schema: Type.Union(shapes.map(({ schema }) => schema)),
    value: fc.oneof(...shapes.map(({ value }) => value)),
  };
}

/** Objects that say by their `type` which they are, unless two say the same, or something else is beside them. */
function unionByType([named, beside]: readonly [readonly (readonly [string, Shape])[], Shape | null]): Shape {
  const shapes = named.map(([word, { schema, value }]) => {
    const { properties, required = [] } = schema as { properties: object; required?: readonly string[] };
    const others = required.filter((key) => key !== "type");
    return {
      schema: { ...schema, properties: { ...properties, type: Type.Literal(word) }, required: [...others, "type"] },
      value: value.map((inner) => ({ ...(inner as object), type: word })),
    };
  });
  return unionOf(beside === null ? shapes : [...shapes, beside]);
}

function objectOf(shapes: Readonly<Record<string, Shape>>, optional: string | null): Shape {
  const keys = Object.keys(shapes);
  const required = keys.filter((key) => key !== optional);
  const parts = <Part extends keyof Shape>(part: Part) =>
    Object.fromEntries(keys.map((key) => [key, (shapes[key] as Shape)[part]])) as Record<string, Shape[Part]>;
  return {
    schema: { type: "object", properties: parts("schema"), required, ...closed },
    value: fc.record(parts("value"), { requiredKeys: required }),
  };
}

const anySchemaWithValues = anyShape.chain(({ schema, value }) =>
  fc.tuple(fc.constant(schema), fc.array(value, { minLength: 1, maxLength: 3 })),
);

describe("a writer made of a schema", () => {
  test("writes what canonicalWire writes, whatever the schema, and in whatever order the keys stand", () => {
    let made = 0;
    fc.assert(
      fc.property(anySchemaWithValues, ([schema, values]) => {
        const write = wireWriter(schema);
        if (write !== canonicalWire) made += 1;
        for (const value of values) {
          expect(write(value)).toBe(canonicalWire(value));
          expect(write(reverseKeys(value))).toBe(canonicalWire(value));
        }
      }),
      { numRuns: 1000 },
    );
    // What is left to canonicalWire agrees with itself.
    expect(made).toBeGreaterThan(500);
  });

  test.each([
    ["an event", EventSchemas],
    ["what is decided", DecidedSchemas],
    ["a result", ResultSchemas],
  ])("writes %s of any kind as canonicalWire does", (_, schemas: Readonly<Record<string, object>>) => {
    for (const [name, schema] of Object.entries(schemas)) {
      const write = wireWriter(schema);
      fc.assert(
        fc.property(anyOf<unknown>(schema), (value) => {
          expect(write(value), name).toBe(canonicalWire(value));
          expect(write(reverseKeys(value)), name).toBe(canonicalWire(value));
        }),
        { numRuns: 60 },
      );
    }
  });

  test("is made for an object with optional keys too, and writes those that are there", () => {
    const optional = Type.Object({ z: Type.String(), aB: Type.Optional(Type.Literal(true)) }, closed);
    const write = wireWriter(optional);
    expect(write).not.toBe(canonicalWire);
    expect([write({ z: "x" }), write({ z: "x", aB: true })]).toEqual(['{"z":"x"}', '{"a_b":true,"z":"x"}']);
    const all = wireWriter(Type.Object({ aB: Type.Optional(Type.String()) }, closed));
    expect([all({}), all({ aB: "x" })]).toEqual(["{}", '{"a_b":"x"}']);
    expect(() => write({ z: "x", aB: undefined })).toThrow(Defect);
  });

  test("keeps other keys where the schema allows them", () => {
    const open = { type: "object", properties: { aB: Type.String() }, required: ["aB"] };
    const value = { aB: "x", moreOf: [1], args: { aB: 1 } };
    for (const schema of [open, { ...open, additionalProperties: true }, { ...open, additionalProperties: {} }]) {
      expect(wireWriter(schema)(value)).toBe(canonicalWire(value));
      expect(wireWriter(Type.Array(schema))([value])).toBe(canonicalWire([value]));
    }
  });

  test("leaves keys below an opaque key as they are, though a schema names them", () => {
    const inner = Type.Object({ stepId: Type.String(), aB: Type.Integer() }, closed);
    const schema = Type.Object({ stepId: inner, args: inner, rawPayload: inner }, closed);
    const value = { stepId: "s", aB: 1 };
    expect(wireWriter(schema)({ stepId: value, args: value, rawPayload: value })).toBe(
      '{"args":{"aB":1,"stepId":"s"},"raw_payload":{"aB":1,"stepId":"s"},"step_id":{"a_b":1,"step_id":"s"}}',
    );
  });
});

describe("what is not JSON is a defect", () => {
  const LONE = ["\ud83d", "a\ude00", "\ude00\ud83d", `${"x".repeat(200)}\ud800`];
  const texts = [Type.String(), Type.String({ minLength: 1 }), Type.String({ pattern: "^[^]*$" })];
  const numbers = [Type.Integer(), Type.Number({ minimum: 0 })];
  const wrappings: readonly [string, (schema: object) => object, (value: unknown) => unknown][] = [
    ["alone", (schema) => schema, (value) => value],
    ["in a list", Type.Array, (value) => [value]],
    ["or null", (schema) => Type.Union([schema, Type.Null()]), (value) => value],
    ["in an object", (schema) => Type.Object({ aB: schema }, closed), (value) => ({ aB: value })],
    ["if it is there", (schema) => Type.Object({ aB: Type.Optional(schema) }, closed), (value) => ({ aB: value })],
    ["below an opaque key", (schema) => Type.Object({ args: schema }, closed), (value) => ({ args: { b: [value] } })],
    [
      "in one of several objects",
      (schema) => Type.Union(["x", "y"].map((type) => Type.Object({ type: Type.Literal(type), deep: schema }, closed))),
      (value) => ({ type: "y", deep: value }),
    ],
  ];

  test.each(wrappings)("%s", (_, schemaOf, wrap) => {
    for (const schema of texts) for (const lone of LONE) refuses(schemaOf(schema), wrap(lone));
    for (const schema of numbers) {
      for (const odd of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
        refuses(schemaOf(schema), wrap(odd));
      }
    }
  });

  test("in an entry too", () => {
    const commit = wireWriter(DecidedSchemas.COMMIT);
    const heard = { type: "tool.malformed", ts: "t", elapsedMs: 1, step: 1, callId: "c", problem: "p" };
    const decided = {
      budget: NOTHING_SPENT,
      recovery: CALM,
      cycle: 0,
      promptTokens: 0,
      skipped: [{ callId: "c", policyId: null }],
      next: "INFER",
      heard: [heard],
    };
    expect(commit(decided)).toBe(canonicalWire(decided));
    expect(() => commit({ ...decided, heard: [{ ...heard, problem: "\ud800" }] })).toThrow(Defect);
    expect(() => commit({ ...decided, heard: [{ ...heard, elapsedMs: Number.NaN }] })).toThrow(Defect);
    expect(() => commit({ ...decided, cycle: Number.NaN })).toThrow(Defect);
    expect(() => commit({ ...decided, skipped: [{ callId: "c", policyId: "\udfff" }] })).toThrow(Defect);
    expect(() => commit({ ...decided, skipped: [{ callId: undefined, policyId: null }] })).toThrow(Defect);
    expect(() => commit({ ...decided, next: null })).toThrow(Defect);
  });

  function refuses(schema: object, value: unknown): void {
    expect(() => canonicalWire(value)).toThrow(Defect);
    expect(() => wireWriter(schema)(value)).toThrow(Defect);
  }
});
