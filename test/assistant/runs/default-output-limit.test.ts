import { describe, expect, test } from "vitest";
import { DEFAULT_CEILINGS, defaultOutputTokens, type OutputLimits } from "../../../src/assistant/runs/term-bounds.ts";
import type { ThinkingLevel } from "../../../src/kernel/vocabulary/thinking-level.ts";

/** Ten dollars a million tokens of output. */
const PRICED = { maxOutputTokens: 20_000, price: { inputPer1k: 2_500, outputPer1k: 10_000 } };
const under = (limits: Partial<OutputLimits>): OutputLimits => ({ ...DEFAULT_CEILINGS, ...limits });
const dollars = (usd: number): number => usd * 1_000_000;

describe("the room of an inference", () => {
  test("is what its model is configured to give, and no more than the operator lets it", () => {
    expect(defaultOutputTokens(PRICED, null, under({}))).toBe(20_000);
    expect(defaultOutputTokens({ ...PRICED, maxOutputTokens: 500 }, null, under({}))).toBe(500);
    expect(defaultOutputTokens(PRICED, null, under({ maxOutputTokens: 700 }))).toBe(700);
  });

  test.each<[string, Partial<OutputLimits>, number]>([
    ["of a run that can pay for it", { maxSpendMicrousd: dollars(10) }, 20_000],
    ["of a run", { maxSpendMicrousd: dollars(1) }, 6_250],
    ["of a day", { daySpendMicrousd: dollars(1) }, 6_250],
    [
      "of a day, and not the run's, which is larger",
      { daySpendMicrousd: dollars(1), maxSpendMicrousd: dollars(2) },
      6_250,
    ],
    ["of a day's tokens", { dayTokens: 100_000 }, 6_250],
    ["that hardly covers a page: then a page it is", { maxSpendMicrousd: dollars(0.01) }, 2_048],
  ])("under a limit %s is a share of it", (_, limits, tokens) => {
    expect(defaultOutputTokens(PRICED, null, under(limits))).toBe(tokens);
  });

  test("under a limit in dollars is all the model gives where its tokens cost nothing", () => {
    const limits = under({ maxSpendMicrousd: 1, daySpendMicrousd: 1 });
    expect(defaultOutputTokens({ ...PRICED, price: null }, null, limits)).toBe(20_000);
    expect(defaultOutputTokens({ ...PRICED, price: { inputPer1k: 1, outputPer1k: 0 } }, null, limits)).toBe(20_000);
  });

  test.each<[ThinkingLevel | null, boolean, number]>([
    [null, false, 2_048],
    ["off", true, 2_048],
    ["low", true, 3_072],
    [null, true, 6_144],
    ["high", false, 18_432],
  ])(
    "holds the thoughts that level %s takes beside a page of answer, however small the limit",
    (level, isByItself, tokens) => {
      const thinking = { level: null, isByItself };
      expect(defaultOutputTokens({ ...PRICED, thinking }, level, under({ daySpendMicrousd: 1 }))).toBe(tokens);
    },
  );
});
