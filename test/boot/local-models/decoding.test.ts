/** How a local model decodes: turns, cancelling, memory, chat templates, masks, and every tool we ship. */
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Compile } from "typebox/compile";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { embedTexts, llamaCpp } from "../../../src/adapters/models/llama-cpp/llama-cpp.ts";
import { LocalModels } from "../../../src/adapters/models/llama-cpp/local-models.ts";
import { PROFILES } from "../../../src/adapters/models/profile.ts";
import { describeBuiltInTools } from "../../../src/boot/built-in-tools.ts";
import { DEFAULT_CONFIG } from "../../../src/boot/config/default-config.ts";
import { findHome } from "../../../src/boot/home.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import { deriveGrammar } from "../../../src/kernel/protocol/grammar/derive-grammar.ts";
import { grammarJson } from "../../../src/kernel/protocol/grammar-json.ts";
import type { ModelReply, ModelRequest } from "../../../src/runtime/ports/model-backend.ts";
import { verifies } from "../../requirements.ts";
import { linkPackages } from "./llama-packages.ts";
import { PROBE } from "./probe-tool.ts";
import { tinyGguf } from "./tiny-gguf.ts";

const CHATML =
  "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
const SAMPLES = 3;

let directory = "";
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "surety-local-"));
  await linkPackages(directory);
  await writeFile(join(directory, "a.gguf"), tinyGguf());
  await writeFile(join(directory, "b.gguf"), tinyGguf({ seed: 2, template: CHATML }));
});

afterAll(() => rm(directory, { recursive: true }));

const settingsOf = (file: string, more: object = {}) => ({
  ...{ modelPath: join(directory, file), packageDirectory: join(directory, "packages"), contextWindow: 8_192 },
  ...{ threads: 1, gpu: false as const, idleMs: 60_000, clock: systemClock, ...more },
});
const backendOf = (file: string, more: object = {}) => llamaCpp(settingsOf(file, more), PROFILES["grammar-json"]);

const plain = ({ name, description, parameters }: Pick<typeof PROBE, "name" | "description" | "parameters">) => ({
  ...{ name, description, parameters: JSON.parse(JSON.stringify(parameters)) as object },
});
const PLAIN = [plain(PROBE)];

/** Texts end soon: a quote is likelier than any other byte. */
const SHORT = Array.from({ length: 256 }, (_, byte) => (byte === 0x22 ? 3 : 0));

function requestOf(more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    ...{ model: "tiny", messages: [{ role: "user", content: "hello" }], tools: PLAIN, toolChoice: "required" },
    constraint: { entry: "calls", grammar: deriveGrammar(PLAIN) },
    logitsMask: SHORT,
    ...{ maxOutputTokens: 2_000, ...more },
  };
}

const unheard = { signal: new AbortController().signal, onText: null };

function contentOf(reply: ModelReply | undefined): string {
  if (reply?.ok !== true) throw new Error(JSON.stringify(reply));
  return reply.raw.content;
}

describe("every tool we ship", () => {
  const home = findHome("/nowhere", () => undefined);
  const tools = describeBuiltInTools({ home, config: DEFAULT_CONFIG, clock: systemClock });

  verifies("X-9/tools", "what random weights write for it fits its schema", async () => {
    const backend = backendOf("a.gguf");
    expect(tools.length).toBeGreaterThan(8);
    for (const tool of tools) {
      const grammar = deriveGrammar([plain(tool)]);
      const check = Compile(tool.parameters);
      for (let index = 0; index < SAMPLES; index += 1) {
        const messages = [{ role: "user", content: `${tool.name} ${index}` }] as const;
        const reply = await backend.complete(
          requestOf({ messages, maxOutputTokens: 8_000, constraint: { entry: "calls", grammar } }),
          unheard,
        );
        if (!reply.ok) throw new Error(reply.code);
        const { canonicalMessage, failureCode } = grammarJson.adapt(reply.raw, "strict");
        expect(failureCode).toBeNull();
        for (const call of canonicalMessage?.toolCalls ?? []) {
          expect(call.name).toBe(tool.name);
          expect(check.Errors(call.arguments)).toEqual([]);
        }
      }
    }
  });
});

