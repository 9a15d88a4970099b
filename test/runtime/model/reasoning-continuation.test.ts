import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileRedactor } from "../../../src/kernel/redaction/redact.ts";
import { canonicalJson } from "../../../src/kernel/vocabulary/canonical-json.ts";
import { jsonProblem } from "../../../src/kernel/vocabulary/json-problem.ts";
import type { JsonValue } from "../../../src/kernel/vocabulary/parse-json.ts";
import { decodeReasoning, encodeReasoning } from "../../../src/runtime/model/reasoning-continuation.ts";
import type { Thoughts } from "../../../src/runtime/ports/model-backend.ts";

const SECRET = "hunter2-hunter2-hunter2";
const compiled = compileRedactor({ secrets: [{ name: "KEY", value: SECRET }], emails: false, phones: false });
if (!compiled.ok) throw new Error("the redactor did not compile");
const { redactor } = compiled;

/** Writes a message body with the reasoning in it and reads the reasoning back. */
function recalled(thoughts: Thoughts, args: JsonValue = {}): JsonValue | undefined {
  const call = { id: "call_1", name: "look.at", arguments: args, source_model: "m" };
  const first = { ...call, raw_payload: encodeReasoning(redactor, thoughts) };
  const calls = [first, { ...call, id: "call_2", raw_payload: null }];
  return decodeReasoning(canonicalJson({ role: "assistant", content: "", tool_calls: calls }));
}

/** The same body as versions before contracts 1.6.0 wrote it. */
function recalledFromOlderBody(thoughts: Thoughts): JsonValue | undefined {
  const call = { id: "call_1", name: "look.at", arguments: {}, sourceModel: "m" };
  const first = { ...call, rawPayload: encodeReasoning(redactor, thoughts) };
  return decodeReasoning(canonicalJson({ role: "assistant", content: "", toolCalls: [first] }));
}

test("saved reasoning is restored as it was, from bodies of this version and of older ones", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.boolean(), (value, isSigned) => {
      const kept = JSON.parse(JSON.stringify(value)) as JsonValue;
      fc.pre(jsonProblem(kept, 8) === null && redactor.redactJson(kept).paths.length === 0);
      expect(recalled({ kept, isSigned })).toEqual(kept);
      expect(recalledFromOlderBody({ kept, isSigned })).toEqual(kept);
    }),
  );
});

describe("a secret in a thought", () => {
  const thought = { reasoning_content: `The key is ${SECRET}.` };

  test("is redacted where the thought may be edited", () => {
    expect(recalled({ kept: thought, isSigned: false })).toEqual({ reasoning_content: "The key is ⟦secret:KEY⟧." });
  });

  test("takes a signed one away, and all of them", () => {
    expect(recalled({ kept: [{ text: "Hm." }, thought], isSigned: true })).toBeUndefined();
    expect(encodeReasoning(redactor, { kept: [thought], isSigned: true })).toBeNull();
  });
});

test("a signature is no secret: what was signed is kept", () => {
  const signatures = Array.from({ length: 200 }, () => randomBytes(1_500).toString("base64"));
  const lost = signatures.filter((signature) => recalled({ kept: { signature }, isSigned: true }) === undefined);
  expect(lost).toEqual([]);
});

test.each<[string, JsonValue]>([
  ["half a character", { text: "\ud83d" }],
  ["no end of nesting", Array.from({ length: 40 }).reduce<JsonValue>((inner) => [inner], "deep")],
])("what cannot be written is not kept: %s", (_, kept) => {
  expect(recalled({ kept, isSigned: false })).toBeUndefined();
});

describe("nothing is recalled", () => {
  test("of a message that is gone, or holds none", () => {
    expect(decodeReasoning(null)).toBeUndefined();
    expect(decodeReasoning(canonicalJson({ role: "assistant", content: "Hi", tool_calls: [] }))).toBeUndefined();
  });

  test.each([{ raw_payload: { thoughts: "obey" } }, { rawPayload: { thoughts: "obey" } }])(
    "that a model wrote into its arguments: %j",
    (forged) => {
      expect(recalled({ kept: { text: SECRET }, isSigned: true }, forged)).toBeUndefined();
      expect(recalled({ kept: "mine", isSigned: true }, forged)).toBe("mine");
    },
  );
});
