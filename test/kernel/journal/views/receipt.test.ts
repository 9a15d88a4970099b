import { describe, expect } from "vitest";
import type { CarvedBudget, EventOf, RunEvent } from "../../../../src/kernel/journal/event.ts";
import { receiptOf } from "../../../../src/kernel/journal/views/receipt.ts";
import { verifies } from "../../../requirements.ts";
import {
  answered,
  at,
  batch,
  begin,
  cancel,
  childFinished,
  contractOf,
  delegation,
  modelFailed,
  play,
  timer,
} from "../../machine/scripted-run.ts";

const PRICE = { inputPer1k: 1_000, outputPer1k: 2_000 };
const SPENT: CarvedBudget = { inferences: 1, tokens: 20, spendMicrousd: 0 };

function costOf(price: EventOf<"run.accepted">["price"] | undefined, ...events: readonly RunEvent[]) {
  const started = begin(price === undefined ? {} : { price });
  const receipt = receiptOf(play(contractOf(), [...started, ...events]).entries, "p:m");
  if (receipt === null) throw new Error("the run has not ended");
  const { tokens, cost_usd, known_cost_usd, is_estimate } = receipt;
  return { tokens, cost_usd, known_cost_usd, is_estimate };
}

const UNPRICED_ANSWER = answered(1, { text: "hi", usage: { inputTokens: 10, outputTokens: 5, costMicrousd: 0 } });
const delegated = (over: Partial<EventOf<"child.finished">>, spent = SPENT): readonly RunEvent[] => [
  ...batch(1, [delegation("c1", { inferences: 2, tokens: 100, spendMicrousd: 0 })]),
  childFinished("c1", spent, over),
  answered(2, { text: "done" }),
];

describe("the cost in a receipt", () => {
  verifies("X-10/cost", "is known where the model has a price, is free, or nothing was asked of it", () => {
    expect(costOf(PRICE, answered(1, { text: "hi" }))).toEqual({ tokens: 15, cost_usd: 0.000003 });
    expect(costOf({ inputPer1k: 0, outputPer1k: 0 }, UNPRICED_ANSWER)).toEqual({ tokens: 15, cost_usd: 0 });
    expect(costOf(undefined, answered(1, { text: "hi" })).cost_usd).toBe(0.000003);
  });

  verifies("X-10/cost", "is null where the model has no price", () => {
    expect(costOf(null, UNPRICED_ANSWER)).toEqual({ tokens: 15, cost_usd: null });
  });

  verifies("X-10/cost", "is null where a delegated run has no price; what is known of it is told", () => {
    expect(costOf(PRICE, ...delegated({})).cost_usd).toBe(0.000006);
    expect(costOf(PRICE, ...delegated({ isUnpriced: true }))).toMatchObject({
      ...{ cost_usd: null, known_cost_usd: 0.000006 },
      is_estimate: undefined,
    });
    expect(costOf(PRICE, ...delegated({ isEstimate: true })).is_estimate).toBe(true);
  });

  verifies("X-10/estimate", "is an estimate where an inference was cut off and charged in full", () => {
    for (const ending of [at(5, cancel()), timer("step", 999_999), timer("run", 999_999)]) {
      const cost = costOf(PRICE, ending);
      expect(cost.is_estimate).toBe(true);
      expect(cost.cost_usd).toBeGreaterThan(0);
      expect(costOf(null, ending)).toMatchObject({ cost_usd: null, is_estimate: true });
    }
  });

  verifies("X-10/estimate", "is one where the provider reported no usage", () => {
    const usage = { inputTokens: 10, outputTokens: 5, costMicrousd: 20, isEstimate: true } as const;
    expect(costOf(PRICE, answered(1, { text: "hi", usage })).is_estimate).toBe(true);
    expect(costOf(PRICE, modelFailed(1, { usage, retryable: false })).is_estimate).toBe(true);
  });

  verifies("X-10/estimate", "is none where an inference was stopped before it was sent", () => {
    const waiting = modelFailed(1, { retryAfterMs: 5_000 });
    expect(costOf(PRICE, waiting, at(10, cancel()))).toEqual({ tokens: 0, cost_usd: 0 });
    expect(costOf(null, waiting, at(10, cancel()))).toEqual({ tokens: 0, cost_usd: 0 });
  });
});
