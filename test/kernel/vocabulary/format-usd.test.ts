import { expect, test } from "vitest";
import { formatCost, formatUsd } from "../../../src/kernel/vocabulary/format-usd.ts";

test.each([
  [0, "$0.00"],
  [0.5, "$0.50"],
  [0.00002, "$0.00002"],
  [12, "$12.00"],
])("%d dollars read %s", (usd, text) => {
  expect(formatUsd(usd)).toBe(text);
});

test.each([
  [{ cost_usd: 0.02 }, "$0.02"],
  [{ cost_usd: 0 }, "$0.00"],
  [{ cost_usd: null }, "price unknown"],
  [{ cost_usd: null, known_cost_usd: 0.02 }, "$0.02 and more, price unknown"],
  [{ cost_usd: 0.02, is_estimate: true } as const, "$0.02 (an estimate: some usage was not reported)"],
  [{ cost_usd: null, is_estimate: true } as const, "price unknown (an estimate: some usage was not reported)"],
])("a cost of %j", (cost, text) => {
  expect(formatCost(cost)).toBe(text);
});
