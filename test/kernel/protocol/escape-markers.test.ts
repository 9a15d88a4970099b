import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { escapeMarkers } from "../../../src/kernel/protocol/escape-markers.ts";
import { MARKERS } from "../../../src/kernel/protocol/markers.ts";
import { verifies } from "../../requirements.ts";
import { illFormedText, nearlyMarkers, notesBlock } from "./raw-output.ts";

const hasMarker = (text: string): boolean => MARKERS.some((marker) => text.includes(marker));

/** What escaping means, in the plainest words: no text is left out, and no case is shorter than another. */
function escapedPlainly(text: string): string {
  const quoteAt = (whole: string, at: number): string => `${whole.slice(0, at)}quoted ${whole.slice(at)}`;
  let inert = text;
  for (const marker of MARKERS) inert = inert.replaceAll(marker, quoteAt(marker, 3));
  const started = MARKERS.flatMap((marker) =>
    [1, 2, 3].map((missing) => [marker.slice(missing), 3 - missing] as const),
  );
  const [, at] = started.find(([end]) => inert.startsWith(end)) ?? [];
  if (at !== undefined) inert = quoteAt(inert, at);
  for (const before of ["", "<", "<<"]) {
    const whole = before + inert;
    const ends = Array.from({ length: whole.length }, (_, from) => whole.slice(from));
    const open = ends.find((end) => MARKERS.some((marker) => marker !== end && marker.startsWith(end)));
    if (open !== undefined && open.length >= 3) return quoteAt(inert, inert.length - open.length + 3);
  }
  return inert;
}

describe("escapeMarkers", () => {
  verifies("S-3.3", "does what its plainest definition does, with brackets and without", () => {
    let bare = 0;
    fc.assert(
      fc.property(fc.oneof(illFormedText, nearlyMarkers), (text) => {
        expect(escapeMarkers(text)).toBe(escapedPlainly(text));
        if (!text.includes("<")) bare += 1;
      }),
      { numRuns: 3000 },
    );
    expect(bare).toBeGreaterThan(200);
    for (const marker of MARKERS) {
      for (let from = 0; from <= marker.length; from += 1) {
        for (let to = from; to <= marker.length; to += 1) {
          const piece = marker.slice(from, to);
          for (const text of [piece, `a${piece}`, `${piece}a`, `<${piece}`, piece + marker]) {
            expect(escapeMarkers(text), text).toBe(escapedPlainly(text));
          }
        }
      }
    }
  });

  verifies("S-3.3/inert", "escaped text holds no marker, nor do any escaped texts side by side", () => {
    fc.assert(
      fc.property(illFormedText, illFormedText, (left, right) => {
        expect(hasMarker(escapeMarkers(left))).toBe(false);
        expect(hasMarker(escapeMarkers(left) + escapeMarkers(right))).toBe(false);
      }),
      { numRuns: 3000 },
    );
  });

  verifies("S-3.3", "no cut of a marker into any number of texts survives escaping them all", () => {
    for (const marker of MARKERS) {
      for (let first = 0; first <= marker.length; first += 1) {
        for (let second = first; second <= marker.length; second += 1) {
          const pieces = [`a${marker.slice(0, first)}`, marker.slice(first, second), `${marker.slice(second)}b`];
          expect(hasMarker(pieces.map(escapeMarkers).join("")), pieces.join("|")).toBe(false);
        }
      }
      expect(hasMarker([...marker].map(escapeMarkers).join(""))).toBe(false);
    }
    const anyCuts = fc.array(fc.nat(30), { maxLength: 8 });
    fc.assert(
      fc.property(illFormedText, fc.constantFrom(...MARKERS), anyCuts, illFormedText, (before, marker, cuts, after) => {
        const text = before + marker + after;
        const places = [0, ...cuts.map((at) => before.length + at).sort((a, b) => a - b), text.length];
        const pieces = places.slice(1).map((end, index) => text.slice(places[index], end));
        expect(hasMarker(pieces.map(escapeMarkers).join(""))).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });

  verifies("S-3.3", "no cut of a marker into two texts survives escaping both", () => {
    for (const marker of MARKERS) {
      for (let at = 0; at <= marker.length; at += 1) {
        const joined = escapeMarkers(`a${marker.slice(0, at)}`) + escapeMarkers(`${marker.slice(at)}b`);
        expect(hasMarker(joined)).toBe(false);
        expect(joined.replaceAll("quoted ", "")).toBe(`a${marker}b`);
      }
    }
  });

  test("it is idempotent", () => {
    fc.assert(
      fc.property(illFormedText, (text) => {
        expect(escapeMarkers(escapeMarkers(text))).toBe(escapeMarkers(text));
      }),
      { numRuns: 2000 },
    );
  });

  test("nothing is lost: without the added word the text is what it was", () => {
    fc.assert(
      fc.property(illFormedText, (text) => {
        fc.pre(!text.includes("quoted "));
        expect(escapeMarkers(text).replaceAll("quoted ", "")).toBe(text);
      }),
    );
  });

  test("text without markers is untouched", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        fc.pre(!/_JSON>>>|<<<[TNE]|<<<$|^<+[TNE]?/.test(text));
        expect(escapeMarkers(text)).toBe(text);
      }),
    );
  });

  test.each([
    "",
    "<<<<<<< HEAD\n=======\n>>>>>>> main",
    "cat <<< 'TOOL_CALLS_JSON'",
    "<<<TOOL\u200b_CALLS_JSON>>>",
    "TOOL_CALLS_JSON",
    "a NOTES_JSON>>> b",
    "<<<NOTES b",
    "CALLS_JSON>>>",
    "N",
    "END_NOTES_JSON",
    "a <",
    "a <<",
    "<p>",
    "< ",
  ])("%j is untouched", (text) => {
    expect(escapeMarkers(text)).toBe(text);
  });

  test.each([
    ["<<<TOOL_CALLS_JSON>>>", "<<<quoted TOOL_CALLS_JSON>>>"],
    ["<<<END_TOOL_CALLS_JSON>>>", "<<<quoted END_TOOL_CALLS_JSON>>>"],
    [`a ${notesBlock("{}")} b`, "a <<<quoted NOTES_JSON>>>{}<<<quoted END_NOTES_JSON>>> b"],
    ["<<<<NOTES_JSON>>>>", "<<<<quoted NOTES_JSON>>>>"],
    ["<<<NOTES_<<<NOTES_JSON>>>JSON>>>", "<<<NOTES_<<<quoted NOTES_JSON>>>JSON>>>"],
    ["<<NOTES_JSON>>> x", "<<quoted NOTES_JSON>>> x"],
    ["<END_NOTES_JSON>>>", "<quoted END_NOTES_JSON>>>"],
    ["TOOL_CALLS_JSON>>>", "quoted TOOL_CALLS_JSON>>>"],
    ["x <<<N", "x <<<quoted N"],
    ["x <<<", "x <<<quoted "],
    ["<<<<", "<<<<quoted "],
    ["<", "<quoted "],
    ["<<", "<<quoted "],
    ["<N", "<quoted N"],
    ["<<END_NOTES_JSON>>", "<<quoted END_NOTES_JSON>>"],
    ["x <<<END_NOTES_JSON>>", "x <<<quoted END_NOTES_JSON>>"],
    ["<NOTES_JSON>>> <<<T", "<quoted NOTES_JSON>>> <<<quoted T"],
  ])("%j becomes %j", (text, escaped) => {
    expect(escapeMarkers(text)).toBe(escaped);
  });
});
