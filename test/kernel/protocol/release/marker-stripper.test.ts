import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  MARKERS,
  NOTES_BEGIN,
  NOTES_END,
  TOOL_CALLS_BEGIN,
  TOOL_CALLS_END,
} from "../../../../src/kernel/protocol/markers.ts";
import { markerStripper } from "../../../../src/kernel/protocol/release/marker-stripper.ts";
import { scanBlocks } from "../../../../src/kernel/protocol/scan-blocks.ts";
import { verifies } from "../../../requirements.ts";
import { callText, illFormedText, notesBlock, toolBlock } from "../raw-output.ts";
import { cutAt, everyCut, everyPartition, outputs, pass } from "./every-cut.ts";

const hasMarker = (text: string): boolean => MARKERS.some((marker) => text.includes(marker));

describe("markerStripper", () => {
  verifies(["S-3.1/hidden", "S-2.1/hidden"], "however an answer is cut, what is streamed is its visible text", () => {
    fc.assert(
      fc.property(illFormedText, fc.array(fc.nat(400), { maxLength: 12 }), (content, cuts) => {
        expect(pass(markerStripper, cutAt(content, cuts))).toBe(scanBlocks(content).visibleText);
      }),
      { numRuns: 3000 },
    );
  });

  test.each([
    ["blocks between text", `Hi <${toolBlock("[]")}> there ${notesBlock("{}")}!`],
    ["a surrogate pair beside a block", `😀${notesBlock("😀")}😀`],
    ["markers that a removed block closes up", `a<<<NOTES_${notesBlock("{}")}JSON>>>{"set_goals":[]}`],
    ["brackets that a removed block closes up", `a<<${notesBlock("{}")}<NOTES_JSON>>>b`],
    ["an unterminated block", `a${TOOL_CALLS_BEGIN}[${callText("t1")}`],
    ["half a marker at the end", "a<<<END_NOTES_JSON>>"],
    ["too many brackets", `<<<<<${NOTES_BEGIN}{}<<<<${NOTES_END}>>>>`],
  ])("each cut in two, and the cut into single units: %s", (_, content) => {
    const expected = scanBlocks(content).visibleText;
    for (const chunks of everyCut(content)) expect(pass(markerStripper, chunks)).toBe(expected);
  });

  test("all partitions of a short text", () => {
    const content = "<<N<<<T<😀";
    for (const chunks of everyPartition(content)) expect(pass(markerStripper, chunks)).toBe(content);
  });

  verifies("S-2.5", "no marker and nothing inside a block ever comes out, malformed or not", () => {
    const inside = fc.string({ maxLength: 20 }).filter((text) => !text.includes("<"));
    fc.assert(
      fc.property(inside, fc.array(fc.nat(200)), (text, cuts) => {
        const secret = `SECRET${text}`;
        for (const content of [`a${notesBlock(secret)}b`, `a${toolBlock(secret)}b`]) {
          expect(pass(markerStripper, cutAt(content, cuts))).toBe("ab");
        }
        for (const begin of [NOTES_BEGIN, TOOL_CALLS_BEGIN]) {
          expect(pass(markerStripper, cutAt(`a${begin}${secret}`, cuts))).toBe("a");
        }
      }),
    );
  });

  test("no output holds a marker, even one that a removed block closed up", () => {
    fc.assert(
      fc.property(illFormedText, (content) => {
        expect(hasMarker(pass(markerStripper, [...content]))).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });

  test("of well-formed text every single output is well-formed", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 20 });
    fc.assert(
      fc.property(text, text, (before, after) => {
        const content = `${before}${notesBlock("{}")}${after}`;
        for (const chunks of everyCut(content)) {
          expect(outputs(markerStripper, chunks).every((out) => out.isWellFormed())).toBe(true);
        }
      }),
    );
  });

  test("only what may become a marker, or half a character, is held back", () => {
    expect(outputs(markerStripper, ["plain text"])).toEqual(["plain text", ""]);
    expect(outputs(markerStripper, ["a <<", "b"])).toEqual(["a ", "<<b", ""]);
    expect(outputs(markerStripper, ["a <<<NOTES_JSON>>"])).toEqual(["a ", "<<<NOTES_JSON>>"]);
    expect(outputs(markerStripper, ["a\uD83D", "\uDE00"])).toEqual(["a", "😀", ""]);
    expect(outputs(markerStripper, ["a\uD83D"])).toEqual(["a", "\uD83D"]);
    expect(outputs(markerStripper, ["a\uDE00"])).toEqual(["a\uDE00", ""]);
    expect(outputs(markerStripper, ["\uDBFF", "\uD800", "x"])).toEqual(["", "\uDBFF", "\uD800x", ""]);
  });

  test("after a fault nothing more comes out", () => {
    expect(pass(markerStripper, [`a${TOOL_CALLS_END}`, "b", notesBlock("{}"), "c"])).toBe("a");
    expect(pass(markerStripper, [`a${toolBlock("[]")}b${TOOL_CALLS_BEGIN}`, "]", TOOL_CALLS_END, "c"])).toBe("ab");
    expect(outputs(markerStripper, [`a<<<NOTES_${notesBlock("{}")}`, "JSON>>>b", "c<"])).toEqual(["a", "", "", ""]);
  });
});
