import { describe, expect, test } from "vitest";
import { MAX_ESCAPE_CHARS, readEscape, startsEscape } from "../../../src/kernel/redaction/escape-token.ts";

const ESCAPES: readonly (readonly [string, number, boolean])[] = [
  ["\\u0073", 0x73, false],
  ["\\u00E9", 0xe9, false],
  ["\\U0041", 0x41, false],
  ["\\\\u0073", 0x73, false],
  [`${"\\".repeat(8)}u0073`, 0x73, false],
  ["\\u{73}", 0x73, false],
  ["\\u{10FFFF}", 0x10ffff, false],
  [`${"\\".repeat(8)}u{10ffff}`, 0x10ffff, false],
  ["\\x73", 0x73, false],
  ["\\n", 0x20, false],
  ["\\r", 0x20, false],
  ["\\t", 0x20, false],
  ["%73", 0x73, true],
  ["%c3", 0xc3, true],
  ["%2573", 0x73, true],
  ["%2525252573", 0x73, true],
  ["%25", 0x25, true],
  ["&#115;", 0x73, false],
  ["&#1114111;", 0x10ffff, false],
  ["&#x73;", 0x73, false],
  ["&#X10FFFF;", 0x10ffff, false],
  ["&amp;", 0x26, false],
  ["&lt;", 0x3c, false],
  ["&gt;", 0x3e, false],
  ["&QUOT;", 0x22, false],
  ["&apos;", 0x27, false],
  ["&nbsp;", 0x20, false],
  ["&NewLine;", 0x20, false],
  ["&frac12;", 0x20, false],
  ["&constructor;", 0x20, false],
  ["&CounterClockwiseContourIntegral;", 0x20, false],
  ["&eacute;", 0x65, false],
  ["&Ouml;", 0x4f, false],
  ["&zscr;", 0x7a, false],
];
const NO_ESCAPES = [
  "\\",
  "\\q0073",
  "\\u007",
  "\\u{}",
  "\\u{1234567}",
  "\\u{110000}",
  "\\x7",
  "%7",
  "%zz",
  "&",
  "&#;",
  "&#115",
  "&#x110000;",
  "&nbsp",
  "&a;",
  "&1a;",
  "&a b;",
  `&${"a".repeat(32)};`,
  "&amp",
];

describe("written escapes", () => {
  test.each(ESCAPES)("%s is read as what it stands for", (written, code, isByte) => {
    expect(startsEscape(written.charCodeAt(0))).toBe(true);
    expect(readEscape(`ab${written}~`, 2, true)).toEqual({ length: written.length, code, isByte });
    expect(readEscape(`${written}${"~".repeat(MAX_ESCAPE_CHARS)}`, 0, false)).toEqual({
      length: written.length,
      code,
      isByte,
    });
    expect(written.length).toBeLessThanOrEqual(MAX_ESCAPE_CHARS);
  });

  test.each(NO_ESCAPES)("%s is none", (written) => {
    expect(readEscape(`${written}~`, 0, true)).toBeNull();
  });

  test("the longest escape is exactly the bound", () => {
    expect(Math.max(...ESCAPES.map(([written]) => written.length))).toBe(MAX_ESCAPE_CHARS);
  });

  test("with less text than the longest escape nothing is decided, unless no more comes", () => {
    const written = "%41".padEnd(MAX_ESCAPE_CHARS, "~");
    expect(readEscape(written.slice(0, -1), 0, false)).toBeUndefined();
    expect(readEscape(written, 0, false)).toEqual({ length: 3, code: 0x41, isByte: true });
    expect(readEscape(`~${written}`.slice(0, -1), 1, false)).toBeUndefined();
    expect(readEscape("%41", 0, true)).toEqual({ length: 3, code: 0x41, isByte: true });
  });

  test("only three characters start an escape", () => {
    const starting = Array.from({ length: 0x10000 }, (_, unit) => unit).filter(startsEscape);
    expect(String.fromCharCode(...starting)).toBe("%&\\");
  });
});
