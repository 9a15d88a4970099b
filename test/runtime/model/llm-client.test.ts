import { describe, expect, onTestFinished, test } from "vitest";
import { configureModel } from "../../../src/adapters/models/configure-model.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import { Defect } from "../../../src/kernel/vocabulary/defect.ts";
import {
  type ChatParams,
  createChatBackend,
  createLLMClient,
  type LLMChunk,
  LLMError,
  OverBudgetError,
} from "../../../src/runtime/model/llm-client.ts";
import type { ModelConfig } from "../../../src/runtime/model/model-router.ts";
import type { ConfiguredModel, ModelBackend, PromptMessage } from "../../../src/runtime/ports/model-backend.ts";
import { answer, json, type ServerScript, startOpenAiServer } from "../../loopback/openai-server.ts";
import { verifies } from "../../requirements.ts";

const INFO: ModelConfig = {
  id: "lab:gpt-4o",
  provider: "lab",
  tier: "mid",
  contextWindow: 1_000,
  supportsTools: true,
  supportsVision: false,
  costPer1kInput: 0,
  costPer1kOutput: 0,
};
const TOOL = { name: "fs.read_text", description: "reads a file", parameters: { type: "object" } };

const HELLO = { role: "user", content: "hello" } as const;

async function modelOf(script: ServerScript, supportsVision = false) {
  const server = await startOpenAiServer(script);
  onTestFinished(() => server.close());
  const model = configureModel({
    ...{ ref: INFO.id, kind: "openai_compatible", baseUrl: server.baseUrl, model: "gpt-4o", profile: "native-tools" },
    ...{ contextWindow: INFO.contextWindow, maxOutputTokens: 100, price: null, isFree: true, apiKey: null },
    ...{ clock: systemClock, supportsVision },
  });
  return { server, model };
}

async function clientOf(script: ServerScript, supportsVision = false) {
  const { server, model } = await modelOf(script, supportsVision);
  const client = createLLMClient(model, INFO);
  const chat = (also: Partial<ChatParams> = {}) =>
    client.chat({ model: INFO.id, messages: [HELLO], stream: true, ...also });
  return { client, server, chat };
}

async function all(chunks: AsyncIterable<LLMChunk>): Promise<readonly LLMChunk[]> {
  const heard: LLMChunk[] = [];
  for await (const chunk of chunks) heard.push(chunk);
  return heard;
}

