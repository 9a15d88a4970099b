import fc from "fast-check";
import { Type } from "typebox";
import { Compile } from "typebox/compile";
import { describe, expect, expectTypeOf, test } from "vitest";
import { canonicalJson } from "../../../src/kernel/vocabulary/canonical-json.ts";
import { Defect } from "../../../src/kernel/vocabulary/defect.ts";
import type { Hash } from "../../../src/kernel/vocabulary/identifiers.ts";
import { type ToolInvocation, ToolInvocationSchema } from "../../../src/kernel/vocabulary/message.ts";
import { ToolResponseSchema } from "../../../src/kernel/vocabulary/tool-envelope.ts";
import {
  canonicalWire,
  fromWire,
  type Inside,
  toWire,
  toWireSchema,
  type Wire,
} from "../../../src/kernel/vocabulary/wire-case.ts";
import { anyJson } from "./any-json.ts";

const OPAQUE = ["args", "arguments", "channels", "details", "input", "output", "outputSchema", "rawPayload", "risk"];

const camelKey = fc.stringMatching(/^[a-z][a-zA-Z0-9]{0,8}$/).filter((key) => !OPAQUE.includes(key));
const leaf = fc.constantFrom<unknown>(null, true, 1.5, "snake_text", "camelText");
/** Values as we have them inside: camelCase keys, and anything at all below opaque ones. */
const anyInside: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, leaf, fc.array(tie("value"), { maxLength: 3 }), tie("object")),
  object: fc
    .tuple(
      fc.dictionary(camelKey, tie("value"), { maxKeys: 4 }),
      fc.dictionary(fc.constantFrom(...OPAQUE), anyJson, { maxKeys: 1 }),
    )
    .map(([ours, theirs]) => ({ ...ours, ...theirs })),
})).value;

test("canonicalWire writes what canonicalJson writes of the wire form", () => {
  fc.assert(
    fc.property(anyInside, (value) => {
      expect(canonicalWire(value)).toBe(canonicalJson(toWire(value)));
    }),
  );
  // Renaming moves keys: stepId comes before steps inside, but after it on the wire.
  expect(canonicalWire({ stepId: 1, steps: 2, args: { stepId: 3 } })).toBe(
    '{"args":{"stepId":3},"step_id":1,"steps":2}',
  );
  expect(() => canonicalWire({ step_id: 1 })).toThrow(Defect);
});

describe("toWire and fromWire", () => {
  test.each([
    ["a", "a"],
    ["runId", "run_id"],
    ["maxSpendMicrousd", "max_spend_microusd"],
    ["stepTimeoutMs", "step_timeout_ms"],
    ["costPer1kInput", "cost_per1k_input"],
    ["agentID", "agent_i_d"],
    ["sha256", "sha256"],
    ["constructor", "constructor"],
  ])("%s is %s on the wire", (inside, wire) => {
    expect(toWire({ [inside]: 1 })).toEqual({ [wire]: 1 });
    expect(fromWire({ [wire]: 1 })).toEqual({ [inside]: 1 });
  });

  test("keys are renamed at every depth, in arrays too, and values never", () => {
    const inside = { runId: "runId", toolCalls: [{ callId: "run_id" }, [{ planHash: null }], "camelCase"], ok: true };
    const wire = { run_id: "runId", tool_calls: [{ call_id: "run_id" }, [{ plan_hash: null }], "camelCase"], ok: true };
    expect(toWire(inside)).toEqual(wire);
    expect(fromWire(wire)).toEqual(inside);
    expect(toWire([inside, 1])).toEqual([wire, 1]);
    for (const value of [null, "runId", 1, false]) expect(toWire(value)).toBe(value);
  });

  test.each(OPAQUE)("what stands below %s is somebody else's and stays as it is", (key) => {
    const theirs = { some_key: { otherKey: 1 }, "fs.read_text": [{ __proto: 1 }] };
    const wire = toWire({ outer: { [key]: theirs, runId: 1 } });
    const wireKey = key.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
    expect(wire).toEqual({ outer: { [wireKey]: theirs, run_id: 1 } });
    expect((wire.outer as Record<string, unknown>)[wireKey]).toBe(theirs);
    const back = fromWire(wire) as unknown as { readonly outer: Record<string, unknown> };
    expect(back).toEqual({ outer: { [key]: theirs, runId: 1 } });
    expect(back.outer[key]).toBe(theirs);
    expect(toWire({ [key]: "text" })).toEqual({ [wireKey]: "text" });
  });

  test("only the opaque key itself is opaque, not the keys beside it", () => {
    expect(toWire({ argsRef: { bodyRef: 1 }, outputBytes: { bodyRef: 1 } })).toEqual({
      args_ref: { body_ref: 1 },
      output_bytes: { body_ref: 1 },
    });
  });

  test("there and back again is where we were", () => {
    fc.assert(
      fc.property(anyInside, (value) => {
        const wire: unknown = toWire(value);
        expect(fromWire(wire)).toEqual(value);
        expect(toWire(fromWire(wire))).toEqual(wire);
      }),
    );
  });

  test("what is given is not changed, and objects without a prototype are plain too", () => {
    const inside: unknown = Object.freeze(Object.assign(Object.create(null), { runId: Object.freeze(["a"]) }));
    expect(toWire(inside)).toEqual({ run_id: ["a"] });
    expect(Object.keys(inside as object)).toEqual(["runId"]);
  });

  test("a thousand keys later it renames as at first", () => {
    const keys = Array.from({ length: 1500 }, (_, index) => `key${index}Ms`);
    const inside = Object.fromEntries(keys.map((key) => [key, 1]));
    for (let round = 0; round < 2; round += 1) {
      expect(Object.keys(toWire(inside))).toEqual(keys.map((key) => key.replace("Ms", "_ms")));
      expect(fromWire(toWire(inside) as unknown)).toEqual(inside);
    }
  });

  test.each(["run_id", "RunId", "_run", "1a", "", "fs.read", "run-id", "__proto__", "é", "a\n"])(
    "inside, the key %j is a defect",
    (key) => {
      const defect = new Defect(`spelling: not a camelCase key: ${key}`);
      expect(() => toWire(Object.fromEntries([[key, 1]]))).toThrow(defect);
      expect(() => toWire({ deep: [Object.fromEntries([[key, 1]])] })).toThrow(defect);
    },
  );

  test.each(["runId", "_run", "run_", "run__id", "run_1", "1a", "", "Run", "fs.read", "__proto__", "a\n"])(
    "on the wire, the key %j is a defect",
    (key) => {
      const defect = new Defect(`spelling: not a snake_case key: ${key}`);
      expect(() => fromWire(Object.fromEntries([[key, 1]]))).toThrow(defect);
      expect(() => fromWire({ deep: [Object.fromEntries([[key, 1]])] })).toThrow(defect);
    },
  );

  test("an object that is not plain is a defect", () => {
    const defect = new Defect("spelling: an object that is not plain");
    for (const odd of [new Map(), new Uint8Array(1), /a/]) {
      expect(() => toWire(odd)).toThrow(defect);
      expect(() => fromWire({ deep: odd })).toThrow(defect);
    }
  });
});

