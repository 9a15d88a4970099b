import { expect, test } from "vitest";
import { writeMarkerRequest } from "../../../src/adapters/models/marker-request.ts";
import { markerJson } from "../../../src/kernel/protocol/marker-json.ts";
import { MARKERS, TOOL_CALLS_BEGIN, TOOL_CALLS_END } from "../../../src/kernel/protocol/markers.ts";
import type { ModelRequest, PromptMessage } from "../../../src/runtime/ports/model-backend.ts";

const tools = [{ name: "fs.read_text", description: "Read a file.", parameters: { type: "object", title: "T1" } }];
const messages: readonly PromptMessage[] = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "Read a." },
];
const base: ModelRequest = { model: "m", messages, tools, toolChoice: "auto", maxOutputTokens: 9 };

test("the tools and the block join the first system message, and no tool is left for the wire", () => {
  const written = writeMarkerRequest(base);
  expect(written.tools).toEqual([]);
  expect(written.messages).toHaveLength(2);
  const [system, user] = written.messages;
  expect(system?.content.startsWith("Be brief.\n\n")).toBe(true);
  for (const part of [TOOL_CALLS_BEGIN, TOOL_CALLS_END, "fs.read_text", "Read a file.", '"title":"T1"']) {
    expect(system?.content).toContain(part);
  }
  expect(user).toEqual(messages[1]);
});

test("without a system message there is one now", () => {
  const written = writeMarkerRequest({ ...base, messages: messages.slice(1) });
  expect(written.messages.map(({ role }) => role)).toEqual(["system", "user"]);
});

test.each<Partial<ModelRequest>>([{ tools: [] }, { toolChoice: "none" }])("with %j no block is described", (more) => {
  expect(writeMarkerRequest({ ...base, ...more }).messages).toEqual(messages);
});

test("a required call is asked for in words", () => {
  const [auto, required] = (["auto", "required"] as const).map((toolChoice) => {
    return writeMarkerRequest({ ...base, toolChoice }).messages[0]?.content ?? "";
  });
  expect(required).not.toBe(auto);
  expect(required).toContain("requires a tool");
});

test("its own calls come back as a block that reads as the same calls, results as they are", () => {
  const args = { path: "a", text: `${MARKERS.join(" ")} "<<<<<<` };
  const result: PromptMessage = { role: "tool", callId: "t1", tool: "fs.read_text", content: '{"id":"t1","ok":true}' };
  const written = writeMarkerRequest({
    ...base,
    messages: [
      {
        role: "assistant",
        content: "Here goes.",
        toolCalls: [
          { id: "t1", tool: "fs.read_text", argumentsText: JSON.stringify(args) },
          { id: "t2", tool: "clock.now", argumentsText: "" },
        ],
      },
      result,
    ],
    tools: [],
  });
  const [assistant, tool] = written.messages;
  expect(tool).toEqual(result);
  expect(assistant).toMatchObject({ role: "assistant", toolCalls: [] });
  const content = assistant?.content ?? "";
  const adapted = markerJson.adapt(
    { content, toolCalls: [], stopReason: "stop", model: "m", complete: true },
    "strict",
  );
  expect(adapted).toMatchObject({
    status: "native",
    canonicalMessage: {
      content: "Here goes.\n",
      toolCalls: [
        { id: "t1", name: "fs.read_text", arguments: args },
        { id: "t2", name: "clock.now", arguments: {} },
      ],
    },
  });
});
