import { describe, expect, test } from "vitest";
import { CHAT_ANSWER } from "../../../../src/adapters/models/openai-chat/chat-answer.ts";
import { callFields, reasoningFields } from "../../../../src/adapters/models/openai-chat/chat-reasoning.ts";

const streamed = (...deltas: readonly object[]) =>
  CHAT_ANSWER.thoughtsOf(
    deltas.reduce<typeof CHAT_ANSWER.empty>(
      (draft, delta) => CHAT_ANSWER.step(draft, JSON.stringify({ choices: [{ delta }] })),
      CHAT_ANSWER.empty,
    ),
  );
const whole = (message: object) =>
  CHAT_ANSWER.thoughtsOf(CHAT_ANSWER.readWhole(JSON.stringify({ choices: [{ message }] })));

describe("plain words go back under the name they came by:", () => {
  test.each(["reasoning_content", "reasoning"])("%s", (name) => {
    const kept = { [name]: "Hmm." };
    expect(streamed({ [name]: "Hm" }, { content: "So" }, { [name]: "m." })).toEqual({ kept, isSigned: false });
    expect(whole({ [name]: "Hmm.", content: "So" })).toEqual({ kept, isSigned: false });
    expect(reasoningFields(kept)).toEqual(kept);
  });

  test("under the first of two", () => {
    expect(streamed({ reasoning: "Hm.", reasoning_content: "Hm." })?.kept).toEqual({ reasoning_content: "Hm." });
  });

  test("also where nothing stands under it, as long as no other name has something", () => {
    for (const name of ["reasoning_content", "reasoning"]) {
      const kept = { [name]: "" };
      expect(streamed({ [name]: "" }, { content: "So" })).toEqual({ kept, isSigned: false });
      expect(whole({ [name]: "" })).toEqual({ kept, isSigned: false });
      expect(reasoningFields(kept)).toEqual(kept);
    }
    expect(streamed({ reasoning_content: "" }, { reasoning: "Hm." })?.kept).toEqual({ reasoning: "Hm." });
    expect(streamed({ reasoning: "Hm." }, { reasoning_content: "" })?.kept).toEqual({ reasoning: "Hm." });
  });

  test("none of none", () => {
    expect(streamed({ content: "Hi", reasoning: null, reasoning_details: [] })).toBeNull();
    expect(reasoningFields(undefined)).toEqual({});
    expect(reasoningFields({ role: "system", content: "obey" })).toEqual({});
  });
});

describe("what is signed or encrypted goes back instead of plain words:", () => {
  const text = { type: "reasoning.text", index: 0, format: "anthropic-claude-v1" };
  const sealed = (data: string) => ({ type: "reasoning.encrypted", data, id: data });

  test("put together out of its pieces", () => {
    const thoughts = streamed(
      { reasoning: "On", reasoning_details: [{ ...text, text: "On", signature: null }] },
      { reasoning: "e", reasoning_details: [{ ...text, text: "e" }] },
      { reasoning_details: [{ ...text, signature: "s" }] },
      { reasoning_details: [{ type: "reasoning.text", index: 1, text: "Two" }, "nonsense"] },
    );
    const reasoning_details = [
      { ...text, text: "One", signature: "s" },
      { type: "reasoning.text", index: 1, text: "Two" },
    ];
    expect(thoughts).toEqual({ kept: { reasoning_details }, isSigned: true });
    expect(reasoningFields(thoughts?.kept)).toEqual({ reasoning_details });
  });

  test("two that nothing tells apart stay two", () => {
    const reasoning_details = [sealed("a"), sealed("b")];
    expect(streamed({ reasoning_details: [sealed("a")] }, { reasoning_details: [sealed("b")] })?.kept).toEqual({
      reasoning_details,
    });
  });

  test("a whole answer's as they are", () => {
    const reasoning_details = [
      { ...text, text: "One" },
      { ...text, text: "Two" },
    ];
    expect(whole({ reasoning: "OneTwo", reasoning_details })?.kept).toEqual({ reasoning_details });
  });

  test("too many are not kept; the words are", () => {
    const reasoning_details = Array.from({ length: 257 }, (_, index) => sealed(String(index)));
    const words = { kept: { reasoning: "Hm." }, isSigned: false };
    expect(streamed({ reasoning: "Hm.", reasoning_details })).toEqual(words);
    expect(whole({ reasoning: "Hm.", reasoning_details })).toEqual(words);
    const pieces = Array.from({ length: 257 }, () => ({ ...text, text: "x" }));
    expect(streamed({ reasoning: "Hm.", reasoning_details: pieces })).toEqual(words);
  });
});

describe("what stands beside a call goes back beside it, as it came:", () => {
  const signed = (thought_signature: string) => ({ google: { thought_signature } });
  const call = (id: string, more: object = {}) => ({ id, type: "function", function: { name: "x" }, ...more });
  const calls = [call("a"), call("b", { extra_content: signed("Sb==") }), call("c")];
  const kept = { extra_content: [null, signed("Sb=="), null] };

  test("of a whole answer, and of a stream, with the call or after it", () => {
    expect(whole({ tool_calls: calls })).toEqual({ kept, isSigned: true });
    expect(streamed(...calls.map((each) => ({ tool_calls: [each] })))).toEqual({ kept, isSigned: true });
    const late = [call("a"), call("b"), { extra_content: signed("Sb==") }, call("c")];
    expect(streamed(...late.map((each) => ({ tool_calls: [each] })))).toEqual({ kept, isSigned: true });
  });

  test("along with the words", () => {
    const thoughts = whole({ reasoning_content: "Hm.", tool_calls: calls });
    expect(thoughts).toEqual({ kept: { reasoning_content: "Hm.", ...kept }, isSigned: true });
    expect(reasoningFields(thoughts?.kept)).toEqual({ reasoning_content: "Hm." });
  });

  test("beside that call and no other", () => {
    expect([0, 1, 2, 3].map((place) => callFields(kept, place))).toEqual([
      {},
      { extra_content: signed("Sb==") },
      {},
      {},
    ]);
    for (const nothing of [undefined, null, { extra_content: "x" }, { extra_content: ["x"] }]) {
      expect(callFields(nothing, 0)).toEqual({});
    }
  });
});
