import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeRequest } from "../../../../src/adapters/models/anthropic-messages/encode-request.ts";
import { MESSAGE_ANSWER } from "../../../../src/adapters/models/anthropic-messages/message-answer.ts";
import { isThinker } from "../../../../src/adapters/models/anthropic-messages/thinking-fields.ts";
import type { ModelRequest, PromptMessage } from "../../../../src/runtime/ports/model-backend.ts";

const thinking = (text: string) => ({ type: "thinking", thinking: text, signature: `signed ${text}` });
const hidden = (data: string) => ({ type: "redacted_thinking", data });
const said = (text: string) => ({ type: "text", text });
const use = (id: string) => ({ type: "tool_use", id, name: "clock__now", input: {} });
type Block = ReturnType<typeof thinking> | ReturnType<typeof hidden> | ReturnType<typeof said> | ReturnType<typeof use>;

/** What the server gets back of an answer of these blocks, with the results of its calls. */
function roundTrip(content: readonly Block[], more: Partial<ModelRequest> = {}, edit = (text: string) => text) {
  const body = JSON.stringify({ type: "message", model: "m", content, stop_reason: "tool_use" });
  const draft = MESSAGE_ANSWER.readWhole(body);
  const raw = MESSAGE_ANSWER.rawOutputOf(draft, true);
  const thoughts = MESSAGE_ANSWER.thoughtsOf(draft);
  const toolCalls = raw.toolCalls.map(({ id }) => ({ id: id ?? "", tool: "clock.now", argumentsText: "{}" }));
  const spoken: PromptMessage = {
    ...{ role: "assistant", content: edit(raw.content), toolCalls },
    // As it comes out of a store.
    ...(thoughts === null ? null : { thoughts: JSON.parse(JSON.stringify(thoughts.kept)) }),
  };
  const results = toolCalls.map(({ id, tool }): PromptMessage => ({ role: "tool", callId: id, tool, content: "12" }));
  const messages: readonly PromptMessage[] = [{ role: "user", content: "When?" }, spoken, ...results];
  const base = { model: "claude-opus-5", tools: [], toolChoice: "auto", maxOutputTokens: 8_192 } as const;
  const request = JSON.parse(encodeRequest({ ...base, messages, ...more }, false));
  return { thoughts, back: request.messages[1].content as readonly Block[], thinking: request.thinking };
}

describe("what a model thought comes back to it", () => {
  test.each<[string, readonly Block[]]>([
    ["before its call", [thinking("Hm."), use("a")]],
    ["where the server shows none of it", [hidden("x"), use("a")]],
    ["where its words are left out", [{ type: "thinking", thinking: "", signature: "s" }, use("a")]],
    ["in order", [thinking("1"), hidden("2"), thinking("3"), use("a")]],
    ["before and after its text", [thinking("1"), said("So:"), thinking("2"), use("a")]],
    ["between its calls", [thinking("1"), use("a"), hidden("2"), thinking("3"), use("b")]],
    ["only after its text", [said("So:"), thinking("1"), use("a")]],
  ])("%s", (_, content) => {
    expect(roundTrip(content).back).toEqual(content);
  });

  test("to the letter, whatever it holds", () => {
    const block = fc.oneof(
      fc.record({ type: fc.constant("thinking"), thinking: fc.string(), signature: fc.string() }),
      fc.record({ type: fc.constant("redacted_thinking"), data: fc.string() }),
    );
    fc.assert(
      fc.property(fc.array(block), (blocks) => {
        const content = [...(blocks as Block[]), use("a")];
        expect(roundTrip(content).back).toEqual(content);
      }),
    );
  });

  test("never behind its last call, and beside no text but that of a call", () => {
    expect(roundTrip([use("a"), thinking("1")]).back).toEqual([thinking("1"), use("a")]);
    expect(roundTrip([thinking("1"), said("Noon.")]).back).toEqual([said("Noon.")]);
  });

  test("though its text be gone or another", () => {
    const content = [thinking("1"), said("So:"), thinking("2"), use("a")];
    expect(roundTrip(content, {}, () => "").back).toEqual([thinking("1"), thinking("2"), use("a")]);
  });

  test("not where it has no budget to think, or shall not", () => {
    const content = [thinking("1"), use("a")];
    const old = { model: "claude-sonnet-4-5", tools: [] };
    expect(roundTrip(content, { ...old, effort: "low" })).toMatchObject({
      back: content,
      thinking: { type: "enabled" },
    });
    expect(roundTrip(content, old).back).toEqual([use("a")]);
    expect(roundTrip(content, { ...old, effort: "low", maxOutputTokens: 512 }).back).toEqual([use("a")]);
    expect(roundTrip(content, { model: "kimi-k2", effort: "off" }).back).toEqual([use("a")]);
  });
});

test.each<[readonly Block[], boolean | null]>([
  [[use("a")], null],
  [[thinking("1"), use("a")], true],
  [[hidden("1"), use("a")], true],
  [[{ type: "thinking", thinking: "1", signature: "" }, use("a")], false],
])("%j: signed %j", (content, isSigned) => {
  expect(roundTrip(content).thoughts?.isSigned ?? null).toBe(isSigned);
});

describe("a stream", () => {
  const start = (index: number, block: object) => ({ type: "content_block_start", index, content_block: block });
  const delta = (index: number, fields: object) => ({ type: "content_block_delta", index, delta: fields });
  const read = (...events: readonly object[]) =>
    MESSAGE_ANSWER.thoughtsOf(
      events.reduce<typeof MESSAGE_ANSWER.empty>(
        (draft, event) => MESSAGE_ANSWER.step(draft, JSON.stringify(event)),
        MESSAGE_ANSWER.empty,
      ),
    );

  test("is put together block by block", () => {
    const kept = read(
      start(0, { type: "thinking", thinking: "", signature: "" }),
      delta(0, { type: "thinking_delta", thinking: "On" }),
      start(1, { type: "thinking", thinking: "T", signature: "" }),
      delta(0, { type: "thinking_delta", thinking: "e" }),
      delta(1, { type: "thinking_delta", thinking: "wo" }),
      delta(0, { type: "signature_delta", signature: "s1" }),
      delta(1, { type: "signature_delta", signature: "s2" }),
      { type: "content_block_stop", index: 0 },
      start(2, { type: "redacted_thinking", data: "d" }),
    )?.kept;
    const blocks = [
      { type: "thinking", thinking: "One", signature: "s1" },
      { type: "thinking", thinking: "Two", signature: "s2" },
      { type: "redacted_thinking", data: "d" },
    ];
    expect(kept).toEqual(blocks.map((block) => ({ place: 0, block })));
  });

  test("that tells a thought of no block has none to give back", () => {
    expect(read(delta(0, { type: "thinking_delta", thinking: "Hm." }))).toBeNull();
  });
});

test.each([
  ["claude-3-7-sonnet-latest", true],
  ["claude-haiku-4-5", true],
  ["claude-opus-5-5", true],
  ["claude-3-5-sonnet-20241022", false],
  ["claude-3-opus-latest", false],
  ["claude-instant-1.2", false],
  ["claude-2.1", false],
  ["kimi-k2.6", false],
])("%s is known to think: %j", (model, expected) => {
  expect(isThinker(model)).toBe(expected);
});