describe("the types say what the functions do", () => {
  interface Entry {
    readonly runId: Hash;
    readonly stepState?: "INFER" | "COMMIT";
    readonly cycleForbid: readonly (readonly [string, string])[];
    readonly toolCalls: { readonly callId: string; readonly args: { readonly someKey: 1 } }[];
    readonly result: { readonly okCount: number } | null;
    readonly rawPayload: { readonly any_key: unknown } | null;
    readonly costPer1k: unknown;
  }
  interface WireEntry {
    readonly run_id: Hash;
    readonly step_state?: "INFER" | "COMMIT";
    readonly cycle_forbid: readonly (readonly [string, string])[];
    readonly tool_calls: { readonly call_id: string; readonly args: { readonly someKey: 1 } }[];
    readonly result: { readonly ok_count: number } | null;
    readonly raw_payload: { readonly any_key: unknown } | null;
    readonly cost_per1k: unknown;
  }
  test("keys are renamed; brands, unions, tuples, modifiers and opaque parts survive", () => {
    expectTypeOf<Wire<Entry>>().toEqualTypeOf<WireEntry>();
    expectTypeOf<Inside<WireEntry>>().toEqualTypeOf<Entry>();
    expectTypeOf<Inside<Wire<ToolInvocation>>>().toEqualTypeOf<ToolInvocation>();
    expectTypeOf<Wire<Hash | null>>().toEqualTypeOf<Hash | null>();
    expectTypeOf<Wire<unknown>>().toEqualTypeOf<unknown>();
    expectTypeOf<Wire<Record<string, { readonly aB: 1 }>>>().toEqualTypeOf<Record<string, { readonly a_b: 1 }>>();
    expect(toWire({ callId: "a" }).call_id).toBe("a");
    expect(fromWire({ call_id: "a" }).callId).toBe("a");
  });
});

