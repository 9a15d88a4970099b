import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MARKERS, openMarkerLength, splitAtMarkers } from "../../../src/kernel/protocol/markers.ts";
import { illFormedText, nearlyMarkers } from "./raw-output.ts";

describe("splitAtMarkers", () => {
  test("the parts make up the text again, and no part between holds a marker", () => {
    fc.assert(
      fc.property(illFormedText, (text) => {
        const { head, rest } = splitAtMarkers(text);
        expect(head + rest.map((part) => part.marker + part.text).join("")).toBe(text);
        for (const part of [head, ...rest.map((each) => each.text)]) {
          expect(MARKERS.some((marker) => part.includes(marker))).toBe(false);
        }
        for (const { marker } of rest) expect(MARKERS).toContain(marker);
      }),
    );
  });

  test("finds every marker where it stands, from left to right", () => {
    fc.assert(
      fc.property(fc.oneof(illFormedText, nearlyMarkers), (text) => {
        const starts = Array.from({ length: text.length }, (_, at) => at);
        const found = starts.flatMap((at) => {
          const marker = MARKERS.find((each) => text.startsWith(each, at));
          return marker === undefined ? [] : [{ marker, at }];
        });
        const rest = found.map(({ marker, at }, index) => {
          return { marker, text: text.slice(at + marker.length, found[index + 1]?.at ?? text.length) };
        });
        expect(splitAtMarkers(text)).toEqual({ head: text.slice(0, found[0]?.at ?? text.length), rest });
      }),
      { numRuns: 2000 },
    );
  });

  test("the markers are the contract's", () => {
    expect(MARKERS).toEqual([
      "<<<TOOL_CALLS_JSON>>>",
      "<<<END_TOOL_CALLS_JSON>>>",
      "<<<NOTES_JSON>>>",
      "<<<END_NOTES_JSON>>>",
    ]);
  });

  test.each([
    "<<<tool_calls_json>>>",
    "<<TOOL_CALLS_JSON>>>",
    "<<<TOOL_CALLS_JSON>>",
    "<<< TOOL_CALLS_JSON>>>",
    "<<<TOOL_CALLS_JSON >>>",
    "<<<TOOL\u200b_CALLS_JSON>>>",
    "<<<TOOL\u00ad_CALLS_JSON>>>",
    "<<\u2060<NOTES_JSON>>>",
    "<<<N\u041eTES_JSON>>>",
    "＜＜＜NOTES_JSON＞＞＞",
    "‹‹‹NOTES_JSON›››",
    "<<<NOTES-JSON>>>",
    "<<<END NOTES_JSON>>>",
    "&lt;&lt;&lt;NOTES_JSON&gt;&gt;&gt;",
    "\\u003c<<NOTES_JSON>>>",
  ])("a look-alike is text: %s", (text) => {
    expect(splitAtMarkers(text)).toEqual({ head: text, rest: [] });
  });

  test("brackets around a marker stay text", () => {
    expect(splitAtMarkers("<<<<NOTES_JSON>>>>")).toEqual({
      head: "<",
      rest: [{ marker: "<<<NOTES_JSON>>>", text: ">" }],
    });
  });
});

describe("openMarkerLength", () => {
  test("is the longest end of the text that begins a marker without completing it", () => {
    fc.assert(
      fc.property(illFormedText, (text) => {
        const ends = Array.from({ length: text.length + 1 }, (_, at) => text.slice(at));
        const open = ends.find((end) => MARKERS.some((marker) => marker !== end && marker.startsWith(end))) ?? "";
        expect(openMarkerLength(text)).toBe(open.length);
      }),
    );
  });

  test.each([
    ["", 0],
    ["a", 0],
    ["a<", 1],
    ["a<<<<", 3],
    ["<<<E", 4],
    ["<<<END_TOOL_CALLS_JSON>>", 24],
    ["<<<END_TOOL_CALLS_JSON>>>", 0],
    ["<<<NOTES_JSON>>>", 0],
    ["<<<NOTES_JSON>>>>", 0],
    ["<<<X", 0],
  ])("of %j it is %i", (text, length) => {
    expect(openMarkerLength(text)).toBe(length);
  });
});
