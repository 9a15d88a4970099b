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

  test("of a model whose rule nobody published are as many as large models count, to about two hundred", () => {
    const side = fc.integer({ min: 1, max: 100_000 });
    const unknown = imageTokensFor("llava:13b");
    fc.assert(
      fc.property(side, side, (width, height) => {
        const assumed = unknown({ width, height });
        expect(assumed).toBeLessThanOrEqual(16_384);
        for (const model of ["gpt-4o", "gpt-5", "o1", "claude-opus-4-8"]) {
          const counted = imageTokensFor(model)({ width, height });
          expect(Number.isInteger(counted) && counted > 0).toBe(true);
          expect(counted).toBeLessThanOrEqual(assumed + 200);
        }
      }),
    );
  });

  test("of an unknown small model of OpenAI's are no fewer than of those that are known, but for gpt-4o-mini", () => {
    const side = fc.integer({ min: 1, max: 100_000 });
    fc.assert(
      fc.property(side, side, (width, height) => {
        for (const model of ["gpt-5-nano", "gpt-4.1-nano", "gpt-5-mini", "o4-mini"]) {
          const counted = imageTokensFor(model)({ width, height });
          for (const unknown of ["gpt-5.4-mini", "openai/gpt-6-nano-2027-01-01", "o5-mini"]) {
            expect(imageTokensFor(unknown)({ width, height })).toBeGreaterThanOrEqual(counted);
          }
        }
      }),
    );
  });

  test("of gpt-4o-mini are more than are assumed of any other: what is assumed is no bound", () => {
    const size = { width: 1024, height: 1024 };
    expect(imageTokensFor("gpt-4o-mini")(size)).toBeGreaterThan(imageTokensFor("llava:13b")(size));
  });

  test("of a name that is not known for certain are what is assumed", () => {
    const size = { width: 32, height: 32 };
    for (const model of ["gpt-5.4", "gpt-5-turbo", "o1x", "my-gpt-4o", "qwen2.5vl"]) {
      expect(imageTokensFor(model)(size)).toBe(1_601);
    }
  });
});
