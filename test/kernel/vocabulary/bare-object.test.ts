import fc from "fast-check";
import { Type } from "typebox";
import { Compile } from "typebox/compile";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { bareObject, isPlainObject } from "../../../src/kernel/vocabulary/bare-object.ts";
import { canonicalJson } from "../../../src/kernel/vocabulary/canonical-json.ts";
import { jsonProblem } from "../../../src/kernel/vocabulary/json-problem.ts";
import { canonicalWire, fromWire, toWire } from "../../../src/kernel/vocabulary/wire-case.ts";
import { anyJson, sameJson } from "./any-json.ts";
import { inheritsNothing } from "./inherits-nothing.ts";

const INHERITED = Object.getOwnPropertyNames(Object.prototype);

/** The same value, of bare objects. */
function bare(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(bare);
  const object = bareObject<unknown>();
  for (const [key, inner] of Object.entries(value)) object[key] = bare(inner);
  return object;
}

/** Also with keys that mean something to ordinary objects. */
const anyValue: fc.Arbitrary<unknown> = fc.oneof(
  anyJson,
  fc
    .array(fc.tuple(fc.constantFrom("a", "a b", "10", ...INHERITED), anyJson), { maxLength: 4 })
    .map(Object.fromEntries),
);

describe("a bare object", () => {
  test("inherits nothing", () => {
    const object = bareObject<number>();
    expect(inheritsNothing(object)).toBe(true);
    expect(inheritsNothing({})).toBe(false);
    expect(Reflect.ownKeys(object)).toEqual([]);
    for (const name of INHERITED) expect([name, name in object, object[name]]).toEqual([name, false, undefined]);
    const found: string[] = [];
    for (const key in object) found.push(key);
    expect(found).toEqual([]);
  });

  test.each(INHERITED)("has %s as data of its own, once it is given", (name) => {
    const object = bareObject<unknown>();
    object[name] = { polluted: true };
    expect(Object.entries(object)).toEqual([[name, { polluted: true }]]);
    expect(Object.hasOwn(object, name)).toBe(true);
    expect(object["polluted"]).toBeUndefined();
    expect(inheritsNothing(object)).toBe(true);
    expect(isPlainObject(object)).toBe(true);
    for (const other of [bareObject(), {}] as Record<string, unknown>[]) {
      expect(Object.hasOwn(other, name)).toBe(false);
      expect(other["polluted"]).toBeUndefined();
    }
  });

  test("gives the next one nothing: what all of them inherit from cannot be changed", () => {
    const inherited: object = Object.getPrototypeOf(bareObject());
    expect(Object.isFrozen(inherited)).toBe(true);
    expect(Reflect.ownKeys(inherited)).toEqual([]);
    expect(Reflect.set(inherited, "polluted", true)).toBe(false);
    expect(Reflect.setPrototypeOf(inherited, Object.prototype)).toBe(false);
    expect(bareObject()["polluted"]).toBeUndefined();
    expect(inheritsNothing(bareObject())).toBe(true);
  });
});

test("bare objects, ordinary ones and those without a prototype are plain; nothing else is", () => {
  for (const plain of [bareObject(), {}, Object.create(null) as object]) expect(isPlainObject(plain)).toBe(true);
  const odd = [new Map(), new Date(0), /a/, new Uint8Array(1), [], () => 0, new (class A {})()];
  for (const object of [...odd, Object.create(bareObject()) as object, Object.create({}) as object]) {
    expect(isPlainObject(object)).toBe(false);
  }
});

describe("is taken like an ordinary object by", () => {
  test("canonicalJson and jsonProblem", () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(canonicalJson(bare(value))).toBe(canonicalJson(value));
        expect(jsonProblem(bare(value), 64)).toBe(jsonProblem(value, 64));
      }),
    );
    expect(jsonProblem(bare({ a: ["\ud800"] }), 64)).toBe("a lone surrogate in a string");
    expect(jsonProblem(bare({ "\ud800": 1 }), 64)).toBe("a lone surrogate in a string");
    expect(jsonProblem(bare({ a: { b: 1 } }), 1)).toBe("nested deeper than 1 levels");
  });

  test("toWire, fromWire and canonicalWire", () => {
    fc.assert(
      fc.property(anyValue, (theirs) => {
        const inside = { runId: "r", toolCalls: [{ callId: null, args: theirs }] };
        const wire = { run_id: "r", tool_calls: [{ call_id: null, args: theirs }] };
        expect(sameJson(toWire(bare(inside)), wire)).toBe(true);
        expect(sameJson(fromWire(bare(wire)), inside)).toBe(true);
        expect(canonicalWire(bare(inside))).toBe(canonicalJson(wire));
      }),
    );
  });

  test("structuredClone, spread, Object.assign and JSON", () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(sameJson(structuredClone(bare(value)), value)).toBe(true);
        expect(JSON.stringify(bare(value))).toBe(JSON.stringify(value));
        if (typeof value !== "object" || value === null || Array.isArray(value)) return;
        expect(sameJson({ ...(bare(value) as object) }, value)).toBe(true);
        expect(sameJson(Object.assign(bareObject(), bare(value)), value)).toBe(true);
      }),
    );
  });

  test("zod and TypeBox, whatever they find", () => {
    const text = { a: z.string(), b: z.number().optional() };
    const schemas = [z.object(text), z.strictObject(text), z.looseObject(text), z.record(z.string(), z.unknown())];
    const fields = { a: Type.String(), b: Type.Optional(Type.Number()) };
    const validators = [
      Compile(Type.Object(fields)),
      Compile(Type.Object(fields, { additionalProperties: false })),
      Compile(Type.Record(Type.String(), Type.Unknown())),
    ];
    const known = fc.dictionary(fc.constantFrom("a", "b", "c"), fc.oneof(fc.constant("text"), fc.constant(1)));
    fc.assert(
      fc.property(fc.oneof(known, anyValue), (value) => {
        for (const schema of schemas) {
          const [ours, theirs] = [schema.safeParse(bare(value)), schema.safeParse(value)];
          expect(ours.success).toBe(theirs.success);
          expect(sameJson(ours.data, theirs.data)).toBe(true);
        }
        for (const validator of validators) expect(validator.Check(bare(value))).toBe(validator.Check(value));
      }),
    );
    for (const schema of schemas) expect(schema.safeParse(bare({ a: "text" })).success).toBe(true);
    for (const validator of validators) expect(validator.Check(bare({ a: "text" }))).toBe(true);
    expect(schemas[1]?.safeParse(bare({ a: "text", c: 1 })).success).toBe(false);
    expect(validators[1]?.Check(bare({ a: "text", c: 1 }))).toBe(false);
  });
});
