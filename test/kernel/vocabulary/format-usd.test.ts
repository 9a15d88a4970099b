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
  [15, 0.02, true, "$0.02"],
  [15, 0, true, "$0.00"],
  [0, 0, false, "$0.00"],
  [15, 0, false, "price unknown"],
  [15, 0.02, false, "$0.02 and more, price unknown"],
])("%d tokens for %d dollars, priced: %s", (tokens, usd, isPriced, text) => {
  expect(formatCost(tokens, usd, isPriced)).toBe(text);
});