describe("toWireSchema", () => {
  const closed = { additionalProperties: false } as const;
  const schema = Type.Object(
    {
      runId: Type.String({ minLength: 1, description: "the runId" }),
      stepId: Type.Optional(Type.Integer()),
      calls: Type.Array(Type.Object({ callId: Type.String() }, closed)),
      lastResult: Type.Union([Type.Object({ okCount: Type.Integer() }, closed), Type.Null()]),
      cycleForbid: Type.Tuple([Type.String(), Type.Object({ toolName: Type.String() }, closed)]),
      byName: Type.Record(Type.String(), Type.Object({ perHour: Type.Integer() }, closed)),
      args: Type.Object({ someKey: Type.Integer() }, closed),
    },
    closed,
  );

  test("renames properties and required at every depth, and nothing else", () => {
    expect(JSON.parse(JSON.stringify(toWireSchema(schema)))).toEqual({
      type: "object",
      required: ["run_id", "calls", "last_result", "cycle_forbid", "by_name", "args"],
      properties: {
        run_id: { type: "string", minLength: 1, description: "the runId" },
        step_id: { type: "integer" },
        calls: {
          type: "array",
          items: {
            type: "object",
            required: ["call_id"],
            properties: { call_id: { type: "string" } },
            additionalProperties: false,
          },
        },
        last_result: {
          anyOf: [
            {
              type: "object",
              required: ["ok_count"],
              properties: { ok_count: { type: "integer" } },
              additionalProperties: false,
            },
            { type: "null" },
          ],
        },
        cycle_forbid: {
          type: "array",
          additionalItems: false,
          minItems: 2,
          items: [
            { type: "string" },
            {
              type: "object",
              required: ["tool_name"],
              properties: { tool_name: { type: "string" } },
              additionalProperties: false,
            },
          ],
        },
        by_name: {
          type: "object",
          patternProperties: {
            "^.*$": {
              type: "object",
              required: ["per_hour"],
              properties: { per_hour: { type: "integer" } },
              additionalProperties: false,
            },
          },
        },
        args: {
          type: "object",
          required: ["someKey"],
          properties: { someKey: { type: "integer" } },
          additionalProperties: false,
        },
      },
      additionalProperties: false,
    });
  });

  const inner = { properties: { aB: true }, required: ["aB"] };
  const wireInner = { properties: { a_b: true }, required: ["a_b"] };
  test.each([
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "then",
  ])("reaches into %s, be it one schema, a list of them or a boolean", (keyword) => {
    expect(toWireSchema({ [keyword]: inner })).toEqual({ [keyword]: wireInner });
    expect(toWireSchema({ [keyword]: [inner, false] })).toEqual({ [keyword]: [wireInner, false] });
    expect(toWireSchema({ [keyword]: false })).toEqual({ [keyword]: false });
  });

  test.each(["$defs", "definitions", "patternProperties"])("reaches into %s and keeps its names", (keyword) => {
    expect(toWireSchema({ [keyword]: { Some_nameOf: inner, other: true } })).toEqual({
      [keyword]: { Some_nameOf: wireInner, other: true },
    });
  });

  test.each(["const", "default"])("spells the value of %s as the wire does", (keyword) => {
    expect(toWireSchema({ [keyword]: { aB: "aB", args: { cD: 1 } } })).toEqual({
      [keyword]: { a_b: "aB", args: { cD: 1 } },
    });
    expect(toWireSchema({ [keyword]: "aB" })).toEqual({ [keyword]: "aB" });
  });

  test.each(["enum", "examples"])("spells the values of %s as the wire does", (keyword) => {
    expect(toWireSchema({ [keyword]: [{ aB: "aB" }, "aB", null] })).toEqual({ [keyword]: [{ a_b: "aB" }, "aB", null] });
  });

  test("a property named like a keyword is a property", () => {
    const odd = { properties: { required: inner, items: { type: "string" }, properties: inner } };
    expect(toWireSchema(odd)).toEqual({
      properties: { required: wireInner, items: { type: "string" }, properties: wireInner },
    });
  });

  test("a property the wire has no spelling for is a defect", () => {
    expect(() => toWireSchema({ properties: { a_b: true } })).toThrow(new Defect("spelling: not a camelCase key: a_b"));
    expect(() => toWireSchema({ required: ["a_b"] })).toThrow(new Defect("spelling: not a camelCase key: a_b"));
  });

  const sample = {
    runId: "r",
    calls: [{ callId: "c" }],
    lastResult: { okCount: 1 },
    cycleForbid: ["a", { toolName: "b" }],
    byName: { someName: { perHour: 1 } },
    args: { someKey: 1 },
  };
  test.each<[string, unknown, boolean]>([
    ["a whole value", sample, true],
    ["an optional property", { ...sample, stepId: 1 }, true],
    ["the other half of a union", { ...sample, lastResult: null }, true],
    ["an unknown key", { ...sample, runIds: 1 }, false],
    ["a wrong item", { ...sample, calls: [{ callId: 1 }] }, false],
    ["a wrong member of a union", { ...sample, lastResult: { okCount: "1" } }, false],
    ["a wrong member of a tuple", { ...sample, cycleForbid: ["a", { toolName: 1 }] }, false],
    ["a wrong member of a record", { ...sample, byName: { someName: { perHour: "1" } } }, false],
    ["wrong arguments", { ...sample, args: { some_key: 1 } }, false],
  ])("the wire schema judges the wire form as the schema judges the value: %s", (_name, value, valid) => {
    expect(Compile(schema).Check(value)).toBe(valid);
    expect(Compile(Type.Unsafe(toWireSchema(schema))).Check(toWire(value))).toBe(valid);
  });

  test("our own schemas in wire spelling are the seeds' shapes", () => {
    const invocation = toWireSchema(ToolInvocationSchema);
    expect(invocation["required"]).toEqual(["id", "name", "arguments", "source_model", "raw_payload"]);
    const response = toWireSchema(ToolResponseSchema) as { readonly anyOf: readonly { readonly required: unknown }[] };
    const shared = ["request_id", "run_id", "tool", "duration_ms", "finished_at", "ok"];
    expect(response.anyOf.map(({ required }) => required)).toEqual([
      [...shared, "output", "error"],
      [...shared, "error"],
    ]);
  });
});
