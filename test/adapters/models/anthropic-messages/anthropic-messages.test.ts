import { afterEach, describe, expect, test } from "vitest";
import { configureModel } from "../../../../src/adapters/models/configure-model.ts";
import type { ModelReply, ModelRequest, PromptMessage } from "../../../../src/runtime/ports/model-backend.ts";
import { type AnthropicServer, startAnthropicServer } from "../../../loopback/anthropic-server.ts";
import type { MessagesRequestBody } from "../../../loopback/messages-rules.ts";
import { answer, json, type Reply } from "../../../loopback/openai-server.ts";
import { sealHidden, signatureOf } from "../../../loopback/thought-seal.ts";
import { testBackend } from "../backend-suite.ts";
import { manualClock } from "../manual-clock.ts";

testBackend({
  kind: "anthropic",
  start: startAnthropicServer,
  identify: (key) => ["x-api-key", key],
  toolStop: "tool_use",
  eventsToText: 4,
  document: { type: "message", model: "m", content: [{ type: "text", text: "Hi" }], stop_reason: "end_turn" },
  failure: (message) => ({ type: "error", error: { type: "api_error", message } }),
});

const servers: AnthropicServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const calls = [
  { id: "functions.read:0", tool: "fs.read_text", argumentsText: '{"path":"a.txt"}' },
  { id: "toolu_2", tool: "clock.now", argumentsText: "" },
];
const asked: readonly PromptMessage[] = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "Read a.txt" },
];
const midway: readonly PromptMessage[] = [
  ...asked,
  { role: "assistant", content: " ", toolCalls: calls },
  { role: "tool", callId: "functions.read:0", tool: "fs.read_text", content: '{"ok":true}' },
  { role: "tool", callId: "toolu_2", tool: "clock.now", content: "" },
];
/** The same by a model that thought before it called. */
const thinking = midway.map((message): PromptMessage => {
  const blocks = [
    { type: "thinking", thinking: "A file, then.", signature: signatureOf("A file, then.") },
    { type: "redacted_thinking", data: sealHidden("And the time.") },
  ];
  const thoughts = blocks.map((block) => ({ place: 0, block }));
  return message.role === "assistant" ? { ...message, thoughts } : message;
});
const request: ModelRequest = {
  model: "claude-opus-5",
  messages: midway,
  tools: [{ name: "fs.read_text", description: "Read.", parameters: { type: "object" } }],
  toolChoice: "auto",
  maxOutputTokens: 8_192,
};

describe("a server that keeps the provider's rules takes", () => {
  const models = ["claude-opus-5", "claude-sonnet-4-5-20250929", "kimi-k2"];
  const efforts = [undefined, "off", "low", "medium", "high"] as const;
  const choices = ["auto", "required", "none"] as const;
  test.each(models)("every request for %s, whatever is asked for in it", async (model) => {
    const { ask } = await serve(() => answer({ text: "Hi" }));
    for (const effort of efforts) {
      for (const toolChoice of choices) {
        for (const messages of [
          asked,
          midway,
          thinking,
          [...midway, { role: "system", content: "Answer now." } as const],
        ]) {
          for (const tools of [request.tools, []]) {
            const more = effort === undefined ? {} : { effort };
            const reply = await ask({ ...request, ...more, model, toolChoice, messages, tools });
            expect(reply, JSON.stringify({ effort, toolChoice, tools })).toMatchObject({ ok: true });
          }
        }
      }
    }
  });

  test("no thought but one of its own, as it was", async () => {
    const { ask } = await serve(() => answer({ text: "Hi" }));
    const altered = (edit: (text: string) => string): readonly PromptMessage[] =>
      thinking.map((message) =>
        message.role === "assistant"
          ? { ...message, thoughts: JSON.parse(edit(JSON.stringify(message.thoughts))) }
          : message,
      );
    expect(await ask({ ...request, messages: altered((text) => text) })).toMatchObject({ ok: true });
    const edits = [
      ["A file", "[REDACTED]"],
      ["aGlkZGVu.", "aGlkZGVu.x"],
    ] as const;
    for (const [from, to] of edits) {
      const messages = altered((text) => text.replace(from, to));
      expect(await ask({ ...request, messages })).toMatchObject({ ok: false, code: "provider.http-400" });
    }
  });

  test("no request without the version of the API, and no text without a word", async () => {
    const { server, ask, bodies } = await serve(() => answer({ text: "Hi" }));
    await ask(request);
    expect(server.requests[0]?.headers["anthropic-version"]).toBe("2023-06-01");
    expect(bodies()[0]?.messages[1]?.content.map(({ type }) => type)).toEqual(["tool_use", "tool_use"]);
  });
});

