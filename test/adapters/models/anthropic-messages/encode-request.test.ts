import { describe, expect, test } from "vitest";
import { encodeRequest } from "../../../../src/adapters/models/anthropic-messages/encode-request.ts";
import type { ModelRequest, PromptMessage } from "../../../../src/runtime/ports/model-backend.ts";
import { verifies } from "../../../requirements.ts";

const parameters = { type: "object", properties: { path: { type: "string" } } };
const tools = [{ name: "fs.read_text", description: "Read a file.", parameters }];
const user: PromptMessage = { role: "user", content: "Hi “you”\n" };
const base: ModelRequest = { model: "m-1", messages: [user], tools: [], toolChoice: "auto", maxOutputTokens: 8_192 };
const text = (written: string) => ({ type: "text", text: written });
const call = { id: "toolu_1", tool: "fs.read_text", argumentsText: '{"path":"a"}' };
const use = { type: "tool_use", id: "toolu_1", name: "fs__read_text", input: { path: "a" } };

describe("turns", () => {
  test.each<[string, readonly PromptMessage[], readonly object[]]>([
    ["a question", [user], [{ role: "user", content: [text("Hi “you”\n")] }]],
    [
      "a conversation",
      [user, { role: "assistant", content: "Hello", toolCalls: [] }, { role: "user", content: "Bye" }],
      [
        { role: "user", content: [text("Hi “you”\n")] },
        { role: "assistant", content: [text("Hello")] },
        { role: "user", content: [text("Bye")] },
      ],
    ],
    [
      "two calls and their results, with the next question in the same turn",
      [
        { role: "assistant", content: "So:", toolCalls: [call, { ...call, id: "a.b:2", argumentsText: "" }] },
        { role: "tool", callId: "toolu_1", tool: "fs.read_text", content: "one" },
        { role: "tool", callId: "a.b:2", tool: "fs.read_text", content: "two" },
        { role: "user", content: "And?" },
      ],
      [
        { role: "assistant", content: [text("So:"), use, { ...use, id: "a_dot_b_colon_2", input: {} }] },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "toolu_1", content: "one" },
            { type: "tool_result", tool_use_id: "a_dot_b_colon_2", content: "two" },
            text("And?"),
          ],
        },
      ],
    ],
    [
      "nothing of what is blank",
      [user, { role: "assistant", content: " \n", toolCalls: [] }, { role: "user", content: "Still there?" }],
      [{ role: "user", content: [text("Hi “you”\n"), text("Still there?")] }],
    ],
    [
      "a name and arguments the model made up",
      [{ role: "assistant", content: "", toolCalls: [{ ...call, tool: "Read File", argumentsText: "{oops" }] }],
      [{ role: "assistant", content: [{ ...use, name: "Read_File", input: {} }] }],
    ],
  ])("%s", (_, messages, wire) => {
    expect(encode({ messages })["messages"]).toEqual(wire);
  });

  test("what the system says stands apart, wherever it was said", () => {
    const messages: PromptMessage[] = [
      { role: "system", content: "Be brief." },
      user,
      { role: "system", content: " " },
      { role: "system", content: "Answer now." },
    ];
    expect(encode({ messages })).toMatchObject({ system: "Be brief.\n\nAnswer now.", messages: [{ role: "user" }] });
    expect(encode({})).not.toHaveProperty("system");
  });
});

describe("parameters", () => {
  const plain = { model: "m-1", max_tokens: 8_192, stream: false };
  const wireTools = [{ name: "fs__read_text", description: "Read a file.", input_schema: parameters }];
  test.each<[Partial<ModelRequest>, object]>([
    [{}, plain],
    [{ toolChoice: "required" }, plain],
    [{ tools }, { ...plain, tools: wireTools, tool_choice: { type: "auto" } }],
    [
      { tools, toolChoice: "required" },
      { ...plain, tools: wireTools, tool_choice: { type: "any" } },
    ],
    [
      { tools, toolChoice: "none" },
      { ...plain, tools: wireTools, tool_choice: { type: "none" } },
    ],
  ])("%j", (more, wire) => {
    const { messages: _, ...said } = encode(more);
    expect(said).toEqual(wire);
  });

  test("where no tool is offered any more, those that were called are named and none may be", () => {
    const messages: PromptMessage[] = [user, { role: "assistant", content: "", toolCalls: [call, call] }];
    expect(encode({ messages, toolChoice: "none" })).toMatchObject({
      tools: [{ name: "fs__read_text", input_schema: { type: "object" } }],
      tool_choice: { type: "none" },
    });
  });

  test("a model that cannot be made to call a tool is not told to", () => {
    const asked = encode({ model: "claude-opus-5-5", tools, toolChoice: "required" });
    expect(asked["tool_choice"]).toEqual({ type: "auto" });
  });

  test("streamed when somebody listens", () => {
    expect(JSON.parse(encodeRequest(base, true)).stream).toBe(true);
  });
});

