/** Inline reasoning: what a model thinks aloud before its answer. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ADAPTER_VERSIONS, adapterFor } from "../../../../src/kernel/protocol/adapter-for.ts";
import { compose } from "../../../../src/kernel/protocol/release/compose.ts";
import { markerStripper } from "../../../../src/kernel/protocol/release/marker-stripper.ts";
import { stripThoughts, thoughtStripper } from "../../../../src/kernel/protocol/release/thought-stripper.ts";
import { verifies } from "../../../requirements.ts";
import { callText, illFormedText, markedText, notesBlock, rawCall, rawOutput, toolBlock } from "../raw-output.ts";
import { cutAt, decoded, everyCut, everyPartition, outputs, pass } from "./every-cut.ts";

const block = toolBlock(`[${callText("t1")}]`);
const notes = notesBlock('{"set_goals":["world domination"]}');
const CURRENT = ADAPTER_VERSIONS.filter((version) => version.endsWith("@2"));

const piece = fc.oneof(
  fc.constantFrom(
    "<think>",
    "</think>",
    "<THINK>",
    "</Think>",
    "<thi",
    "</th",
    "nk>",
    "<",
    " ",
    "\n\t",
    "\uFEFF",
    "hm",
  ),
  fc.constantFrom("<thin\u212A>", "</thin\u212A>", "<thinking>", "<think >", "\u{1F600}", block, notes),
);
const thoughtText = fc
  .tuple(fc.array(piece, { maxLength: 8 }), fc.oneof(fc.constant(""), markedText, illFormedText))
  .map(([pieces, rest]) => pieces.join("") + rest);

describe("an answer's inline reasoning", () => {
  test.each([
    ["a leading block, with the white space after it", "<think>hm</think>\n\nYes.", "Yes."],
    ["white space before it", " \r\n\t<think>hm</think>Yes.", "Yes."],
    ["a byte order mark before it", "\uFEFF<think>hm</think>Yes.", "Yes."],
    ["any case", "<Think>hm</THINK>Yes.", "Yes."],
    ["an empty block", "<think></think>Yes.", "Yes."],
    ["several blocks", "<think>a</think> <think>b</think>\n<think>c</think> Yes.", "Yes."],
    ["a block that is not closed, with everything after it", "<think>hm Yes.", ""],
    ["a last block that is not closed", "<think>a</think><think>Yes.", ""],
    ["a block that is closed by half", "<think>hm</think Yes.", ""],
    ["a block that opens another: the first end closes it", "<think>a<think>b</think>Yes.", "Yes."],
    ["brackets inside", "<think>a < b </ c <</think>Yes.", "Yes."],
  ])("is not part of it: %s", (_, content, answer) => {
    for (const chunks of everyCut(content)) expect(pass(thoughtStripper, chunks)).toBe(answer);
  });

  test.each([
    ["no tag", "Yes."],
    ["white space alone", " \n "],
    ["white space before text", "  Yes."],
    ["a tag after text", "Write <think>hm</think> first."],
    ["a tag after a dot", ". <think>hm</think>"],
    ["a closing tag alone", "hm</think>Yes."],
    ["half a tag", " <thin"],
    ["another tag", "<thinking>hm</thinking>"],
    ["a tag with an attribute", "<think a>hm</think>"],
    ["a letter that only folds to k", "<thin\u212A>hm</think>"],
    ["a tag in a code fence", "```\n<think>hm</think>\n```"],
  ])("is nothing else: %s is the answer, unchanged", (_, content) => {
    for (const chunks of everyCut(content)) expect(pass(thoughtStripper, chunks)).toBe(content);
  });

  test("is the same for every way of cutting the answer", () => {
    for (const chunks of everyPartition("<think></think>b")) expect(pass(thoughtStripper, chunks)).toBe("b");
    fc.assert(
      fc.property(thoughtText, fc.array(fc.nat(400), { maxLength: 12 }), (content, cuts) => {
        expect(pass(thoughtStripper, cutAt(content, cuts))).toBe(stripThoughts(content));
        expect(pass(thoughtStripper, [...content])).toBe(stripThoughts(content));
      }),
      { numRuns: 3000 },
    );
  });

  test("is held back only while it may be one: text flows at once", () => {
    expect(outputs(thoughtStripper, ["Yes", ", <think>"])).toEqual(["Yes", ", <think>", ""]);
    expect(outputs(thoughtStripper, [" ", "<", "b"])).toEqual(["", "", " <b", ""]);
    expect(outputs(thoughtStripper, ["<think>", "x".repeat(99), "</think>", "\n", "Yes"])).toEqual([
      ...["", "", "", "", "Yes", ""],
    ]);
  });

  verifies(
    ["M-P2a/deterministic", "S-3.1/hidden"],
    "is not read by any adapter, and its stream shows the answer",
    () => {
      expect(CURRENT).toEqual(["native-tools@2", "marker-json@2"]);
      const visible = compose(thoughtStripper, markerStripper);
      fc.assert(
        fc.property(
          fc.constantFrom(...CURRENT),
          thoughtText,
          fc.array(fc.nat(400), { maxLength: 12 }),
          (version, content, cuts) => {
            const adapted = adapterFor(version)?.adapt(rawOutput({ content }), "lenient");
            const bytes = new TextEncoder().encode(content);
            const bare = adapterFor(version)?.adapt(rawOutput({ content: stripThoughts(content) }), "lenient");
            expect({ ...adapted, rawHash: "" }).toEqual({ ...bare, rawHash: "" });
            if (adapted?.canonicalMessage) {
              expect(pass(visible, decoded(cutAt(bytes, cuts)))).toBe(adapted.canonicalMessage.content);
            }
          },
        ),
        { numRuns: 2000 },
      );
    },
  );

  test("holds no calls and no NOTES, whatever it quotes", () => {
    for (const version of CURRENT) {
      const content = `<think>I could write ${block} or ${notes}, or ${toolBlock("[")}.</think>No need.`;
      expect(adapterFor(version)?.adapt(rawOutput({ content }), "strict")).toMatchObject({
        status: "native",
        canonicalMessage: { content: "No need.", toolCalls: [] },
        notes: null,
      });
    }
  });

  test("may precede a call, which is then made", () => {
    const native = adapterFor("native-tools@2");
    const content = `<think>${block}`;
    expect(native?.adapt(rawOutput({ content, toolCalls: [rawCall()] }), "strict")).toMatchObject({
      canonicalMessage: { content: "", toolCalls: [{ id: "c1" }] },
    });
    const marker = adapterFor("marker-json@2");
    expect(marker?.adapt(rawOutput({ content: `<think>${block}</think>${block}` }), "strict")).toMatchObject({
      canonicalMessage: { content: "", toolCalls: [{ id: "t1" }] },
    });
  });

  test("alone is no answer", () => {
    for (const version of CURRENT) {
      for (const content of ["<think>hm</think>\n", `<think>${block}`, "<think>"]) {
        expect(adapterFor(version)?.adapt(rawOutput({ content }), "lenient")).toMatchObject({
          status: "rejected",
          failureCode: "protocol.empty",
        });
      }
    }
  });

  test("was part of the answer in version 1, which contracts of older runs name", () => {
    const content = `<think>${block}</think>Yes.`;
    expect(adapterFor("marker-json@1")?.adapt(rawOutput({ content }), "strict")).toMatchObject({
      canonicalMessage: { content: "<think></think>Yes.", toolCalls: [{ id: "t1" }] },
    });
  });
});
