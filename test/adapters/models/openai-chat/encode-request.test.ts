import { describe, expect, test } from "vitest";
import { type ChatDialect, encodeRequest } from "../../../../src/adapters/models/openai-chat/encode-request.ts";
import type { ModelRequest, PromptMessage } from "../../../../src/runtime/ports/model-backend.ts";
import { verifies } from "../../../requirements.ts";

const parameters = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
const tools = [{ name: "fs.read_text", description: "Read a file.", parameters }];
const base: ModelRequest = { model: "m-1", messages: [], tools: [], toolChoice: "auto", maxOutputTokens: 256 };

const dialect: ChatDialect = { limitField: "max_tokens", translatesEffort: false };

describe("messages", () => {
  const call = (tool: string, argumentsText = '{"path":"a"}') => ({ id: "call_1", tool, argumentsText });
  const wireCall = (name: string, text = '{"path":"a"}') => {
    return { id: "call_1", type: "function", function: { name, arguments: text } };
  };
  test.each<[string, PromptMessage, object]>([
    ["system", { role: "system", content: "Be brief." }, { role: "system", content: "Be brief." }],
    ["user", { role: "user", content: "Hi “you”\n" }, { role: "user", content: "Hi “you”\n" }],
    ["assistant", { role: "assistant", content: "Hello", toolCalls: [] }, { role: "assistant", content: "Hello" }],
    ["empty assistant", { role: "assistant", content: "", toolCalls: [] }, { role: "assistant", content: "" }],
    [
      "a call beside text",
      { role: "assistant", content: "Reading.", toolCalls: [call("fs.read_text")] },
      { role: "assistant", content: "Reading.", tool_calls: [wireCall("fs__read_text")] },
    ],
    [
      "a call alone, without arguments",
      { role: "assistant", content: "", toolCalls: [call("clock.now", "")] },
      { role: "assistant", content: null, tool_calls: [wireCall("clock__now", "{}")] },
    ],
    [
      "a name the model made up",
      { role: "assistant", content: "", toolCalls: [call("Read File; rm -rf"), call(""), call("x".repeat(80))] },
      {
        role: "assistant",
        content: null,
        tool_calls: [wireCall("Read_File__rm_-rf"), wireCall("_"), wireCall("x".repeat(80))],
      },
    ],
    [
      "an impossible name of great length",
      { role: "assistant", content: "", toolCalls: [call("X".repeat(80))] },
      { role: "assistant", content: null, tool_calls: [wireCall("X".repeat(64))] },
    ],
    [
      "a result",
      { role: "tool", callId: "call_1", tool: "fs.read_text", content: '{"ok":true}' },
      { role: "tool", tool_call_id: "call_1", content: '{"ok":true}' },
    ],
  ])("%s", (_, message, wire) => {
    expect(JSON.parse(encodeRequest({ ...base, messages: [message] }, false, dialect)).messages).toEqual([wire]);
  });
});

describe("parameters", () => {
  const wireTools = [
    { type: "function", function: { name: "fs__read_text", description: "Read a file.", parameters } },
  ];
  const plain = { model: "m-1", messages: [], max_tokens: 256, stream: false };
  const streamed = { ...plain, stream: true, stream_options: { include_usage: true } };
  test.each<[Partial<ModelRequest>, boolean, object]>([
    [{}, false, plain],
    [{}, true, streamed],
    [{ toolChoice: "required" }, false, plain],
    [{ tools }, false, { ...plain, tools: wireTools, tool_choice: "auto" }],
    [{ tools, toolChoice: "required" }, true, { ...streamed, tools: wireTools, tool_choice: "required" }],
    [{ tools, toolChoice: "none" }, false, { ...plain, tools: wireTools, tool_choice: "none" }],
    [{ effort: "high" }, false, { ...plain, reasoning_effort: "high" }],
    [{ effort: "off" }, false, { ...plain, reasoning_effort: "none" }],
  ])("%j, streamed: %j", (more, isStreamed, wire) => {
    expect(JSON.parse(encodeRequest({ ...base, ...more }, isStreamed, dialect))).toEqual(wire);
  });

  test("the limit is called as the server knows it", () => {
    const wire = JSON.parse(encodeRequest(base, false, { ...dialect, limitField: "max_completion_tokens" }));
    expect(wire).toEqual({ model: "m-1", messages: [], max_completion_tokens: 256, stream: false });
  });
});

test("what was thought before a call goes back beside it, and beside nothing else", () => {
  const toolCalls = [{ id: "call_1", tool: "clock.now", argumentsText: "{}" }];
  const messages: PromptMessage[] = [
    { role: "user", content: "When?" },
    { role: "assistant", content: "", toolCalls, thoughts: { reasoning_content: "A clock, then." } },
    { role: "tool", callId: "call_1", tool: "clock.now", content: "12" },
    { role: "assistant", content: "Noon.", toolCalls: [], thoughts: { reasoning_content: "That is it." } },
  ];
  const wire = JSON.parse(encodeRequest({ ...base, messages }, false, dialect)).messages;
  expect(wire.map((message: object) => ("reasoning_content" in message ? message.reasoning_content : null))).toEqual([
    null,
    "A clock, then.",
    null,
    null,
  ]);
});

test("what stood beside a call stands beside it again", () => {
  const call = (id: string) => ({ id, tool: "clock.now", argumentsText: "{}" });
  const extra = { google: { thought_signature: "S==" } };
  const messages: PromptMessage[] = [
    { role: "assistant", content: "", toolCalls: [call("a"), call("b")], thoughts: { extra_content: [extra, null] } },
  ];
  const [wire] = JSON.parse(encodeRequest({ ...base, messages }, false, dialect)).messages;
  const written = { type: "function", function: { name: "clock__now", arguments: "{}" } };
  expect(wire).toEqual({
    role: "assistant",
    content: null,
    tool_calls: [
      { id: "a", ...written, extra_content: extra },
      { id: "b", ...written },
    ],
  });
});

test.each<[string, Partial<ModelRequest>, object]>([
  ["gpt-5.6", { tools }, { reasoning_effort: "none" }],
  ["gpt-5.6", { tools, effort: "high" }, { reasoning_effort: "none" }],
  ["gpt-5.6", { effort: "high" }, { reasoning_effort: "high" }],
  ["gpt-5.4", { tools, effort: "high" }, {}],
  ["gpt-5.4", {}, {}],
])("%s with %j says %j of effort", (model, more, said) => {
  const wire = JSON.parse(encodeRequest({ ...base, model, ...more }, false, dialect));
  expect("reasoning_effort" in wire ? { reasoning_effort: wire.reasoning_effort } : {}).toEqual(said);
});

verifies("T-3d/params", "temperature reaches the wire when it is set, and only then", () => {
  const wire = (more: Partial<ModelRequest>) => JSON.parse(encodeRequest({ ...base, ...more }, false, dialect));
  expect(wire({ temperature: 0 })).toMatchObject({ temperature: 0 });
  expect(wire({})).not.toHaveProperty("temperature");
});
