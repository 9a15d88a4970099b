import fc from "fast-check";
import {
  MARKERS,
  NOTES_BEGIN,
  NOTES_END,
  TOOL_CALLS_BEGIN,
  TOOL_CALLS_END,
} from "../../../src/kernel/protocol/markers.ts";
import type { RawModelOutput, RawToolCall } from "../../../src/kernel/protocol/raw-model-output.ts";

export function rawOutput(fields: Partial<RawModelOutput> = {}): RawModelOutput {
  return { content: "", toolCalls: [], stopReason: "stop", model: "test-model", complete: true, ...fields };
}

export function rawCall(fields: Partial<RawToolCall> = {}): RawToolCall {
  return { id: "c1", name: "fs__read_text", argumentsText: '{"path":"a"}', ...fields };
}

export const toolBlock = (inside: string): string => `${TOOL_CALLS_BEGIN}${inside}${TOOL_CALLS_END}`;
export const notesBlock = (inside: string): string => `${NOTES_BEGIN}${inside}${NOTES_END}`;
/** One well-formed call, as JSON text. */
export const callText = (id: string, tool = "fs.list_dir", args = "{}"): string =>
  `{"id":${JSON.stringify(id)},"tool":${JSON.stringify(tool)},"args":${args}}`;

/** Pieces from which texts full of markers, halves of markers and difficult characters are made. */
const piece = fc.oneof(
  fc.constantFrom(...MARKERS),
  fc.constantFrom(...MARKERS).chain((marker) => fc.nat(marker.length).map((length) => marker.slice(0, length))),
  fc.constantFrom(...MARKERS).chain((marker) => fc.nat(marker.length).map((length) => marker.slice(length))),
  fc.constantFrom("<", "<<<", ">>>", "[]", "{}", callText("t1"), "hello ", "\n", "é", "😀", "\u200b", "\uFEFF"),
  fc.string({ unit: "binary", maxLength: 4 }),
);
export const markedText = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));
/** The same, with halves of surrogate pairs. */
export const illFormedText = fc
  .array(fc.oneof(piece, fc.constantFrom("\uD83D", "\uDE00")), { maxLength: 8 })
  .map((pieces) => pieces.join(""));

/** Markers and their pieces with nothing but brackets, letters and the added word between them; some have no bracket. */
export const nearlyMarkers = fc.boolean().chain((isOpen) => {
  const pieces = [
    "TOOL",
    "_CALLS",
    "_JSON",
    "NOTES",
    "END",
    "END_",
    "E",
    "N",
    "T",
    ">",
    ">>",
    ">>>",
    "quoted ",
    "a",
    " ",
  ];
  const ends = MARKERS.flatMap((marker) => [marker.slice(3), marker.slice(3, -1), marker.slice(4)]);
  const opening = isOpen ? ["<", "<<", "<<<", "<<<<", ...MARKERS, ...MARKERS.map((marker) => marker.slice(1))] : [];
  return fc.array(fc.constantFrom(...pieces, ...ends, ...opening), { maxLength: 6 }).map((parts) => parts.join(""));
});
