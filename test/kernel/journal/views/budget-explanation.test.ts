import { describe, expect, test } from "vitest";
import type { RefusedBy, RunEvent } from "../../../../src/kernel/journal/event.ts";
import { explainFailure } from "../../../../src/kernel/journal/views/failure-explanation.ts";
import { verifies } from "../../../requirements.ts";
import { answered, begin, contractOf, modelFailed, play, RUN_ID, toolTurn } from "../../machine/scripted-run.ts";

const usage = (inputTokens: number, costMicrousd: number) => ({ inputTokens, outputTokens: 0, costMicrousd });

function told(events: readonly RunEvent[], terms: Parameters<typeof contractOf>[0] = {}): string {
  const contract = contractOf(terms);
  return explainFailure(play(contract, events).entries, contract);
}

describe("a purse that refused an inference", () => {
  const refusal = (refusedBy: RefusedBy) =>
    told([
      ...begin(),
      modelFailed(1, {
        code: refusedBy.unit === "tokens" ? "budget.tokens" : "budget.spend",
        retryable: false,
        refusedBy,
      }),
    ]);
  const usd = { unit: "microusd", needed: 3_755, left: 1_000 } as const;

  verifies("X-6", "is named, with what was needed and left of it, and where it is set", () => {
    const rest = "does not cover it: the next inference needs $0.003755, with $0.001 left.";
    for (const [scope, name] of [
      ["all", "The day's limit in USD (budgets.perDayUsd)"],
      ["agent:main", "The limit in USD of agent main for a day (budgets.perAgentDayUsd)"],
      ["job:news:daily", "The limit in USD of job news:daily for a day (budgets.perJobDayUsd)"],
      [`run:${RUN_ID}`, "The run's own limit in USD (max_spend_microusd, or budgets.perRunUsd)"],
      ["run:run_parent", "The limit in USD of run_parent, which delegated this run,"],
      ["team:ada", "The limit in USD of team:ada"],
    ] as const) {
      expect(refusal({ scope, ...usd })).toBe(`${name} ${rest}`);
    }
    expect(refusal({ scope: "all", unit: "tokens", needed: 2_731, left: 1 })).toBe(
      "The day's limit in tokens (budgets.perDayTokens) does not cover it: the next inference needs 2731 tokens, with 1 token left.",
    );
  });

  test("for want of a price says so; of one that was recorded before purses were named, nothing is known", () => {
    const failed = modelFailed(1, { code: "budget.spend", retryable: false });
    expect(told([...begin({ price: null }), failed])).toMatch(
      /^A limit in USD applies, and the model has no price: set/,
    );
    expect(told([...begin(), failed])).toBe("");
    expect(told([...begin({ price: { inputPer1k: 1, outputPer1k: 1 } }), failed])).toBe("");
  });
});

describe("a run's own limit", () => {
  const READ = { id: "c1", tool: "fs.read_text", args: "a" };
  const turn = [answered(1, { calls: [READ], usage: usage(900, 60) }), ...toolTurn(1, READ).slice(1)];

  test("that leaves too few tokens tells how few", () => {
    const finding = told([...begin(), ...turn], { maxTokensConsumed: 1_000 });
    expect(finding).toMatch(
      /^The run's own limit in tokens \(max_tokens_consumed, or budgets\.perRunTokens\) does not cover it: the next inference needs 128 or more, with 100 tokens of 1000 left\.$/,
    );
  });

  test("that is used up tells by how much", () => {
    expect(
      told([...begin(), answered(1, { text: "hi", usage: usage(1_200, 0) })], { maxTokensConsumed: 1_000 }),
    ).toMatch(/budgets\.perRunTokens\) is used up: it is 1000 tokens, and 1200 were used\.$/);
    expect(told([...begin(), ...turn], { maxSpendMicrousd: 50 })).toBe(
      "The run's own limit in USD (max_spend_microusd, or budgets.perRunUsd) is used up: it is $0.00005, and $0.00006 was spent.",
    );
  });

  test("is not known where the contract cannot be read", () => {
    const { entries } = play(contractOf({ maxSpendMicrousd: 50 }), [...begin(), ...turn]);
    expect(explainFailure(entries, null)).toBe("");
  });
});
