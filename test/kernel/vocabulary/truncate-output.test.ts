import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Defect } from "../../../src/kernel/vocabulary/defect.ts";
import { truncateOutput } from "../../../src/kernel/vocabulary/truncate-output.ts";
import { verifies } from "../../requirements.ts";
import { anyCharacter } from "./any-json.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text).length;

/** Code points of one, two, three and four bytes. */
const anyText = fc.string({ unit: fc.constantFrom("a", "é", "€", "😂"), maxLength: 40 });
const anyMarker = fc.string({ unit: fc.constantFrom(".", "…", "✂", "😂"), maxLength: 6 });
const anyBudget = fc.nat({ max: 80 });

describe("by hand", () => {
  test.each([
    { text: "", maxBytes: 0, marker: "…", result: "", truncated: false, bytes: 0 },
    { text: "abc", maxBytes: 3, marker: "…", result: "abc", truncated: false, bytes: 3 },
    { text: "abcdef", maxBytes: 5, marker: "[…]", result: "[…]", truncated: true, bytes: 5 },
    { text: "abcdefg", maxBytes: 6, marker: "[…]", result: "a[…]", truncated: true, bytes: 6 },
    { text: "abc", maxBytes: 2, marker: "", result: "ab", truncated: true, bytes: 2 },
    { text: "ééé", maxBytes: 5, marker: "", result: "éé", truncated: true, bytes: 4 },
    { text: "ééé", maxBytes: 6, marker: "", result: "ééé", truncated: false, bytes: 6 },
    { text: "€€", maxBytes: 5, marker: "", result: "€", truncated: true, bytes: 3 },
    { text: "a😂", maxBytes: 4, marker: "", result: "a", truncated: true, bytes: 1 },
    { text: "😂😂", maxBytes: 7, marker: ".", result: "😂.", truncated: true, bytes: 5 },
    { text: "aaaaaaaa", maxBytes: 7, marker: "😂😂", result: "😂", truncated: true, bytes: 4 },
    { text: "aaaa", maxBytes: 3, marker: "😂", result: "", truncated: true, bytes: 0 },
    { text: "a", maxBytes: 0, marker: "…", result: "", truncated: true, bytes: 0 },
    {
      text: "\u007f\u0080\u07ff\u0800\uffff",
      maxBytes: 11,
      marker: "!",
      result: "\u007f\u0080\u07ff\u0800\uffff",
      truncated: false,
      bytes: 11,
    },
    { text: "\u{10000}", maxBytes: 4, marker: "!", result: "\u{10000}", truncated: false, bytes: 4 },
  ])("$text in $maxBytes bytes", ({ text, maxBytes, marker, result, truncated, bytes }) => {
    expect(truncateOutput(text, maxBytes, marker)).toEqual({ text: result, truncated, bytes });
  });

  test("a budget that is no number of bytes is a defect", () => {
    expect(() => truncateOutput("a", -1, "")).toThrow(new Defect("truncateOutput: a budget of -1 bytes"));
    expect(() => truncateOutput("a", Number.NaN, "")).toThrow(new Defect("truncateOutput: a budget of NaN bytes"));
  });
});

verifies("M-4.1", "an output never has more bytes than its budget, its truncation marker included", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: anyCharacter }),
      anyBudget,
      fc.string({ unit: anyCharacter }),
      (text, maxBytes, marker) => {
        const result = truncateOutput(text, maxBytes, marker);
        expect(result.bytes).toBe(bytesOf(result.text));
        expect(result.bytes).toBeLessThanOrEqual(maxBytes);
        expect(result.text.isWellFormed()).toBe(true);
        expect(result.truncated).toBe(bytesOf(text) > maxBytes);
      },
    ),
  );
});

test("the budget holds for text that is not well-formed as well", () => {
  const units = fc.array(fc.constantFrom("a", "\ud83d", "\ude02"), { maxLength: 12 });
  const broken = units.map((parts) => parts.join(""));
  fc.assert(
    fc.property(broken, fc.nat({ max: 20 }), broken, (text, maxBytes, marker) => {
      expect(bytesOf(truncateOutput(text, maxBytes, marker).text)).toBeLessThanOrEqual(maxBytes);
    }),
  );
});

test("a cut text is the longest beginning that leaves room for the whole marker", () => {
  fc.assert(
    fc.property(anyText, anyBudget, anyMarker, (text, maxBytes, marker) => {
      const result = truncateOutput(text, maxBytes, marker);
      fc.pre(result.truncated && bytesOf(marker) <= maxBytes);
      const kept = result.text.slice(0, result.text.length - marker.length);
      expect(result.text).toBe(kept + marker);
      expect(text.startsWith(kept)).toBe(true);
      const [next = ""] = text.slice(kept.length);
      expect(bytesOf(kept + next + marker)).toBeGreaterThan(maxBytes);
    }),
  );
});

test("a marker that does not fit is cut in the same way, and no text stands before it", () => {
  fc.assert(
    fc.property(anyText, anyBudget, anyMarker, (text, maxBytes, marker) => {
      fc.pre(bytesOf(text) > maxBytes && bytesOf(marker) > maxBytes);
      const result = truncateOutput(text, maxBytes, marker);
      expect(marker.startsWith(result.text)).toBe(true);
      const [next = ""] = marker.slice(result.text.length);
      expect(bytesOf(result.text + next)).toBeGreaterThan(maxBytes);
    }),
  );
});

test("cutting again to the same budget changes nothing", () => {
  fc.assert(
    fc.property(anyText, anyBudget, anyMarker, (text, maxBytes, marker) => {
      const { text: cut, bytes } = truncateOutput(text, maxBytes, marker);
      expect(truncateOutput(cut, maxBytes, marker)).toEqual({ text: cut, truncated: false, bytes });
    }),
  );
});
