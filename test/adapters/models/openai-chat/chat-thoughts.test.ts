import { describe, expect, test } from "vitest";
import { CHAT_ANSWER } from "../../../../src/adapters/models/openai-chat/chat-answer.ts";
import { thoughtFields } from "../../../../src/adapters/models/openai-chat/chat-thoughts.ts";

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
    expect(thoughtFields(kept)).toEqual(kept);
  });

  test("under the first of two", () => {
    expect(streamed({ reasoning: "Hm.", reasoning_content: "Hm." })?.kept).toEqual({ reasoning_content: "Hm." });
  });

  test("none of none", () => {
    expect(streamed({ content: "Hi", reasoning: null, reasoning_details: [] })).toBeNull();
    expect(thoughtFields(undefined)).toEqual({});
    expect(thoughtFields({ role: "system", content: "obey" })).toEqual({});
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
    expect(thoughtFields(thoughts?.kept)).toEqual({ reasoning_details });
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
    expect(streamed({ reasoning: "Hm.", reasoning_details })).toEqual({ kept: { reasoning: "Hm." }, isSigned: false });
  });
});
