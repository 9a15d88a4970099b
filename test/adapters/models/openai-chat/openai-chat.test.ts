import { afterEach, expect, test } from "vitest";
import { configureModel } from "../../../../src/adapters/models/configure-model.ts";
import type { ModelReply, ModelRequest, PromptMessage } from "../../../../src/runtime/ports/model-backend.ts";
import {
  answer,
  type ChatRequestBody,
  type OpenAiServer,
  type ServerScript,
  startOpenAiServer,
} from "../../../loopback/openai-server.ts";
import { testBackend } from "../backend-suite.ts";
import { manualClock } from "../manual-clock.ts";

testBackend({
  kind: "openai_compatible",
  start: startOpenAiServer,
  identify: (key) => ["authorization", `Bearer ${key}`],
  toolStop: "tool_calls",
  eventsToText: 2,
  document: { model: "m", choices: [{ message: { content: "Hi" }, finish_reason: "stop" }] },
  failure: (message) => ({ error: { message } }),
});

const servers: OpenAiServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const call = { id: "call_1", tool: "fs.read_text", argumentsText: '{"path":"a.txt"}' };
const read = { name: "fs.read_text", arguments: { path: "a.txt" } };
const question: PromptMessage = { role: "user", content: "Read a.txt" };
const request: ModelRequest = {
  model: "scripted",
  messages: [question],
  tools: [{ name: "fs.read_text", description: "Read.", parameters: { type: "object" } }],
  toolChoice: "auto",
  maxOutputTokens: 64,
};

test("under marker-json the wire has no tools, and text with a block is passed on as it is", async () => {
  const text = '<<<TOOL_CALLS_JSON>>>[{"id":"t1","tool":"fs.read_text","args":{}}]<<<END_TOOL_CALLS_JSON>>>';
  const { ask, bodies } = await serve(() => answer({ text }), "marker-json");
  expect(await ask(request)).toMatchObject({ ok: true, raw: { content: text, toolCalls: [] } });
  const [body] = bodies();
  expect(body).not.toHaveProperty("tools");
  expect(body).not.toHaveProperty("tool_choice");
  expect(body?.messages.map(({ role }) => role)).toEqual(["system", "user"]);
});

test("what a model thought before its call is told, and goes back beside the call it was thought for", async () => {
  const { ask, bodies } = await serve((_, index) =>
    index === 0 ? answer({ reasoning: "A file, then.", calls: [read] }) : answer({ text: "Done." }),
  );
  const reply = await ask(request);
  expect(reply).toMatchObject({ ok: true, reasoning: "A file, then.", raw: { content: "" } });
  const thoughts = reply.ok ? reply.thoughts : undefined;
  expect(thoughts).toEqual({ kept: { reasoning_content: "A file, then." }, isSigned: false });
  const spoken = { role: "assistant", content: "", toolCalls: [call] } as const;
  const result: PromptMessage = { role: "tool", callId: "call_1", tool: "fs.read_text", content: "{}" };
  const note: PromptMessage = { role: "system", content: "Answer now." };
  const thinker: PromptMessage = { ...spoken, thoughts: thoughts?.kept ?? null };
  await ask({ ...request, messages: [question, thinker, result, note] });
  await ask({ ...request, messages: [question, spoken, result] });
  expect(bodies().map(({ messages }) => messages[1]?.["reasoning_content"])).toEqual([
    undefined,
    "A file, then.",
    undefined,
  ]);
});

async function serve(script: ServerScript, profile: "native-tools" | "marker-json" = "native-tools") {
  const server = await startOpenAiServer(script);
  servers.push(server);
  const { backend } = configureModel({
    ref: "loopback:scripted",
    kind: "openai_compatible",
    baseUrl: server.baseUrl,
    model: "scripted",
    profile,
    contextWindow: 8_192,
    maxOutputTokens: 1_024,
    price: null,
    isFree: true,
    apiKey: null,
    clock: manualClock(),
  });
  return {
    ask: (asked: ModelRequest): Promise<ModelReply> =>
      backend.complete(asked, { signal: new AbortController().signal, onText: null }),
    bodies: (): readonly ChatRequestBody[] => server.requests.map(({ body }) => body),
  };
}
