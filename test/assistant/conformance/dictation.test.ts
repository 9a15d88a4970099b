import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CORPUS } from "../../../src/assistant/conformance/corpus.ts";
import { readDictation, writeDictation } from "../../../src/assistant/conformance/dictation.ts";
import { escapeMarkers } from "../../../src/kernel/protocol/escape-markers.ts";
import type { JsonValue } from "../../../src/kernel/vocabulary/parse-json.ts";

const fields = fc.dictionary(
  fc.stringMatching(/^[a-z]{1,8}$/),
  fc.string({ unit: "grapheme" }) as fc.Arbitrary<JsonValue>,
);
const call = fc.record({ tool: fc.stringMatching(/^[a-z]{1,8}\.[a-z]{1,8}$/), args: fields });
const line = fc.string({ minLength: 1 }).filter((text) => !/[\r\n]/.test(text) && !text.startsWith("- "));

describe("a dictation", () => {
  test("is read back as it was written", () => {
    fc.assert(
      fc.property(fc.array(call), line, fc.option(fields), fc.option(line), (calls, answer, notes, thought) => {
        expect(readDictation(writeDictation("case", { thought, calls, answer, notes }))).toEqual({
          calls,
          answer,
          notes,
        });
      }),
    );
  });

  test("other messages are none", () => {
    for (const message of ["", "hello", "Conformance check", "Conformance check: what is that?", "- a.b {}"]) {
      expect(readDictation(message)).toBeNull();
    }
  });
});

describe("the corpus", () => {
  test("names every case once", () => {
    expect(new Set(CORPUS.map(({ id }) => id)).size).toBe(CORPUS.length);
  });

  test("says nothing that reaches a model otherwise than it was written", () => {
    for (const { message } of CORPUS) expect(escapeMarkers(message)).toBe(message);
  });
});
