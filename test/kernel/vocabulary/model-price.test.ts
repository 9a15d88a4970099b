import { expect, test } from "vitest";
import { costOf } from "../../../src/kernel/vocabulary/model-price.ts";

const PRICE = { inputPer1k: 1000, outputPer1k: 2000 };
const usage = { inputTokens: 1000, outputTokens: 500 };

test("costs are rounded up, and what has no price costs nothing", () => {
  expect(costOf(PRICE, usage)).toBe(2000);
  expect(costOf(PRICE, { inputTokens: 1, outputTokens: 0 })).toBe(1);
  expect(costOf({ inputPer1k: 1, outputPer1k: 0 }, { inputTokens: 1, outputTokens: 9 })).toBe(1);
  expect(costOf(null, usage)).toBe(0);
});
