import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ContractTerms } from "../../../src/kernel/contract/contract.ts";
import type { Budget } from "../../../src/kernel/journal/entry.ts";
import { NOTHING_SPENT } from "../../../src/kernel/journal/entry.ts";
import { inferenceAllowance, isContextFull, overrun } from "../../../src/kernel/machine/allowance.ts";
import { type RunState, startRun } from "../../../src/kernel/machine/state.ts";
import { verifies } from "../../requirements.ts";
import { contractOf, RUN_ID } from "./scripted-run.ts";

const TERMS: Partial<ContractTerms> = {
  maxInferences: 5,
  maxTokensConsumed: 1_000,
  maxOutputTokens: 300,
  maxSpendMicrousd: 100,
  contextBudget: { contextWindow: 600, reservedSystem: 0, reservedSynthesis: 0, forceSynthesisAtRatio: 0.5 },
};

function stateOf(tokens: number, spent: Partial<Budget> = {}, terms: Partial<ContractTerms> = {}): RunState {
  const state = startRun(RUN_ID, contractOf({ ...TERMS, ...terms }));
  return { ...state, prompt: { ...state.prompt, tokens }, budget: { ...NOTHING_SPENT, ...spent } };
}

/** The longest answer allowed, or why there is none. */
function allowed(tokens: number, spent: Partial<Budget> = {}, terms: Partial<ContractTerms> = {}): number | string {
  const allowance = inferenceAllowance(stateOf(tokens, spent, terms));
  return allowance.ok ? allowance.maxOutputTokens : allowance.reason;
}

describe("one more inference", () => {
  const ROWS: readonly (readonly [string, () => number | string, number | string])[] = [
    ["as long an answer as the contract allows", () => allowed(100), 300],
    ["the last inference", () => allowed(100, { inferences: 4 }), 300],
    ["one too many", () => allowed(100, { inferences: 5 }), "budget.inferences"],
    ["a microdollar left", () => allowed(100, { spendMicrousd: 99 }), 300],
    ["all of it spent", () => allowed(100, { spendMicrousd: 100 }), "budget.spend"],
    ["no spending limit", () => allowed(100, { spendMicrousd: 9_999 }, { maxSpendMicrousd: null }), 300],
    ["tokens left shorten the answer", () => allowed(100, { tokens: 601 }), 299],
    ["the shortest answer the tokens allow", () => allowed(100, { tokens: 884 }), 16],
    ["one token fewer", () => allowed(100, { tokens: 885 }), "budget.tokens"],
    ["the window shortens the answer", () => allowed(400), 200],
    ["the shortest answer the window allows", () => allowed(584), 16],
    ["one token more in the prompt", () => allowed(585), "context.exhausted"],
    ["inferences come before spend", () => allowed(1_000, { inferences: 5, spendMicrousd: 100 }), "budget.inferences"],
    ["spend before tokens", () => allowed(1_000, { spendMicrousd: 100, tokens: 1_000 }), "budget.spend"],
    ["tokens before the window", () => allowed(1_000), "budget.tokens"],
  ];
  for (const [name, found, expected] of ROWS) {
    verifies("M-P3", `${name}: ${expected}`, () => expect(found()).toBe(expected));
  }

  test("may be asked about another prompt than the present one", () => {
    expect(inferenceAllowance(stateOf(599), 0)).toEqual({ ok: true, maxOutputTokens: 300 });
  });

  verifies("M-P3", "that is allowed fits every limit with prompt and answer together", () => {
    const some = fc.integer({ min: 0, max: 1_200 });
    fc.assert(
      fc.property(some, some, (tokens, spent) => {
        const answer = allowed(tokens, { tokens: spent });
        if (typeof answer === "string") return;
        expect(answer).toBeGreaterThanOrEqual(16);
        expect(answer).toBeLessThanOrEqual(300);
        expect(spent + tokens + answer).toBeLessThanOrEqual(1_000);
        expect(tokens + answer).toBeLessThanOrEqual(600);
      }),
    );
  });
});

describe("limits", () => {
  verifies("M-P3", "are kept up to the last token and microdollar", () => {
    expect(overrun(stateOf(0, { tokens: 1_000, spendMicrousd: 100 }))).toBeNull();
    expect(overrun(stateOf(0, { tokens: 1_001, spendMicrousd: 101 }))).toBe("budget.tokens");
    expect(overrun(stateOf(0, { spendMicrousd: 101 }))).toBe("budget.spend");
    expect(overrun(stateOf(0, { spendMicrousd: 101 }, { maxSpendMicrousd: null }))).toBeNull();
  });

  test("of the context: full at the ratio, not before", () => {
    expect([299, 300, 301].map((tokens) => isContextFull(stateOf(tokens)))).toEqual([false, true, true]);
  });
});
