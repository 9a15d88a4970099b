import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { safeText, visibleLine, visibleText } from "../../../src/adapters/terminal/visible-text.ts";

const MOVES = [
  "\u001b[2J",
  "\u001b]0;title\u0007",
  "\r",
  "\b",
  "\u0000",
  "\u007f",
  "\u009b31m",
  "\u202e",
  "\u2066",
  "\u2028",
  "\ud800",
  "\u200b",
  "\u2060",
  "\ufeff",
  "\u{e0041}",
  // The gutter.
  "▌",
];
const HIDES = ["\u200d", "\u00ad", "\u3164", "\u200f"];

describe("foreign text on a terminal", () => {
  test.each(MOVES)("%j is written out, everywhere", (text) => {
    const harmless = /^[\x20-\x7e]*$/;
    for (const show of [safeText, visibleText, visibleLine]) expect(show(text)).toMatch(harmless);
  });

  test.each(HIDES)("%j is written out where somebody decides", (text) => {
    expect(safeText(text)).toBe(text);
    expect(visibleText(text)).toMatch(/^\\u\{[0-9a-f]+\}$/);
  });

  test("words of any language stay as they are", () => {
    const text = "Grüße, 你好, שלום, مرحبا, नमस्ते 🙂\n\tline two";
    expect(safeText(text)).toBe(text);
    expect(visibleText(text)).toBe(text);
    expect(visibleLine("a\nb\tc")).toBe("a\\u{a}b\\u{9}c");
  });

  test("nothing that moves gets through, and pieces are as good as the whole", () => {
    const character = fc
      .oneof(fc.nat(0x2fff), fc.nat(0x10ffff))
      .filter((code) => code < 0xd800 || code > 0xdfff)
      .map((code) => String.fromCodePoint(code));
    fc.assert(
      fc.property(fc.array(fc.string({ unit: character })), (pieces) => {
        const whole = safeText(pieces.join(""));
        expect(whole).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/);
        expect(pieces.map(safeText).join("")).toBe(whole);
      }),
    );
  });
});
