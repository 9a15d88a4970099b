import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeToolName, encodeToolName, isToolName } from "../../../src/kernel/protocol/tool-names.ts";
import { Defect } from "../../../src/kernel/vocabulary/defect.ts";

const segment = fc
  .array(fc.stringMatching(/^[a-z0-9]{1,4}$/), { minLength: 1, maxLength: 3 })
  .map((words) => words.join("_"));
const toolName = fc.array(segment, { minLength: 1, maxLength: 3 }).map((segments) => segments.join("."));
/** Near misses: the grammar's own characters in any order. */
const nearName = fc
  .array(fc.constantFrom("a", "0", "_", "__", ".", "A"), { maxLength: 8 })
  .map((parts) => parts.join(""));

describe("tool names on native protocols", () => {
  test.each([
    ["fs.read_text", "fs__read_text"],
    ["a.b.c_d", "a__b__c_d"],
    ["agent", "agent"],
    ["2.0_x", "2__0_x"],
  ])("%s is written %s", (name, encoded) => {
    expect(encodeToolName(name)).toBe(encoded);
    expect(decodeToolName(encoded)).toBe(name);
  });

  test("decoding undoes encoding, so no two names share an encoding", () => {
    fc.assert(
      fc.property(toolName, (name) => {
        expect(isToolName(name)).toBe(true);
        expect(encodeToolName(name)).toMatch(/^[a-z0-9_]+$/);
        expect(decodeToolName(encodeToolName(name))).toBe(name);
      }),
    );
  });

  test("what decodes is the encoding of what it decodes to; everything else is null", () => {
    fc.assert(
      fc.property(fc.oneof(nearName, fc.string()), (text) => {
        const name = decodeToolName(text);
        if (name === null) return;
        expect(isToolName(name)).toBe(true);
        expect(encodeToolName(name)).toBe(text);
      }),
      { numRuns: 1000 },
    );
  });

  test.each([
    "",
    ".",
    "fs.",
    ".fs",
    "fs..read",
    "_fs",
    "fs_",
    "fs__read",
    "fs._read",
    "FS.read",
    "fs.read\n",
    "fs read",
    "é",
    "\u0000",
  ])("%j is no tool name, and encoding it is a defect", (text) => {
    expect(isToolName(text)).toBe(false);
    expect(() => encodeToolName(text)).toThrow(new Defect(`not a tool name: ${JSON.stringify(text)}`));
  });

  test.each([
    "",
    "fs.read_text",
    "fs___read",
    "__fs",
    "fs__",
    "_fs",
    "fs_",
    "Fs__read",
    "fs__read\n",
    "shell.exec\u0000",
  ])("%j is no encoding", (text) => {
    expect(decodeToolName(text)).toBeNull();
  });
});
