import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { grammarJson } from "../../../src/kernel/protocol/grammar-json.ts";
import { TOOL_CALLS_BEGIN, TOOL_CALLS_END } from "../../../src/kernel/protocol/markers.ts";
import type { AdapterMode } from "../../../src/kernel/protocol/protocol-adapter.ts";
import { compose } from "../../../src/kernel/protocol/release/compose.ts";
import { documentText } from "../../../src/kernel/protocol/release/document-text.ts";
import { markerStripper } from "../../../src/kernel/protocol/release/marker-stripper.ts";
import { thoughtStripper } from "../../../src/kernel/protocol/release/thought-stripper.ts";
import { verifies } from "../../requirements.ts";
import { notesBlock, rawCall, rawOutput } from "./raw-output.ts";
import { cutAt, everyCut, pass } from "./release/every-cut.ts";

const adapt = (content: string, mode: AdapterMode = "strict", fields = {}) =>
  grammarJson.adapt(rawOutput({ content, ...fields }), mode);
const CALL = '{"tool":"fs.read_text","args":{"path":"a"}}';

describe("grammar-json", () => {
  verifies("M-4.4", "numbers the calls of a document, in order", () => {
    expect(adapt(`{"calls":[${CALL},{"tool":"fs.list_dir","args":{}}]}`)).toMatchObject({
      status: "native",
      canonicalMessage: {
        content: "",
        toolCalls: [
          { id: "call_1", name: "fs.read_text", arguments: { path: "a" }, sourceModel: "test-model", rawPayload: null },
          { id: "call_2", name: "fs.list_dir", arguments: {} },
        ],
      },
    });
  });

  test("a text, its NOTES, and both beside calls", () => {
    const text = JSON.stringify(`Hello.\n${notesBlock('{"set_goals":["a"]}')}`);
    expect(adapt(`{"text":${text}}`)).toMatchObject({
      canonicalMessage: { content: "Hello.\n", toolCalls: [] },
      notes: { status: "parsed" },
    });
    expect(adapt(`{"calls":[${CALL}],"text":"Look:"}`).canonicalMessage).toMatchObject({
      content: "Look:",
      toolCalls: [{ name: "fs.read_text" }],
    });
    expect(adapt('<think>hm</think> {"text":"a"}').canonicalMessage?.content).toBe("a");
  });

  test("markers within arguments are data", () => {
    const args = JSON.stringify({ text: `${TOOL_CALLS_BEGIN}[]${TOOL_CALLS_END}` });
    expect(adapt(`{"calls":[{"tool":"a","args":${args}}]}`).status).toBe("native");
  });

  verifies("M-P5.2/whole", "what was cut off, does not parse or is another document is refused, in both modes", () => {
    const rows = [
      ["Hello.", "protocol.invalid-json"],
      ["", "protocol.invalid-json"],
      ["[]", "protocol.not-a-document"],
      ['"a"', "protocol.not-a-document"],
      ['{"answer":"a"}', "protocol.not-a-document"],
      ['{"text":1}', "protocol.not-a-document"],
      ['{"text":"a","text":"b"}', "protocol.duplicate-key"],
      ['{"text":"a"} ok', "protocol.trailing-garbage"],
      ['{"calls":{}}', "protocol.not-an-array"],
      ['{"calls":["a"]}', "protocol.not-a-call"],
      ['{"calls":[{"id":"a","tool":"a","args":{}}]}', "protocol.unknown-call-key"],
      ['{"calls":[{"tool":1,"args":{}}]}', "protocol.invalid-tool-name"],
      ['{"calls":[{"tool":"","args":{}}]}', "protocol.invalid-tool-name"],
      ['{"calls":[{"tool":"a"}]}', "protocol.invalid-arguments"],
      ['{"calls":[],"text":" "}', "protocol.empty"],
      ["{}", "protocol.empty"],
      [`{"text":"${TOOL_CALLS_BEGIN}[]${TOOL_CALLS_END}"}`, "protocol.wrong-channel"],
    ] as const;
    for (const mode of ["strict", "lenient"] as const) {
      const found = rows.map(([content]) => [content, adapt(content, mode).failureCode]);
      expect(found).toEqual(rows.map((row) => [...row]));
    }
    const whole = `{"calls":[${CALL}]}`;
    expect(adapt(whole, "lenient", { stopReason: "length" }).failureCode).toBe("protocol.truncated");
    expect(adapt(whole, "lenient", { complete: false }).failureCode).toBe("protocol.incomplete");
    expect(adapt(whole, "lenient", { toolCalls: [rawCall()] }).failureCode).toBe("protocol.wrong-channel");
    for (let length = 0; length < whole.length; length += 1) {
      expect(adapt(whole.slice(0, length), "lenient").status).toBe("rejected");
    }
  });
});

const released = compose(compose(thoughtStripper, documentText), markerStripper);

describe("the stream of a document", () => {
  const anyText = fc.string({ unit: "grapheme", maxLength: 30 });

  verifies("M-F/stream", "however it is cut, it is the text of the message, and nothing of its calls", () => {
    const call = fc.record({
      tool: fc.constant("a.b"),
      args: fc.dictionary(anyText, fc.oneof(anyText, fc.jsonValue())),
    });
    const document = fc.record({ calls: fc.array(call, { maxLength: 3 }), text: anyText }, { requiredKeys: [] });
    fc.assert(
      fc.property(document, fc.boolean(), fc.array(fc.nat(400), { maxLength: 12 }), (value, isFirst, cuts) => {
        const { text, calls } = value;
        const ordered = isFirst ? { text, calls } : { calls, text };
        const content = JSON.stringify(ordered, null, isFirst ? 1 : 0);
        const { canonicalMessage } = adapt(content);
        const shown = pass(released, cutAt(content, cuts));
        if (canonicalMessage !== null) expect(shown).toBe(canonicalMessage.content);
        if (text === undefined) expect(shown).toBe("");
      }),
      { numRuns: 1500 },
    );
  });

  verifies("M-F/stream", "no free text leaves a document that begins with calls, at every split", () => {
    const content = '{"calls":[{"tool":"a","args":{"text":"SECRET","x":{"text":"SECRET \\" ]}"}}}]}';
    for (const chunks of everyCut(content)) expect(pass(released, chunks)).toBe("");
  });

  test.each([
    ["escapes", '{"text":"a\\n\\u00e9\\ud83d\\ude00\\"\\\\b"}', 'a\né😀"\\b'],
    ["white space", ' {\n"text" : "a" }', "a"],
    ["calls first", `{"calls":[${CALL}],"text":"a"}`, "a"],
    ["NOTES", JSON.stringify({ text: `a${notesBlock("{}")}b` }), "ab"],
    ["thoughts before it", '<think>no</think>{"text":"a"}', "a"],
  ])("each cut in two, and the cut into single units: %s", (_, content, expected) => {
    expect(adapt(content).canonicalMessage?.content).toBe(expected);
    for (const chunks of everyCut(content)) expect(pass(released, chunks)).toBe(expected);
  });

  test.each([
    ["Hello."],
    ["[1]"],
    ['{"calls":1,"text":"a"}'],
    ['{"other":"SECRET"}'],
    ['{"text":["SECRET"]}'],
    ['{"a":'],
  ])("what is no document shows nothing: %s", (content) => {
    for (const chunks of everyCut(content)) expect(pass(released, chunks)).toBe("");
  });
});