describe("an answer", () => {
  verifies("M-P5.2/applied", "is calls, a text, or one of the two, as its turn allows", async () => {
    const backend = backendOf("a.gguf");
    const grammar = deriveGrammar(PLAIN);
    const keys = new Set<string>();
    for (const entry of ["calls", "text", "calls-or-text", "calls-or-text", "calls-or-text"] as const) {
      const reply = await backend.complete(requestOf({ constraint: { entry, grammar } }), unheard);
      const [key = ""] = Object.keys(JSON.parse(contentOf(reply)));
      keys.add(`${entry} ${key}`);
    }
    expect(keys).toContain("calls calls");
    expect(keys).toContain("text text");
    expect([...keys].filter((key) => ["calls text", "text calls"].includes(key))).toEqual([]);
  });

  verifies("M-P5.2/whole", "that reached its limit is cut off, and refused", async () => {
    const reply = await backendOf("a.gguf").complete(requestOf({ maxOutputTokens: 20 }), unheard);
    expect(reply).toMatchObject({ ok: true, raw: { stopReason: "length" }, usage: { outputTokens: 20 } });
    if (reply.ok) expect(grammarJson.adapt(reply.raw, "lenient").failureCode).toBe("protocol.truncated");
  });

  test("arrives in pieces that are the answer together", async () => {
    const pieces: string[] = [];
    const onText = (text: string): void => {
      pieces.push(text);
    };
    const reply = await backendOf("a.gguf").complete(requestOf(), { ...unheard, onText });
    expect(pieces.length).toBeGreaterThan(10);
    expect(pieces.join("")).toBe(contentOf(reply));
    expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
  });

  test("is the same for the same request of a new process, and another when it is asked again", async () => {
    const [one, other] = [backendOf("a.gguf"), backendOf("a.gguf")];
    const first = contentOf(await one.complete(requestOf(), unheard));
    expect(contentOf(await other.complete(requestOf(), unheard))).toBe(first);
    expect(contentOf(await one.complete(requestOf(), unheard))).not.toBe(first);
  });

  verifies("M-P5.2/applied", "holds no token that the mask rules out", async () => {
    const mask = Array.from({ length: 256 }, (_, byte) => (byte >= 0x80 ? -1e6 : 0));
    const request = requestOf({ constraint: { entry: "text", grammar: deriveGrammar([]) }, logitsMask: mask });
    const text = contentOf(await backendOf("a.gguf").complete(request, unheard));
    expect(text).toMatch(/^[\x20-\x7e]+$/);
  });

  test("of a model with a chat template follows it, and a prompt larger than the window is refused", async () => {
    const reply = await backendOf("b.gguf").complete(requestOf(), unheard);
    expect(contentOf(reply)).toContain(PROBE.name);
    const content = "x".repeat(9_000);
    const full = await backendOf("b.gguf").complete(requestOf({ messages: [{ role: "user", content }] }), unheard);
    expect(full).toMatchObject({ ok: false, code: "provider.context-full", retryable: false });
  });
});

describe("turns", () => {
  verifies("X-9/turns", "two requests at once, of two models, come one after the other", async () => {
    const order: string[] = [];
    const ask = async (file: string, name: string) => {
      const onText = (): void => {
        order.push(name);
      };
      return await backendOf(file).complete(requestOf(), { ...unheard, onText });
    };
    const replies = await Promise.all([ask("a.gguf", "a"), ask("b.gguf", "b"), ask("a.gguf", "c")]);
    expect(replies.every(({ ok }) => ok)).toBe(true);
    expect(order.filter((name, index) => name !== order[index - 1])).toEqual(["a", "b", "c"]);
  });

  verifies("X-9/turns", "a cancelled request stops within a token, and one that waits leaves at once", async () => {
    const stopping = new AbortController();
    let after = 0;
    const onText = (): void => {
      if (stopping.signal.aborted) after += 1;
      else if (waiting !== null) stopping.abort();
    };
    let waiting: Promise<ModelReply> | null = null;
    const endless = requestOf({ maxOutputTokens: 4_000, constraint: { entry: "text", grammar: "text ::= [a-z]+" } });
    const first = backendOf("a.gguf").complete(endless, { signal: stopping.signal, onText });
    waiting = backendOf("a.gguf").complete(endless, { signal: stopping.signal, onText: null });
    expect(await first).toMatchObject({ ok: false, code: "provider.cancelled" });
    expect(await waiting).toMatchObject({ ok: false, code: "provider.cancelled", usage: { outputTokens: 0 } });
    expect(after).toBe(0);
    expect((await backendOf("a.gguf").complete(requestOf(), unheard)).ok).toBe(true);
  });

  verifies("X-9/turns", "a model that nothing asks for leaves memory, and comes back when it is asked", async () => {
    const models = new LocalModels();
    const idle = Promise.withResolvers<void>();
    const clock = {
      monotonicMs: () => 0,
      wake: (_: number, callback: () => void) => {
        idle.promise.then(callback, () => {});
        return () => {};
      },
    };
    const settings = { ...settingsOf("a.gguf"), clock };
    let held: object | null = null;
    const use = async () => await models.use(settings, unheard.signal, async (model) => model);
    held = await use();
    expect(await use()).toBe(held);
    idle.resolve();
    await idle.promise;
    await models.unload();
    expect(await use()).not.toBe(held);
  });
});

verifies("X-9/files", "a file that is larger than memory is one line", async () => {
  await writeFile(join(directory, "huge.gguf"), tinyGguf());
  await truncate(join(directory, "huge.gguf"), 2 ** 42);
  const reply = await backendOf("huge.gguf").complete(requestOf(), unheard);
  expect(reply).toMatchObject({ ok: false, code: "model.too-large", retryable: false });
  if (!reply.ok) expect(reply.words).toMatch(/^The model file \S+ needs 4096\.0 GiB of memory, and [^\n]+$/);
});

test("texts have vectors of one length, the same for the same text", async () => {
  const texts = ["hello there", "something else", "hello there", "x".repeat(3_000)];
  const vectors = await embedTexts(settingsOf("a.gguf", { contextWindow: 1_024 }), texts, unheard.signal);
  expect(vectors.map(({ length }) => length)).toEqual([64, 64, 64, 64]);
  expect(vectors[0]).toEqual(vectors[2]);
  expect(vectors[0]).not.toEqual(vectors[1]);
  const stopped = embedTexts(settingsOf("a.gguf"), texts, AbortSignal.abort());
  await expect(stopped).rejects.toThrow();
});
