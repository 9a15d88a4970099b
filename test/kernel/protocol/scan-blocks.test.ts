import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  MARKERS,
  NOTES_BEGIN,
  NOTES_END,
  TOOL_CALLS_BEGIN,
  TOOL_CALLS_END,
} from "../../../src/kernel/protocol/markers.ts";
import { scanBlocks } from "../../../src/kernel/protocol/scan-blocks.ts";
import { illFormedText, notesBlock, toolBlock } from "./raw-output.ts";

const clean = { toolCalls: null, notes: [], strayNotes: false, fault: null };

describe("scanBlocks", () => {
  test.each([
    ["plain", { ...clean, visibleText: "plain" }],
    ["", { ...clean, visibleText: "" }],
    [`a${toolBlock("[1]")}b`, { ...clean, visibleText: "ab", toolCalls: "[1]" }],
    [toolBlock(""), { ...clean, visibleText: "", toolCalls: "" }],
    [`a${notesBlock("{1}")}b${notesBlock("{2}")}c`, { ...clean, visibleText: "abc", notes: ["{1}", "{2}"] }],
    [`a${notesBlock("n")}b${toolBlock("t")}c`, { ...clean, visibleText: "abc", notes: ["n"], toolCalls: "t" }],
    [`a${toolBlock("t")}b${notesBlock("n")}c`, { ...clean, visibleText: "abc", notes: ["n"], toolCalls: "t" }],
    [`a${NOTES_BEGIN}b`, { ...clean, visibleText: "a", strayNotes: true }],
    [`a${NOTES_END}b`, { ...clean, visibleText: "ab", strayNotes: true }],
    [`${notesBlock("n")}a${NOTES_END}b`, { ...clean, visibleText: "ab", notes: ["n"], strayNotes: true }],
  ])("%j", (content, expected) => {
    expect(scanBlocks(content)).toEqual(expected);
  });

  test.each([
    [`a${TOOL_CALLS_BEGIN}b`, "protocol.unterminated-block", "a"],
    [`a${TOOL_CALLS_END}b`, "protocol.unmatched-end", "a"],
    [`a${TOOL_CALLS_END}${TOOL_CALLS_BEGIN}b`, "protocol.unmatched-end", "a"],
    [`a${toolBlock("")}b${TOOL_CALLS_END}c`, "protocol.unmatched-end", "ab"],
    [`a${toolBlock("")}b${toolBlock("")}c`, "protocol.several-blocks", "ab"],
    [`a${toolBlock("")}b${notesBlock("")}c${toolBlock("")}d`, "protocol.several-blocks", "abc"],
    [`a${toolBlock(TOOL_CALLS_BEGIN)}c`, "protocol.nested-block", "a"],
    [`a${toolBlock(notesBlock("{}"))}c`, "protocol.notes-in-tool-block", "a"],
    [`a${toolBlock(NOTES_END)}c`, "protocol.notes-in-tool-block", "a"],
    [`a${notesBlock(toolBlock("[]"))}c`, "protocol.nested-block", "a"],
    [`a${notesBlock(TOOL_CALLS_END)}c`, "protocol.nested-block", "a"],
    [`a${notesBlock(NOTES_BEGIN)}c${NOTES_END}d`, "protocol.nested-block", "a"],
    [`a<<<TOOL_${notesBlock("{}")}CALLS_JSON>>>[]`, "protocol.nested-block", "a"],
    [`a<<<END_NOTES_JSON>>${toolBlock("[]")}>b`, "protocol.nested-block", "a"],
    [`a<<<NOTES_${notesBlock("{}")}JSON>>>b${TOOL_CALLS_END}`, "protocol.unmatched-end", "a"],
  ])("%j is faulty: %s", (content, fault, visibleText) => {
    expect(scanBlocks(content)).toMatchObject({ fault, visibleText });
  });

  test("a block with another in it is not handed over", () => {
    expect(scanBlocks(toolBlock(notesBlock("{}")))).toMatchObject({ toolCalls: null, notes: [] });
    expect(scanBlocks(notesBlock(toolBlock("[]")))).toMatchObject({ toolCalls: null, notes: [] });
  });

  test("visible text holds no marker, whatever was taken out of it", () => {
    fc.assert(
      fc.property(illFormedText, (content) => {
        const { visibleText } = scanBlocks(content);
        expect(MARKERS.filter((marker) => visibleText.includes(marker))).toEqual([]);
      }),
      { numRuns: 2000 },
    );
  });

  test("text without markers is visible as it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(scanBlocks(text)).toEqual({ ...clean, visibleText: text });
      }),
    );
  });
});