describe("thinking", () => {
  const opus = "claude-opus-5-5";
  const old = "claude-sonnet-4-5-20250929";
  const result: PromptMessage = { role: "tool", callId: "toolu_1", tool: "fs.read_text", content: "one" };
  const toolCalls = [{ id: "toolu_1", tool: "fs.read_text", argumentsText: "{}" }];
  const called = { role: "assistant", content: "", toolCalls } as const;
  const thoughts = [{ place: 0, block: { type: "thinking", thinking: "Hm.", signature: "s" } }];
  const thought: PromptMessage = { ...called, thoughts };
  const adaptive = (effort: string) => ({ thinking: { type: "adaptive" }, output_config: { effort } });
  const budget = (budget_tokens: number) => ({ thinking: { type: "enabled", budget_tokens } });
  test.each<[Partial<ModelRequest>, object]>([
    [{ model: opus }, {}],
    [{ model: opus, effort: "low" }, adaptive("low")],
    [{ model: "claude-opus-4-6", effort: "medium" }, adaptive("medium")],
    [{ model: opus, effort: "high" }, adaptive("high")],
    [{ model: opus, effort: "off" }, { output_config: { effort: "low" } }],
    [{ model: opus, effort: "high", tools, toolChoice: "required" }, { output_config: { effort: "high" } }],
    [{ model: old }, {}],
    [{ model: old, effort: "off" }, { thinking: { type: "disabled" } }],
    [{ model: old, effort: "low" }, budget(1_024)],
    [{ model: "claude-opus-4-20250514", effort: "medium" }, budget(4_096)],
    [{ model: "claude-3-7-sonnet-latest", effort: "high" }, budget(6_144)],
    [{ model: old, effort: "high", maxOutputTokens: 18_432 }, budget(16_384)],
    [{ model: old, effort: "high", maxOutputTokens: 2_048 }, budget(1_024)],
    [{ model: "kimi-k2", effort: "high", maxOutputTokens: 65_536 }, budget(16_384)],
    [{ model: old, effort: "high", maxOutputTokens: 2_047 }, {}],
    [{ model: old, effort: "high", tools, toolChoice: "required" }, {}],
    [{ model: old, effort: "low", messages: [user, called, result] }, {}],
    [{ model: old, effort: "low", messages: [user, thought, result] }, budget(1_024)],
    [{ model: old, effort: "low", messages: [user, thought, result, called, result] }, budget(1_024)],
    [{ model: old, effort: "low", messages: [user, called, result, thought, result] }, {}],
    [{ model: old, effort: "low", messages: [user, called, result, user] }, budget(1_024)],
    [{ model: old, effort: "low", messages: [user, { ...called, toolCalls: [] }, result] }, budget(1_024)],
  ])("%j", (more, wire) => {
    const { thinking, output_config } = encode(more);
    expect(JSON.parse(JSON.stringify({ thinking, output_config }))).toEqual(wire);
  });
});

verifies("T-3d/params", "temperature reaches the wire when it is set, except beside extended thinking", () => {
  expect(encode({ temperature: 0 })).toMatchObject({ temperature: 0 });
  expect(encode({ temperature: 0.5, effort: "off", model: "claude-3-7-sonnet-latest" })).toHaveProperty("temperature");
  expect(encode({})).not.toHaveProperty("temperature");
  const thinking = encode({ temperature: 0.5, effort: "high", model: "claude-3-7-sonnet-latest" });
  expect(thinking).toHaveProperty("thinking");
  expect(thinking).not.toHaveProperty("temperature");
});

function encode(more: Partial<ModelRequest>): Record<string, unknown> {
  return JSON.parse(encodeRequest({ ...base, ...more }, false));
}
