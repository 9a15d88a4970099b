import { describe, expect, test } from "vitest";
import { AnswerReader } from "../../../../src/adapters/models/answer-reader.ts";
import { MESSAGE_ANSWER } from "../../../../src/adapters/models/anthropic-messages/message-answer.ts";
import type { ModelReply } from "../../../../src/runtime/ports/model-backend.ts";
import type { ChatScript } from "../../../loopback/chat-wire.ts";
import { encodeDocument, encodeEvents } from "../../../loopback/messages-wire.ts";
import { manualClock } from "../manual-clock.ts";

const read = { name: "fs.read_text", arguments: { path: "ä🙂.txt" } };
const READ = { name: "fs__read_text", argumentsText: '{"path":"ä🙂.txt"}' };
const usage = { inputTokens: 12, outputTokens: 7 };

describe("an answer, streamed and whole:", () => {
  test.each<[string, ChatScript, object]>([
    ["text", { text: "Hello, wörld" }, { content: "Hello, wörld", toolCalls: [], stopReason: "end_turn" }],
    ["nothing at all", {}, { content: "", toolCalls: [], stopReason: "end_turn" }],
    ["a call", { calls: [read] }, { toolCalls: [{ id: "call_1", ...READ }], stopReason: "tool_use" }],
    [
      "text and two calls",
      { text: "So:", calls: [read, { ...read, id: "b" }], dialect: { pieceChars: 1 } },
      {
        content: "So:",
        toolCalls: [
          { id: "call_1", ...READ },
          { id: "b", ...READ },
        ],
      },
    ],
    ["a call without arguments", { calls: [{ ...read, arguments: {} }] }, { toolCalls: [{ argumentsText: "{}" }] }],
    ["a call without an id", { calls: [{ ...read, id: null }] }, { toolCalls: [{ id: null, ...READ }] }],
    ["a cut", { text: "Hel", finishReason: "length" }, { content: "Hel", stopReason: "max_tokens" }],
    ["no reason, but an end", { text: "Hi", finishReason: null }, { content: "Hi", stopReason: "" }],
    ["CRLF and comments", { text: "Hi", dialect: { newline: "\r\n", hasComments: true } }, { content: "Hi" }],
    ["a reason and an end", { text: "Hi", dialect: { saysDone: false } }, { content: "Hi", stopReason: "end_turn" }],
  ])("%s", (_, script, raw) => {
    const expected = { ok: true, raw: { model: "scripted-1", complete: true, ...raw }, usage };
    const streamed = hear(encodeEvents(script).join(""));
    expect(streamed.reply).toMatchObject(expected);
    expect(streamed.text).toBe(streamed.reply.ok ? streamed.reply.raw.content : null);
    expect(hear(encodeDocument(script), "application/json").reply).toMatchObject(expected);
  });

  test("what was thought is kept apart", () => {
    const script = { reasoning: "Hm, a question.", text: "Yes." };
    for (const { reply, text } of [hear(encodeEvents(script).join("")), hear(encodeDocument(script), "text/json")]) {
      expect(reply).toMatchObject({ ok: true, reasoning: "Hm, a question.", raw: { content: "Yes.", complete: true } });
      expect(text).toBe("Yes.");
    }
  });

  test.each([
    [{ prompt_tokens: -1, completion_tokens: 5 }, null],
    [{ prompt_tokens: 1, completion_tokens: 2 ** 31 + 1 }, null],
    [{ prompt_tokens: 2 ** 31, completion_tokens: 1, cache_read_input_tokens: 2 ** 31 }, null],
    [{ prompt_tokens: 1, completion_tokens: 1, cache_read_input_tokens: "many" }, null],
    [{}, null],
    [null, null],
    [
      { prompt_tokens: 3, completion_tokens: 0 },
      { inputTokens: 3, outputTokens: 0 },
    ],
  ])("usage %j is %j", (told, understood) => {
    expect(hear(encodeEvents({ text: "a", usage: told }).join("")).reply).toMatchObject({ usage: understood });
    expect(hear(encodeDocument({ text: "a", usage: told }), "text/json").reply).toMatchObject({ usage: understood });
  });
});

const open = (index: number, block: object) => ({ type: "content_block_start", index, content_block: block });
const tool = (index: number, more: object = {}) =>
  open(index, { type: "tool_use", id: "a", name: "x", input: {}, ...more });
const part = (index: number, partial_json: string) => delta(index, { type: "input_json_delta", partial_json });
const delta = (index: number, fields: object) => ({ type: "content_block_delta", index, delta: fields });
const close = (index: number) => ({ type: "content_block_stop", index });
const reason = (stop_reason: string, more: object = {}) => ({ type: "message_delta", delta: { stop_reason, ...more } });
const stop = { type: "message_stop" };
const overloaded = { type: "error", error: { type: "overloaded_error", message: "secret" } };

