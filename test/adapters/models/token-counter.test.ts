import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tokenCounterFor } from "../../../src/adapters/models/token-counter.ts";
import { ESTIMATED_TOKENS, estimateTokens, MESSAGE_TOKENS } from "../../../src/runtime/model/estimate-tokens.ts";

async function prepared(model: string): Promise<(text: string) => number> {
  const { prepare, count } = tokenCounterFor(model);
  await prepare?.();
  return (text) => count(text) - MESSAGE_TOKENS;
}

describe("tokens", () => {
  // Counts of OpenAI's cookbook, "How to count tokens with tiktoken".
  test.each([
    ["gpt-4", "antidisestablishmentarianism", 6],
    ["gpt-4", "2 + 2 = 4", 7],
    ["gpt-4", "お誕生日おめでとう", 9],
    ["gpt-4o", "antidisestablishmentarianism", 6],
    ["gpt-4o", "2 + 2 = 4", 7],
    ["gpt-4o", "お誕生日おめでとう", 8],
  ])("as %s counts %s", async (model, text, tokens) => {
    const count = await prepared(model);
    expect(count(text)).toBe(tokens);
  });

  test.each([
    "gpt-4o-mini",
    "gpt-4.1",
    "gpt-5-mini",
    "o3-mini",
    "o1",
    "openai/gpt-4o",
    "gpt-oss:20b",
    "chatgpt-4o-latest",
    "gpt-4-turbo",
    "gpt-3.5-turbo",
  ])("%s is of a family whose tokenizer is known", (model) => {
    expect(tokenCounterFor(model).prepare).not.toBeNull();
  });

  test.each([
    "demo",
    "kimi-k1-128k",
    "claude-sonnet-4",
    "llama3:8b",
    "o2",
    "gpt-4all",
    "my-gpt-4o",
    "ggpt-4",
    "scripted",
  ])("%s is not, and is estimated", (model) => {
    expect(tokenCounterFor(model)).toBe(ESTIMATED_TOKENS);
  });

  test("are estimated until the tokenizer is there, and counted from then on", async () => {
    const { prepare, count } = tokenCounterFor("gpt-4o");
    const text = "The quick brown fox jumps over the lazy dog.";
    expect(count(text)).toBe(estimateTokens(text));
    await Promise.all([prepare?.(), prepare?.()]);
    expect(count(text)).toBe(10 + MESSAGE_TOKENS);
  });

  test("what looks like a special token is text", async () => {
    const count = await prepared("gpt-4o");
    expect(count("<|endoftext|>")).toBeGreaterThan(1);
    expect(count("<|im_start|>system")).toBeGreaterThan(2);
  });

  test("a text without blanks does not take the square of its length", async () => {
    const count = await prepared("gpt-4o");
    for (const text of ["a".repeat(200_000), "漢字仮名交じり文".repeat(10_000), " ".repeat(200_000)]) {
      expect(count(text)).toBeGreaterThan(text.length / 256);
      expect(count(text)).toBeLessThanOrEqual(Buffer.byteLength(text));
    }
  });

  test("slices change a count by no more than a few tokens each, and cut no character", async () => {
    const count = await prepared("gpt-4o");
    const word = fc.string({ unit: "grapheme-composite", minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 8 }), (words) => {
        const short = words.join(" ").replaceAll(/\s+/g, " ");
        const whole = count(short);
        const long = `${short} ${"x".repeat(129)}`;
        const slices = Math.ceil([...long].length / 128);
        expect(Math.abs(count(long) - whole - 17)).toBeLessThanOrEqual(4 * slices + 4);
      }),
      { numRuns: 50 },
    );
  });

  test("lone surrogates and nothing at all are counted too", async () => {
    const count = await prepared("gpt-4");
    expect(count("")).toBe(0);
    expect(count("\ud800")).toBeGreaterThan(0);
  });
});
