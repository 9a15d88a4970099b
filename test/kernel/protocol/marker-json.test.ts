import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { markerJson } from "../../../src/kernel/protocol/marker-json.ts";
import { TOOL_CALLS_BEGIN, TOOL_CALLS_END } from "../../../src/kernel/protocol/markers.ts";
import type { AdapterMode } from "../../../src/kernel/protocol/protocol-adapter.ts";
import { verifies } from "../../requirements.ts";
import { callText, notesBlock, rawCall, rawOutput, toolBlock } from "./raw-output.ts";

const adapt = (content: string, mode: AdapterMode = "strict") => markerJson.adapt(rawOutput({ content }), mode);
const inBlock = (inside: string, mode: AdapterMode = "strict") => adapt(`a${toolBlock(inside)}b`, mode);

describe("marker-json", () => {
  verifies(
    ["S-3.1/block", "M-4.4"],
    "makes invocations of the block's calls, in order, and shows the text around it",
    () => {
      const inside = `\n[${callText("t2", "fs.read_text", '{"path":"a"}')},\n ${callText("t1", "shell.exec")}]\n`;
      expect(inBlock(inside)).toMatchObject({
        status: "native",
        failureCode: null,
        canonicalMessage: {
          role: "assistant",
          content: "ab",
          toolCalls: [
            { id: "t2", name: "fs.read_text", arguments: { path: "a" }, sourceModel: "test-model", rawPayload: null },
            { id: "t1", name: "shell.exec", arguments: {}, sourceModel: "test-model", rawPayload: null },
          ],
        },
      });
    },
  );

  verifies(["S-3.1/block", "S-3.1/ids"], "any list of calls with unique ids comes through as it was written", () => {
    const id = fc.stringMatching(/^[A-Za-z0-9_.:-]{1,128}$/);
    const args = fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.boolean(), fc.integer(), fc.constant(null)), {
      noNullPrototype: true,
    });
    const call = fc.record({ id, tool: fc.string({ minLength: 1, maxLength: 20 }), args });
    fc.assert(
      fc.property(fc.uniqueArray(call, { selector: (each) => each.id, minLength: 1 }), (list) => {
        // Escaped as a model has to: a bare marker in a string would end the block.
        const inside = JSON.stringify(list).replaceAll("<", "\\u003c");
        const calls = inBlock(inside).canonicalMessage?.toolCalls;
        expect(calls?.map(({ id, name, arguments: args }) => ({ id, tool: name, args }))).toEqual(list);
      }),
    );
  });

  test.each([
    ["an object", "{}", "protocol.not-an-array"],
    ["null", "null", "protocol.not-an-array"],
    ["a string", '"[]"', "protocol.not-an-array"],
    ["nothing", "", "protocol.invalid-json"],
    ["half an array", "[", "protocol.invalid-json"],
    ["a comment", "/* x */[]", "protocol.invalid-json"],
    ["a trailing comma", `[${callText("t1")},]`, "protocol.invalid-json"],
    ["text before the array", "calls: []", "protocol.invalid-json"],
    ["a byte order mark before the array", "\uFEFF[]", "protocol.invalid-json"],
    ["text after the array", "[] ok", "protocol.trailing-garbage"],
    ["two arrays", "[][]", "protocol.trailing-garbage"],
    ["a duplicate key", '[{"id":"t1","tool":"a","args":{},"args":{"x":1}}]', "protocol.duplicate-key"],
    ["a duplicate key in arguments", '[{"id":"t1","tool":"a","args":{"x":{"y":1,"y":2}}}]', "protocol.duplicate-key"],
    ["a call that is a string", '["fs.list_dir"]', "protocol.not-a-call"],
    ["a call that is null", "[null]", "protocol.not-a-call"],
    ["a call that is an array", "[[]]", "protocol.not-a-call"],
    ["an unknown key", '[{"id":"t1","tool":"a","args":{},"approved":true}]', "protocol.unknown-call-key"],
    ["the native names of keys", '[{"id":"t1","name":"a","arguments":{}}]', "protocol.unknown-call-key"],
    ["a prototype", '[{"id":"t1","tool":"a","args":{},"__proto__":{}}]', "protocol.unknown-call-key"],
    ["an id that is a number", '[{"id":1,"tool":"a","args":{}}]', "protocol.invalid-id"],
    ["an id that is null", '[{"id":null,"tool":"a","args":{}}]', "protocol.invalid-id"],
    ["no tool", '[{"id":"t1","args":{}}]', "protocol.invalid-tool-name"],
    ["a tool that is a number", '[{"id":"t1","tool":1,"args":{}}]', "protocol.invalid-tool-name"],
    ["an empty tool", '[{"id":"t1","tool":"","args":{}}]', "protocol.invalid-tool-name"],
    ["no args", '[{"id":"t1","tool":"a"}]', "protocol.invalid-arguments"],
    ["args that are null", '[{"id":"t1","tool":"a","args":null}]', "protocol.invalid-arguments"],
    ["args that are an array", '[{"id":"t1","tool":"a","args":[]}]', "protocol.invalid-arguments"],
    ["args that are JSON text", '[{"id":"t1","tool":"a","args":"{}"}]', "protocol.invalid-arguments"],
    ["an id twice", `[${callText("t1")},${callText("t2")},${callText("t1")}]`, "protocol.duplicate-id"],
    [
      "an id twice, once escaped",
      '[{"id":"t1","tool":"a","args":{}},{"id":"\\u00741","tool":"a","args":{}}]',
      "protocol.duplicate-id",
    ],
    ["a block in the block", toolBlock("[]"), "protocol.nested-block"],
    ["notes in the block", notesBlock("{}"), "protocol.notes-in-tool-block"],
    [
      "a marker in a string",
      '[{"id":"t1","tool":"a","args":{"x":"<<<NOTES_JSON>>>"}}]',
      "protocol.notes-in-tool-block",
    ],
    ["a fence with text beside it", "see:\n```json\n[]\n```", "protocol.invalid-json"],
    ["a fence that does not close", "```json\n[]", "protocol.invalid-json"],
    ["a fence of another language", "```js\n[]\n```", "protocol.invalid-json"],
    ["a fence on one line", "```json [] ```", "protocol.invalid-json"],
  ])("rejects %s in both modes", (_, inside, failureCode) => {
    for (const mode of ["strict", "lenient"] as const) {
      expect(inBlock(inside, mode)).toMatchObject({ status: "rejected", failureCode, canonicalMessage: null });
    }
  });

  test.each([
    ["two blocks", `${toolBlock("[]")}${toolBlock("[]")}`, "protocol.several-blocks"],
    ["an end before its begin", `${TOOL_CALLS_END}${TOOL_CALLS_BEGIN}`, "protocol.unmatched-end"],
    ["an end alone", `text${TOOL_CALLS_END}`, "protocol.unmatched-end"],
    ["no end", `${TOOL_CALLS_BEGIN}[${callText("t1")}]`, "protocol.unterminated-block"],
    [
      "half an end",
      `${TOOL_CALLS_BEGIN}[${callText("t1")}]${TOOL_CALLS_END.slice(0, -1)}`,
      "protocol.unterminated-block",
    ],
    ["a block in notes", notesBlock(toolBlock("[]")), "protocol.nested-block"],
    ["an empty block and nothing else", toolBlock("[]"), "protocol.empty"],
  ])("rejects %s in both modes", (_, content, failureCode) => {
    for (const mode of ["strict", "lenient"] as const) {
      expect(adapt(content, mode)).toMatchObject({ status: "rejected", failureCode });
    }
  });

  test("an empty block beside text is an answer without calls", () => {
    expect(inBlock("[]")).toMatchObject({ status: "native", canonicalMessage: { content: "ab", toolCalls: [] } });
  });

  verifies("M-4.2", "no prefix of an answer yields a call", () => {
    const content = `Sure.${toolBlock(`[${callText("t1")}]`)}`;
    for (let length = 0; length < content.length; length += 1) {
      for (const mode of ["strict", "lenient"] as const) {
        const result = adapt(content.slice(0, length), mode);
        expect(result.canonicalMessage?.toolCalls ?? []).toEqual([]);
      }
    }
    expect(adapt(content).canonicalMessage?.toolCalls).toHaveLength(1);
  });

  verifies("M-4.2", "recovers a fence around the array in lenient mode only", () => {
    for (const inside of [
      `\`\`\`json\n[${callText("t1")}]\n\`\`\``,
      `\n \`\`\`\t\r\n[${callText("t1")}]\r\n  \`\`\`\t\r\n`,
    ]) {
      expect(inBlock(inside)).toMatchObject({ status: "rejected", failureCode: "protocol.fenced-block" });
      expect(inBlock(inside, "lenient")).toMatchObject({
        status: "recovered",
        failureCode: "protocol.fenced-block",
        canonicalMessage: { content: "ab", toolCalls: [{ id: "t1", name: "fs.list_dir" }] },
      });
    }
    expect(inBlock("```json\n{}\n```", "lenient")).toMatchObject({ failureCode: "protocol.not-an-array" });
  });

  verifies("M-4.2", "recovers missing ids in lenient mode only", () => {
    const inside = `[{"tool":"a","args":{}},${callText("call_1")},{"id":"","tool":"b","args":{}}]`;
    expect(inBlock(inside)).toMatchObject({ status: "rejected", failureCode: "protocol.missing-id" });
    expect(inBlock(inside, "lenient")).toMatchObject({
      status: "recovered",
      failureCode: "protocol.missing-id",
      canonicalMessage: {
        toolCalls: [
          { id: "call_2", rawPayload: { id: "", name: "a" } },
          { id: "call_1", rawPayload: null },
          { id: "call_3", rawPayload: { id: "", name: "b" } },
        ],
      },
    });
  });

  verifies("M-4.2", "recovers ids that could hold prose in lenient mode only", () => {
    for (const id of ["x".repeat(129), "a b"]) {
      const inside = `[${callText(id)}]`;
      expect(inBlock(inside)).toMatchObject({ status: "rejected", failureCode: "protocol.invalid-id" });
      expect(inBlock(inside, "lenient")).toMatchObject({
        status: "recovered",
        failureCode: "protocol.invalid-id",
        canonicalMessage: { toolCalls: [{ id: "call_1", rawPayload: { id, name: "fs.list_dir" } }] },
      });
    }
  });

  verifies("M-4.2", "rejects native calls", () => {
    for (const mode of ["strict", "lenient"] as const) {
      expect(markerJson.adapt(rawOutput({ content: "text", toolCalls: [rawCall()] }), mode)).toMatchObject({
        status: "rejected",
        failureCode: "protocol.wrong-channel",
      });
    }
  });

  test("a name is what the model wrote: encodings belong to native protocols", () => {
    const result = inBlock(`[${callText("t1", "fs__read_text")}]`);
    expect(result.canonicalMessage?.toolCalls).toMatchObject([{ name: "fs__read_text", rawPayload: null }]);
  });
});