describe("a stream", () => {
  test.each<[string, readonly object[], object]>([
    [
      "with the arguments at the beginning of a block",
      [tool(0, { input: { a: 1 } }), close(0), reason("tool_use"), stop],
      { complete: true, toolCalls: [{ id: "a", name: "x", argumentsText: '{"a":1}' }] },
    ],
    [
      "of blocks that overlap",
      [
        tool(0),
        tool(1, { id: "b" }),
        part(1, "[1"),
        part(0, "[0"),
        part(0, "]"),
        part(1, "]"),
        close(1),
        close(0),
        stop,
      ],
      { complete: true, toolCalls: [{ argumentsText: "[0]" }, { argumentsText: "[1]" }] },
    ],
    [
      "with blocks and events nobody knows",
      [
        { type: "from_the_future" },
        open(0, { type: "server_tool_use", id: "s", name: "web_search", input: {} }),
        part(0, '{"query":"x"}'),
        close(0),
        open(1, { type: "redacted_thinking", data: "x" }),
        close(1),
        open(2, { type: "text", text: "a" }),
        delta(2, { type: "citations_delta", citation: {} }),
        close(2),
        reason("end_turn"),
        stop,
      ],
      { complete: true, content: "a", toolCalls: [] },
    ],
    ["that ends with a call still open", [tool(0), part(0, "{}"), reason("tool_use"), stop], { complete: false }],
    ["that ends with a call still open, unsaid", [tool(0), part(0, "{}"), reason("tool_use")], { complete: false }],
    ["without an end", [open(0, { type: "text", text: "a" }), close(0)], { complete: false, content: "a" }],
    ["with an error in the middle", [open(0, { type: "text", text: "a" }), overloaded, stop], { complete: false }],
    [
      "with two reasons, the cut one first",
      [open(0, { type: "text", text: "a" }), reason("max_tokens"), reason("end_turn"), stop],
      { stopReason: "max_tokens" },
    ],
    [
      "with a refusal that is explained",
      [open(0, { type: "text", text: "a" }), reason("refusal", { stop_details: { explanation: "No." } }), stop],
      { complete: true, content: "a\n\nNo.", stopReason: "refusal" },
    ],
    ["with a refusal that is not", [open(0, { type: "text", text: "a" }), reason("refusal"), stop], { content: "a" }],
    [
      "with a refusal without a word",
      [reason("refusal", { stop_details: null }), stop],
      { content: "The model refused to answer.", stopReason: "refusal" },
    ],
  ])("%s", (_, events, raw) => {
    expect(hear(streamOf(events)).reply).toMatchObject({ ok: true, raw });
  });

  test.each<[string, readonly object[]]>([
    ["a fragment of no block", [tool(0), part(1, '{"path":"b"}'), close(0), stop]],
    ["a fragment of a block that was closed", [tool(0), close(0), part(0, "{}"), stop]],
    ["an end of no block", [tool(0), close(1), stop]],
    ["no type", [tool(0), close(0), {}, stop]],
    ["nothing but an end", [stop]],
    ["far too many blocks", Array.from({ length: 1_025 }, (_, index) => tool(index))],
  ])("with %s is unreadable", (_, events) => {
    expect(hear(streamOf(events)).reply).toMatchObject({ ok: false, code: "provider.unreadable", retryable: false });
  });

  test.each(["{oops", "7", "[DONE]"])("with %j for a payload is unreadable", (payload) => {
    expect(hear(`data: ${payload}\n\n`).reply).toMatchObject({ ok: false, code: "provider.unreadable" });
  });
});

test.each(["<html>no</html>", "", "null", "[]", "{}", '{"type":"message","content":"Hi"}'])(
  "%j is no document",
  (body) => {
    expect(hear(body, "application/json").reply).toMatchObject({ ok: false, code: "provider.unreadable" });
  },
);

function hear(body: string, type = "text/event-stream"): { readonly reply: ModelReply; readonly text: string } {
  let text = "";
  const onText = (piece: string): void => {
    text += piece;
  };
  const reader = new AnswerReader(MESSAGE_ANSWER, manualClock(), onText, 1_024);
  reader.onHead({ status: 200, header: (name) => (name === "content-type" ? type : null) });
  reader.onBytes(Buffer.from(body));
  return { reply: reader.replyAt("complete"), text };
}

function streamOf(events: readonly object[]): string {
  return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
}