test.each(["", "/v1", "/v1/"])("a base URL may end in %j", async (end) => {
  const { ask } = await serve(() => answer({ text: "Hi" }), { baseUrl: (url) => url.replace(/\/v1$/, end) });
  expect(await ask(request)).toMatchObject({ ok: true });
});

test("under marker-json the wire has no tools, and results are told in words", async () => {
  const { ask, bodies } = await serve(() => answer({ text: "Hi" }), { profile: "marker-json" });
  expect(await ask({ ...request, messages: asked })).toMatchObject({ ok: true });
  expect(bodies()[0]).not.toHaveProperty("tools");
  expect(bodies()[0]?.system).toContain("Be brief.");
});

test("input out of a cache and into one is counted", async () => {
  const counts = {
    prompt_tokens: 5,
    completion_tokens: 7,
    cache_creation_input_tokens: 20,
    cache_read_input_tokens: 300,
  };
  const { ask } = await serve(() => answer({ text: "Hi", usage: counts }));
  for (const onText of [null, () => {}]) {
    expect(await ask(request, onText)).toMatchObject({ usage: { inputTokens: 325, outputTokens: 7 } });
  }
});

test.each<[string, Reply, object]>([
  ["529", json(529, error("overloaded_error")), { code: "provider.http-529", retryable: true }],
  ["413", json(413, error("request_too_large")), { code: "provider.http-413", retryable: false }],
  ["overloaded at once", events(error("overloaded_error")), { code: "provider.overloaded", retryable: true }],
  ["a limit at once", events(error("rate_limit_error")), { code: "provider.rate-limited", retryable: true }],
  ["any other error at once", events(error("api_error")), { code: "provider.failed", retryable: false }],
])("%s is a fault of its own", async (_, reply, expected) => {
  const { ask } = await serve(() => reply);
  const usage = { inputTokens: 0, outputTokens: 0 };
  expect(await ask(request, () => {})).toEqual({ ok: false, retryAfterMs: 0, usage, words: "secret", ...expected });
});

test("an error after a model was named is no refusal: what that cost is not known", async () => {
  const begun = { type: "message_start", message: { model: "claude", usage: { input_tokens: 9, output_tokens: 1 } } };
  const { ask } = await serve(() => events(begun, error("overloaded_error")));
  expect(await ask(request, () => {})).toMatchObject({ ok: false, code: "provider.overloaded", usage: null });
});

function error(type: string): object {
  return { type: "error", error: { type, message: "secret" } };
}

function events(...payloads: readonly object[]): Reply {
  const body = payloads.map((payload) => `data: ${JSON.stringify(payload)}\n\n`).join("");
  return { kind: "http", status: 200, headers: { "content-type": "text/event-stream" }, body };
}

interface Serving {
  readonly profile?: "native-tools" | "marker-json";
  readonly baseUrl?: (url: string) => string;
}

async function serve(script: () => Reply, { profile = "native-tools", baseUrl = (url) => url }: Serving = {}) {
  const server = await startAnthropicServer(script);
  servers.push(server);
  const { backend } = configureModel({
    ref: "loopback:scripted",
    kind: "anthropic",
    baseUrl: baseUrl(server.baseUrl),
    model: "scripted",
    profile,
    contextWindow: 8_192,
    maxOutputTokens: 1_024,
    price: null,
    isFree: true,
    apiKey: null,
    clock: manualClock(),
  });
  const signal = new AbortController().signal;
  return {
    server,
    ask: (sent: ModelRequest, onText: ((text: string) => void) | null = null): Promise<ModelReply> =>
      backend.complete(sent, { signal, onText }),
    bodies: (): readonly MessagesRequestBody[] => server.requests.map(({ body }) => body),
  };
}