describe("a client of one model", () => {
  test.each([true, false])("leaves inline reasoning out of the answer (streamed: %s)", async (stream) => {
    const { chat } = await clientOf(() => answer({ text: "<think>hm, hm</think>\n\nYes." }));
    const texts = (await all(chat({ stream }))).flatMap((chunk) => (chunk.type === "text" ? [chunk.text] : []));
    expect(texts.join("")).toBe("Yes.");
    const { model } = await modelOf(() => answer({ text: " <thi" }));
    const held = await all(
      createChatBackend(model).stream_chat({ model: INFO.id, messages: [HELLO] }, new AbortController().signal),
    );
    expect(held.flatMap((chunk) => (chunk.type === "text" ? [chunk.text] : [])).join("")).toBe(" <thi");
  });

  verifies(
    ["T-3d", "P-1.5"],
    "counts images before the network, and shows none to a model that sees none",
    async () => {
      const shown = (count: number): readonly PromptMessage[] => {
        // 765 tokens, as OpenAI counts.
        const image = { mimeType: "image/png", width: 1024, height: 1024, data: "aW1hZ2U=" } as const;
        return [{ role: "user", content: "look", images: Array.from({ length: count }, () => image) }];
      };
      const seeing = await clientOf(() => answer({ text: "seen" }), true);
      expect(await all(seeing.chat({ messages: shown(1) }))).toMatchObject([{ text: "seen" }, { type: "end" }]);
      await expect(all(seeing.chat({ messages: shown(2) }))).rejects.toThrow(OverBudgetError);
      expect(seeing.server.requests).toHaveLength(1);
      const blind = await clientOf(() => answer({ text: "I guess" }));
      const refused = await all(blind.chat({ messages: shown(1) })).catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: "model.no-vision", message: "lab:gpt-4o sees no images." });
      expect(blind.server.connections).toBe(0);
    },
  );

  verifies(["T-3d/chat", "S-7.1/stream_chat"], "streams text and calls, or gives them whole", async () => {
    const call = { name: "fs__read_text", arguments: { path: "a.txt" } };
    const { chat } = await clientOf(() => answer({ text: "One moment, please.", calls: [call] }));
    for (const stream of [true, false]) {
      const chunks = await all(chat({ stream, tools: [TOOL] }));
      const text = chunks.flatMap((chunk) => (chunk.type === "text" ? [chunk.text] : []));
      expect(text.join("")).toBe("One moment, please.");
      if (!stream) expect(text).toHaveLength(1);
      expect(chunks.slice(text.length)).toEqual([
        {
          ...{ type: "tool_call", id: expect.any(String), name: "fs__read_text" },
          argumentsText: JSON.stringify(call.arguments),
        },
        { type: "end", stopReason: "tool_calls", usage: expect.anything() },
      ]);
    }
  });

  verifies(["T-3d/count-tokens", "T-3d/model-info"], "counts tokens and describes its model", async () => {
    const { client, chat } = await clientOf(() => answer({ text: "hi" }));
    expect(client.getModelInfo()).toBe(INFO);
    const text = "The quick brown fox jumps over the lazy dog.";
    expect(client.countTokens(text)).toBe(Math.ceil(text.length / 3));
    await all(chat());
    expect(client.countTokens(text)).toBe(10);
    expect(client.countTokens("")).toBe(0);
  });

  verifies(
    "P-1.5/over-budget",
    "raises OverBudgetError before the network when prompt and reserve do not fit",
    async () => {
      const { server, chat } = await clientOf(() => answer({ text: "hi" }));
      const content = "word ".repeat(880);
      await expect(all(chat({ messages: [{ role: "user", content }] }))).resolves.toHaveLength(2);
      const before = server.connections;
      const over: readonly Partial<ChatParams>[] = [
        { messages: [{ role: "user", content: "word ".repeat(900) }] },
        { messages: [{ role: "user", content }], maxTokens: 200 },
        { messages: [{ role: "user", content }], tools: [TOOL] },
      ];
      for (const params of over) {
        const failed = await all(chat(params)).catch((error: unknown) => error);
        expect(failed).toBeInstanceOf(OverBudgetError);
        expect(failed).toMatchObject({ name: "OverBudgetError", code: "context.over-budget" });
      }
      expect([server.connections, server.requests.length]).toEqual([before, 1]);
    },
  );

  test("what the provider does instead of answering is an error with its code, and so is another model", async () => {
    const { chat } = await clientOf(() => json(500, {}));
    await expect(all(chat())).rejects.toMatchObject({ name: "LLMError", code: "provider.http-500" });
    await expect(all(chat({ model: "lab:other" }))).rejects.toThrow(LLMError);
  });

  test("an error the backend throws reaches the consumer, after the text before it", async () => {
    const { model } = await modelOf(() => answer({ text: "hi" }));
    const failing = (hasBegun: boolean): ConfiguredModel => {
      const complete: ModelBackend["complete"] = async (_, { onText }) => {
        if (hasBegun) onText?.("So");
        await Promise.resolve();
        throw new Defect("the backend has one");
      };
      return { ...model, backend: { ...model.backend, complete } };
    };
    for (const [hasBegun, stream, heard] of [
      [false, true, []],
      [true, true, [{ type: "text", text: "So" }]],
      [false, false, []],
    ] as const) {
      const chunks: LLMChunk[] = [];
      const chat = createLLMClient(failing(hasBegun), INFO).chat({ model: INFO.id, messages: [HELLO], stream });
      const listening = (async () => {
        for await (const chunk of chat) chunks.push(chunk);
      })();
      await expect(listening).rejects.toThrow(Defect);
      expect(chunks).toEqual(heard);
    }
    // A consumer that leaves early: an unhandled rejection would fail the test run.
    for await (const chunk of createLLMClient(failing(true), INFO).chat({
      model: INFO.id,
      messages: [HELLO],
      stream: true,
    })) {
      expect(chunk.type).toBe("text");
      break;
    }
  });

  verifies(
    ["S-7.1/chat", "S-7.1/stream_chat"],
    "chat(request) answers once; stream_chat(request, cancel) yields deltas of the same answer",
    async () => {
      const call = { name: "fs__read_text", arguments: { path: "a.txt" } };
      const { model, server } = await modelOf(() => answer({ text: "One moment, please.", calls: [call] }));
      const backend = createChatBackend(model);
      const request = { model: INFO.id, messages: [HELLO], tools: [TOOL] };
      const response = await backend.chat(request);
      expect(response).toEqual({
        content: "One moment, please.",
        toolCalls: [{ id: expect.any(String), name: "fs__read_text", argumentsText: '{"path":"a.txt"}' }],
        stopReason: "tool_calls",
        usage: expect.anything(),
      });
      const deltas = await all(backend.stream_chat(request, new AbortController().signal));
      const text = deltas.flatMap((delta) => (delta.type === "text" ? [delta.text] : []));
      expect(text.join("")).toBe(response.content);
      expect(text.length).toBeGreaterThan(1);
      expect(deltas.at(-1)).toMatchObject({ type: "end", stopReason: "tool_calls" });
      expect(server.requests.map(({ body }) => body.stream)).toEqual([false, true]);
      await expect(backend.chat({ ...request, model: "lab:other" })).rejects.toMatchObject({ code: "model.unknown" });
    },
  );

  verifies(
    ["T-3d/params"],
    "sends temperature when it is set, omits it when not, and refuses a value no model takes",
    async () => {
      const { chat, server } = await clientOf(() => answer({ text: "hi" }));
      for (const temperature of [0, 0.7]) await all(chat({ temperature }));
      await all(chat());
      expect(server.requests.map(({ text }) => JSON.parse(text).temperature)).toEqual([0, 0.7, undefined]);
      for (const temperature of [-0.1, 2.1, Number.NaN]) {
        await expect(all(chat({ temperature }))).rejects.toMatchObject({ code: "request.invalid" });
      }
      expect(server.requests).toHaveLength(3);
    },
  );

  verifies(["S-7.1/cancel"], "cancel ends the request on the wire, and so does leaving the loop", async () => {
    const forever = new Promise(() => {});
    const { server, model } = await modelOf(() =>
      answer({ text: "A long story that never ends.", cut: { events: 3, by: "end", after: forever } }),
    );
    const request = { model: INFO.id, messages: [HELLO] };
    const cancelling = new AbortController();
    const cancelled = (async () => {
      for await (const delta of createChatBackend(model).stream_chat(request, cancelling.signal)) {
        expect(delta.type).toBe("text");
        cancelling.abort();
      }
    })();
    await expect(cancelled).rejects.toMatchObject({ code: "provider.cancelled" });
    expect(await server.requests[0]?.closed).toBe("by-client");
    for await (const chunk of createLLMClient(model, INFO).chat({ ...request, stream: true })) {
      expect(chunk.type).toBe("text");
      break;
    }
    expect(await server.requests[1]?.closed).toBe("by-client");
  });
});
