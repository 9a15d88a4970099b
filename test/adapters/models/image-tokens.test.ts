import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { imageTokensFor } from "../../../src/adapters/models/image-tokens.ts";

/** Model, width, height, tokens: from the providers' own pages, where they give examples. */
const PUBLISHED: readonly (readonly [string, number, number, number])[] = [
  // https://platform.openai.com/docs/guides/images-vision
  ["gpt-4o", 1024, 1024, 765],
  ["gpt-4o-2024-11-20", 2048, 4096, 1105],
  ["gpt-4.1", 128, 64, 255],
  ["o3-2025-04-16", 128, 64, 225],
  ["gpt-5", 1024, 1024, 630],
  ["gpt-4o-mini", 512, 512, 8_500],
  ["openai/gpt-4o-mini", 1024, 1024, 25_501],
  ["gpt-4.1-mini", 1024, 1024, 1_659],
  ["gpt-5-nano", 4000, 4000, 3_779],
  ["o4-mini", 64, 32, 4],
  // https://platform.claude.com/docs/en/build-with-claude/vision: at least what either of its formulas says
  ["claude-sonnet-4-5", 1000, 1000, 1_334],
  ["anthropic/claude-opus-4.7", 2576, 1400, 4_784],
  ["claude-opus-4-8", 28, 28, 2],
];

describe("tokens of an image", () => {
  test.each(PUBLISHED)("%s counts %d x %d as its provider does", (model, width, height, tokens) => {
    expect(imageTokensFor(model)({ width, height })).toBe(tokens);
  });

  test("of a model whose rule nobody published are above those of all whose rule is known, but for their surcharges", () => {
    const side = fc.integer({ min: 1, max: 100_000 });
    const unknown = imageTokensFor("llava:13b");
    fc.assert(
      fc.property(side, side, (width, height) => {
        const bound = unknown({ width, height });
        expect(bound).toBeLessThanOrEqual(16_384);
        for (const model of ["gpt-4o", "gpt-5", "o1", "claude-opus-4-8"]) {
          const counted = imageTokensFor(model)({ width, height });
          expect(Number.isInteger(counted) && counted > 0).toBe(true);
          expect(counted).toBeLessThanOrEqual(bound + 200);
        }
      }),
    );
  });

  test("of a name that is not known for certain are the bound", () => {
    const size = { width: 32, height: 32 };
    for (const model of ["gpt-5.4", "gpt-5-turbo", "o1x", "my-gpt-4o", "qwen2.5vl"]) {
      expect(imageTokensFor(model)(size)).toBe(1_601);
    }
  });
});
