import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { matchesTool } from "../../../src/kernel/policy/tool-pattern.ts";

describe("matchesTool", () => {
  test.each([
    ["*", "fs.read_text", true],
    ["*", "shell", true],
    ["fs.read_text", "fs.read_text", true],
    ["fs.read_text", "fs.read_text2", false],
    ["fs.read_text", "fs.read", false],
    ["fs.read_text", "FS.read_text", false],
    ["fs.*", "fs.read_text", true],
    ["fs.*", "fs.a.b", true],
    ["fs.*", "fsx.read", false],
    ["fs.*", "fs", false],
    ["fs.*", "fs.", false],
    ["fs.*", "fs.x", true],
    ["fs.*", "my.fs.read", false],
    ["fs.a.*", "fs.a.b", true],
    ["fs.a.*", "fs.b", false],
    ["fs", "fs.read_text", false],
    ["fs*", "fs.read_text", false],
    ["*.read_text", "fs.read_text", false],
    ["fs.*_text", "fs.read_text", false],
    ["**", "fs.read_text", false],
    ["", "fs.read_text", false],
    ["fs.read.text", "fs.read_text", false],
    ["fs.[a-z]+", "fs.read", false],
    [".+", "fs.read", false],
  ])("pattern %j, tool %j: %j", (pattern, tool, expected) => {
    expect(matchesTool(pattern, tool)).toBe(expected);
  });

  test("a pattern that holds no star matches its own text and nothing else", () => {
    const anyName = fc.string().filter((name) => !name.includes("*"));
    fc.assert(
      fc.property(anyName, anyName, (pattern, tool) => {
        expect(matchesTool(pattern, pattern)).toBe(true);
        expect(matchesTool(pattern, tool)).toBe(pattern === tool);
      }),
    );
  });

  test("a namespace matches every name that goes on after its dot", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z.]{1,8}$/), fc.string({ minLength: 1 }), (namespace, rest) => {
        expect(matchesTool(`${namespace}.*`, `${namespace}.${rest}`)).toBe(true);
        expect(matchesTool(`${namespace}.*`, namespace)).toBe(false);
      }),
    );
  });
});
