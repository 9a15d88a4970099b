import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AnswerReader } from "../../../../src/adapters/models/answer-reader.ts";
import type { ExchangeEnd, ResponseListener } from "../../../../src/adapters/models/http-exchange.ts";
import { CHAT_ANSWER } from "../../../../src/adapters/models/openai-chat/chat-answer.ts";
import type { ModelReply } from "../../../../src/runtime/ports/model-backend.ts";
import { type ChatScript, encodeDocument, encodeEvents } from "../../../loopback/chat-wire.ts";
import { manualClock } from "../manual-clock.ts";

/** What was used where nobody answered. */
const NOTHING = { inputTokens: 0, outputTokens: 0 };
const usage = { inputTokens: 12, outputTokens: 7 };
const read = { name: "fs.read_text", arguments: { path: "ä🙂.txt" } };
const READ = { name: "fs__read_text", argumentsText: '{"path":"ä🙂.txt"}' };

const anyText = fc.string({ unit: fc.constantFrom("a", " ", "\n", "\r", "é", "🙂", '"', "\\", "data:", "<<<") });
const anyScript: fc.Arbitrary<ChatScript> = fc.record(
  {
    text: anyText,
    calls: fc.array(
      fc.record(
        { name: fc.constantFrom("fs.read_text", "x"), arguments: fc.oneof(anyText, fc.dictionary(anyText, anyText)) },
        { requiredKeys: ["name", "arguments"] },
      ),
      { maxLength: 3 },
    ),
    finishReason: fc.constantFrom("stop", "tool_calls", "length", null),
    usage: fc.constantFrom(null, { prompt_tokens: 1, completion_tokens: 2 }),
    dialect: fc.record(
      {
        newline: fc.constantFrom("\n" as const, "\r\n" as const, "\r" as const),
        hasComments: fc.boolean(),
        pieceChars: fc.integer({ min: 1, max: 8 }),
        usageIn: fc.constantFrom("own-event" as const, "last-event" as const),
        saysDone: fc.boolean(),
        hasIndexes: fc.boolean(),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);

describe("streams", () => {
  test("however the bytes of a stream are cut, the reply is the same", () => {
    fc.assert(
      fc.property(anyScript, fc.array(fc.nat(), { maxLength: 12 }), fc.boolean(), (script, cuts, everyByte) => {
        const bytes = streamOf(script);
        const places = everyByte ? bytes.map((_, at) => at) : cuts.map((cut) => cut % bytes.length);
        expect(hear(split(bytes, [...places]))).toEqual(hear([bytes]));
      }),
      { numRuns: 200 },
    );
  });

  test("cut off at any byte, a stream is whole or not complete, and complete only when its end was read", () => {
    fc.assert(
      fc.property(anyScript, fc.constantFrom("complete" as const, "cut-off" as const), (script, end) => {
        const bytes = streamOf(script);
        const whole = hear([bytes]);
        const events = encodeEvents(script);
        const saysDone = script.dialect?.saysDone ?? true;
        // Without the last line end: a reader need not wait for the second one to know what was said.
        const doneAt = Buffer.byteLength(events.join("").trimEnd());
        const reasonAt = Buffer.byteLength(events.join("").split('"finish_reason":"')[0] ?? "");
        const reader = listen();
        for (let length = 1; length <= bytes.length; length += 1) {
          reader.onBytes(bytes.subarray(length - 1, length));
          const reply = reader.replyAt(end);
          if (!reply.ok || !reply.raw.complete) continue;
          expect(reply.raw).toEqual(whole.reply.ok ? whole.reply.raw : null);
          expect((saysDone && length >= doneAt) || (end === "complete" && length > reasonAt)).toBe(true);
        }
      }),
      { numRuns: 150 },
    );
  });

  test.each<[string, ChatScript, object]>([
    ["text", { text: "Hello, wörld" }, { content: "Hello, wörld", toolCalls: [], stopReason: "stop" }],
    ["no answer at all", {}, { content: "", toolCalls: [], stopReason: "stop" }],
    ["a call", { calls: [read] }, { content: "", toolCalls: [{ id: "call_1", ...READ }], stopReason: "tool_calls" }],
    [
      "text and two calls in fragments of one character",
      { text: "So:", calls: [read, { ...read, id: "b" }], dialect: { pieceChars: 1 } },
      {
        content: "So:",
        toolCalls: [
          { id: "call_1", ...READ },
          { id: "b", ...READ },
        ],
      },
    ],
    ["calls without ids", { calls: [{ ...read, id: null }] }, { toolCalls: [{ id: null, ...READ }] }],
    [
      "calls without indexes",
      { calls: [read, read], dialect: { hasIndexes: false } },
      {
        toolCalls: [
          { id: "call_1", ...READ },
          { id: "call_2", ...READ },
        ],
      },
    ],
    [
      "calls with neither",
      {
        calls: [
          { ...read, id: null },
          { ...read, id: null },
        ],
        dialect: { hasIndexes: false },
      },
      {
        toolCalls: [
          { id: null, ...READ },
          { id: null, ...READ },
        ],
      },
    ],
    [
      "two calls under one id stay two",
      {
        calls: [
          { ...read, id: "a" },
          { ...read, id: "a" },
        ],
      },
      {
        toolCalls: [
          { id: "a", ...READ },
          { id: "a", ...READ },
        ],
      },
    ],
    [
      "arguments that are no JSON",
      { calls: [{ ...read, arguments: '{"a' }] },
      { toolCalls: [{ argumentsText: '{"a' }] },
    ],
    ["a cut by length", { text: "Hel", finishReason: "length" }, { content: "Hel", stopReason: "length" }],
    ["no reason, but an end", { text: "Hi", finishReason: null }, { content: "Hi", stopReason: "" }],
    ["CRLF and comments", { text: "Hi", dialect: { newline: "\r\n", hasComments: true } }, { content: "Hi" }],
    ["no [DONE], but a reason and an end", { text: "Hi", dialect: { saysDone: false } }, { content: "Hi" }],
    ["usage beside the reason", { text: "Hi", dialect: { usageIn: "last-event" } }, { content: "Hi" }],
  ])("%s", (_, script, raw) => {
    const { reply, text } = hear([streamOf(script)]);
    expect(reply).toMatchObject({ ok: true, raw: { model: "scripted-1", complete: true, ...raw }, usage });
    expect(text).toBe(reply.ok ? reply.raw.content : null);
  });

  test.each<[string, readonly string[], object]>([
    [
      "the first choice is heard",
      [delta({ content: "a" }), '{"choices":[{"index":1,"delta":{"content":"b"}}]}'],
      { content: "a" },
    ],
    [
      "parts of a text",
      [delta({ content: [{ type: "text", text: "a" }, { type: "image" }, { text: "b" }] })],
      { content: "ab" },
    ],
    ["a refusal is what it says", [delta({ refusal: "I will not." })], { content: "I will not." }],
    [
      "a refusal without a word is said in ours",
      [delta({ content: "", refusal: "" }), delta({}, "content_filter")],
      { content: "The model refused to answer.", stopReason: "content_filter" },
    ],
    [
      "what was said before it was cut by a filter stays as it is",
      [delta({ content: "Well," }), delta({}, "content_filter")],
      { content: "Well,", stopReason: "content_filter" },
    ],
    [
      "a name in pieces",
      [
        callDelta({ index: 0, id: "a", function: { name: "fs__" } }),
        callDelta({ index: 0, function: { name: "read" } }),
      ],
      { toolCalls: [{ id: "a", name: "fs__read", argumentsText: "" }] },
    ],
    [
      "a name and an id repeated with each fragment",
      [
        callDelta({ index: 0, id: "a", function: { name: "x", arguments: "{" } }),
        callDelta({ index: 0, id: "a", function: { name: "x", arguments: "}" } }),
      ],
      { toolCalls: [{ id: "a", name: "x", argumentsText: "{}" }] },
    ],
    [
      "every call numbered 0",
      [
        callDelta({ index: 0, id: "a", function: { name: "x", arguments: "{}" } }),
        callDelta({ index: 0, id: "b", function: { name: "y", arguments: "{}" } }),
      ],
      {
        toolCalls: [
          { id: "a", name: "x" },
          { id: "b", name: "y" },
        ],
      },
    ],
    [
      "arguments already parsed",
      [callDelta({ index: 0, function: { name: "x", arguments: { a: 1 } } })],
      { toolCalls: [{ argumentsText: '{"a":1}' }] },
    ],
    [
      "as many calls at once as may be",
      [delta({ tool_calls: Array.from({ length: 256 }, (_, index) => ({ index })) })],
      { toolCalls: Array.from({ length: 256 }, () => ({ name: "" })) },
    ],
    [
      "what says nothing changes nothing",
      [delta({ content: "a" }), delta({ content: null, tool_calls: null, reasoning: null }), delta({ content: "b" })],
      { content: "ab", toolCalls: [] },
    ],
    ["two final chunks, the cut one first", [delta({}, "length"), delta({}, "stop")], { stopReason: "length" }],
    ["two final chunks, the cut one last", [delta({}, "stop"), delta({}, "length")], { stopReason: "length" }],
    ["two proper ends", [delta({}, "tool_calls"), delta({}, "stop")], { stopReason: "tool_calls" }],
    [
      "what follows the end is not heard",
      [delta({ content: "a" }), "[DONE]", delta({ content: "b" })],
      { content: "a" },
    ],
  ])("%s", (_, payloads, raw) => {
    expect(hear([eventsOf([...payloads, "[DONE]"])]).reply).toMatchObject({
      ok: true,
      raw: { complete: true, ...raw },
    });
  });

  test.each<[string, readonly string[], string]>([
    [
      "reasoning_content",
      [delta({ reasoning_content: "Hm" }), delta({ reasoning_content: "m.", content: "" })],
      "Hmm.",
    ],
    ["reasoning", [delta({ reasoning: "Hm" }), delta({ reasoning: "m." })], "Hmm."],
    ["both, for the same", [delta({ reasoning: "Hm.", reasoning_content: "Hm." })], "Hm."],
    ["none", [], ""],
  ])("%s is kept apart from the answer", (_, payloads, reasoning) => {
    const { reply, text } = hear([eventsOf([...payloads, delta({ content: "Yes" }, "stop"), "[DONE]"])]);
    expect(reply).toMatchObject({ ok: true, reasoning, raw: { content: "Yes" } });
    expect(text).toBe("Yes");
  });

  test.each<[string, readonly string[], object]>([
    ["no JSON", [delta({ content: "a" }), "{oops", "[DONE]"], { ok: false, code: "provider.unreadable", usage: null }],
    ["no object", ["7", "[DONE]"], { ok: false, code: "provider.unreadable", usage: NOTHING }],
    ["nothing but an end", ["[DONE]"], { ok: false, code: "provider.unreadable", usage: NOTHING }],
    ["no choices", ["{}", "[DONE]"], { ok: false, code: "provider.unreadable", usage: NOTHING }],
    ["a model and no choices", ['{"model":"m"}', "[DONE]"], { ok: false, code: "provider.unreadable", usage: null }],
    [
      "far too many calls",
      Array.from({ length: 300 }, (_, index) => callDelta({ index })),
      { ok: false, code: "provider.unreadable" },
    ],
    [
      "far too many calls at once",
      [delta({ tool_calls: Array.from({ length: 300 }, (_, index) => ({ index })) })],
      { ok: false, code: "provider.unreadable" },
    ],
    ["an error at once", ['{"error":{"message":"secret"}}'], { ok: false, code: "provider.failed", usage: NOTHING }],
    [
      "an error after a model was named",
      ['{"model":"m"}', '{"error":{"message":"secret"}}'],
      { ok: false, code: "provider.failed", usage: null },
    ],
    [
      "an error in the middle",
      [delta({ content: "a" }), '{"error":{"message":"secret"}}', "[DONE]"],
      { ok: true, raw: { content: "a", complete: false } },
    ],
  ])("%s: not an answer", (_, payloads, reply) => {
    expect(hear([eventsOf(payloads)]).reply).toMatchObject(reply);
  });

  test("pieces are counted and timed", () => {
    const clock = manualClock();
    const reader = new AnswerReader(CHAT_ANSWER, clock, () => {}, 1_024);
    reader.onHead(head("text/event-stream"));
    for (const payload of [delta({ content: "a" }), delta({ content: "b" }), delta({}, "stop"), "[DONE]"]) {
      clock.pass(10.4);
      reader.onBytes(eventsOf([payload]));
    }
    expect(reader.replyAt("complete")).toMatchObject({ ok: true, stream: { chunks: 3, firstMs: 10, lastMs: 31 } });
  });
});

describe("whole documents", () => {
  test.each<[string, ChatScript, object]>([
    ["text", { text: "Hello" }, { content: "Hello", toolCalls: [], stopReason: "stop" }],
    ["a call", { calls: [read] }, { content: "", toolCalls: [{ id: "call_1", ...READ }], stopReason: "tool_calls" }],
    [
      "two calls without ids",
      {
        calls: [
          { ...read, id: null },
          { ...read, id: null },
        ],
      },
      {
        toolCalls: [
          { id: null, ...READ },
          { id: null, ...READ },
        ],
      },
    ],
    [
      "two calls under one id",
      {
        calls: [
          { ...read, id: "a" },
          { ...read, id: "a" },
        ],
      },
      {
        toolCalls: [
          { id: "a", ...READ },
          { id: "a", ...READ },
        ],
      },
    ],
    ["no reason", { text: "Hi", finishReason: null }, { stopReason: "" }],
  ])("%s", (_, script, raw) => {
    const bytes = Buffer.from(encodeDocument(script));
    for (const parts of [[bytes], split(bytes, [...bytes.keys()])]) {
      const { reply, text } = hear(parts, "complete", "application/json");
      expect(reply).toMatchObject({
        ok: true,
        raw: { model: "scripted-1", complete: true, ...raw },
        usage,
        stream: { chunks: 1 },
      });
      expect(text).toBe(reply.ok ? reply.raw.content : null);
    }
  });

  test.each([
    ["<html>no</html>", "text/html"],
    ["", "application/json"],
    ["null", "application/json"],
    ["[]", "application/json"],
    ['{"choices":[]}', "application/json"],
    ['{"choices":{}}', "application/json"],
    ["<html>no</html>", "text/event-stream"],
  ])("%j as %s is unreadable", (body, type) => {
    expect(hear([Buffer.from(body)], "complete", type).reply).toMatchObject({
      ok: false,
      code: "provider.unreadable",
      retryable: false,
    });
  });

  test("an error under a good status is an error", () => {
    const body = Buffer.from('{"error":{"message":"secret"}}');
    expect(hear([body], "complete", "application/json").reply).toMatchObject({ ok: false, code: "provider.failed" });
  });

  test("half a document is cut off", () => {
    const bytes = Buffer.from(encodeDocument({ calls: [read] }));
    for (let length = 1; length <= bytes.length; length += 1) {
      const { reply } = hear([bytes.subarray(0, length)], "cut-off", "application/json");
      expect(reply).toMatchObject({ ok: false, code: "provider.cut-off", retryable: false });
    }
  });
});

test.each([
  [
    { prompt_tokens: 3, completion_tokens: 0 },
    { inputTokens: 3, outputTokens: 0 },
  ],
  // xAI: what was thought is billed apart, and told in the total only.
  [
    { prompt_tokens: 32, completion_tokens: 9, total_tokens: 1041 },
    { inputTokens: 32, outputTokens: 1009 },
  ],
  [
    { prompt_tokens: 32, completion_tokens: 9, total_tokens: 41 },
    { inputTokens: 32, outputTokens: 9 },
  ],
  [
    { prompt_tokens: 32, completion_tokens: 9, total_tokens: 0 },
    { inputTokens: 32, outputTokens: 9 },
  ],
  [
    { prompt_tokens: 32, completion_tokens: 9, total_tokens: -1 },
    { inputTokens: 32, outputTokens: 9 },
  ],
  [{ prompt_tokens: -1, completion_tokens: 5 }, null],
  [{ prompt_tokens: 1, completion_tokens: 1.5 }, null],
  [{ prompt_tokens: 1, completion_tokens: 2 ** 31 + 1 }, null],
  [{ prompt_tokens: 1e300, completion_tokens: 1 }, null],
  [{ prompt_tokens: "NaN", completion_tokens: 1 }, null],
  [{ prompt_tokens: null, completion_tokens: 1 }, null],
  [{}, null],
  [null, null],
])("usage %j is %j", (told, understood) => {
  expect(hear([streamOf({ text: "a", usage: told })]).reply).toMatchObject({ ok: true, usage: understood });
  const document = Buffer.from(encodeDocument({ text: "a", usage: told }));
  expect(hear([document], "complete", "application/json").reply).toMatchObject({ ok: true, usage: understood });
});

test("absurd usage after a sane one leaves none", () => {
  const payloads = [5, 1e12].map((count) =>
    JSON.stringify({ choices: [{ delta: {} }], usage: { prompt_tokens: count, completion_tokens: 1 } }),
  );
  expect(hear([eventsOf([...payloads, "[DONE]"])]).reply).toMatchObject({ ok: true, usage: null });
});

function hear(
  parts: readonly Uint8Array[],
  end: "complete" | "cut-off" = "complete",
  type = "text/event-stream",
): { readonly reply: ModelReply; readonly text: string } {
  let text = "";
  const reader = listen(type, (piece) => {
    text += piece;
  });
  for (const part of parts) if (!reader.onBytes(part)) break;
  return { reply: reader.replyAt(end), text };
}

function listen(
  type = "text/event-stream",
  onText: (piece: string) => void = () => {},
): ResponseListener & { replyAt(end: ExchangeEnd): ModelReply } {
  const reader = new AnswerReader(CHAT_ANSWER, manualClock(), onText, 1_024);
  reader.onHead(head(type));
  return reader;
}

function head(type: string) {
  return { status: 200, header: (name: string) => (name === "content-type" ? type : null) };
}

function streamOf(script: ChatScript): Buffer {
  return Buffer.from(encodeEvents(script).join(""));
}

function eventsOf(payloads: readonly string[]): Buffer {
  return Buffer.from(payloads.map((payload) => `data: ${payload}\n\n`).join(""));
}

function delta(fields: object, finishReason: string | null = null): string {
  return JSON.stringify({ choices: [{ index: 0, delta: fields, finish_reason: finishReason }] });
}

function callDelta(call: object): string {
  return delta({ tool_calls: [call] });
}

function split(bytes: Buffer, places: readonly number[]): readonly Buffer[] {
  const sorted = [...new Set(places)].sort((a, b) => a - b);
  return [0, ...sorted].map((from, at) => bytes.subarray(from, sorted[at] ?? bytes.length));
}
