import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_DECORATION_CHARS, readDecoration } from "../../../src/kernel/redaction/decoration.ts";

const DECORATIONS = [
  "<b>",
  "</b>",
  "<BR/>",
  '<a href="x">',
  "<!-- and so on -->",
  "<?xml version?>",
  "](#a)",
  "]()",
  "](https://a.example/b_(c)_(d) 'e')",
  "][ref]",
  "][]",
  `<${"a".repeat(MAX_DECORATION_CHARS - 2)}>`,
];
const NONE_OF_THEM = [
  "a",
  "<",
  "<>",
  "< b>",
  "<3>",
  "<b <i>",
  "]",
  "] (a)",
  "](a",
  "](a(b(c)))",
  "][a[b]",
  `<${"a".repeat(MAX_DECORATION_CHARS - 1)}>`,
];

describe("decorations", () => {
  test.each(DECORATIONS)("%s is one", (decoration) => {
    expect(readDecoration(`ab${decoration}>)]`, 2, true)).toBe(decoration.length);
    expect(readDecoration(decoration, 0, false)).toBe(decoration.length);
    for (let length = 1; length < decoration.length; length += 1) {
      expect(readDecoration(decoration.slice(0, length), 0, false)).toBeUndefined();
      expect(readDecoration(decoration.slice(0, length), 0, true)).toBe(0);
    }
  });

  test.each(NONE_OF_THEM)("%s is none", (text) => {
    expect(readDecoration(text, 0, true)).toBe(0);
  });

  test.each(["< ", "<3", "<b <", "] ", "](a((", "][a[", `<${"a".repeat(MAX_DECORATION_CHARS - 1)}`])(
    "%s cannot become one",
    (text) => {
      expect(readDecoration(text, 0, false)).toBe(0);
    },
  );

  test("what is decided stays so, whatever follows", () => {
    const text = fc.string({ unit: fc.constantFrom(..."<>[]()/!?-ab "), minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(text, text, (start, more) => {
        const decided = readDecoration(start, 0, false);
        if (decided !== undefined) expect(readDecoration(start + more, 0, true)).toBe(decided);
      }),
      { numRuns: 2_000 },
    );
  });
});
