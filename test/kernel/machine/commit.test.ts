import { describe, expect, test } from "vitest";
import type { ContractTerms } from "../../../src/kernel/contract/contract.ts";
import type { RunEvent } from "../../../src/kernel/journal/event.ts";
import { TRANSPORT_RETRY_DELAYS_MS } from "../../../src/kernel/machine/commit.ts";
import { verifies } from "../../requirements.ts";
import {
  answered,
  at,
  begin,
  cancel,
  commandsOf,
  contractOf,
  failed,
  finished,
  lastEntry,
  lastTypes,
  modelFailed,
  outcomeOf,
  type Played,
  path,
  plan,
  planned,
  play,
  playOn,
  rejected,
  toolTurn,
  toolTurns,
} from "./scripted-run.ts";

const READ = { id: "c1", tool: "fs.read_text", args: "a" };
const told = (terms: Partial<ContractTerms>, ...events: readonly RunEvent[]): Played =>
  play(contractOf(terms), [...begin(), ...events]);
const usage = (tokens: number, costMicrousd = 0) => ({ inputTokens: tokens, outputTokens: 0, costMicrousd });

describe("COMMIT", () => {
  verifies(["M-E", "M-P3"], "accounts for the whole run so far, and says where it goes next", () => {
    const run = told({}, rejected(1), ...toolTurn(2, READ, { result: failed("c1") }));
    expect(lastEntry(run, "COMMIT")).toMatchObject({ actor: "system", result: null });
    expect(lastEntry(run, "COMMIT").decided).toEqual({
      budget: {
        inferences: 2,
        formatRetries: 1,
        tokens: 30,
        toolOutputBytes: 0,
        spendMicrousd: 6,
        performed: 1,
        succeeded: 0,
      },
      recovery: { active: false, failuresInARow: 1, failuresInRecovery: 0, successesInARow: 0 },
      cycle: 1,
      promptTokens: 112,
      skipped: [],
      next: "INFER",
      heard: [],
    });
    expect(run.state.committedBudget).toEqual({ ...run.state.budget, inferences: 2 });
  });

  test("what views know is the budget of the last COMMIT, not what is reserved since", () => {
    const run = told({}, ...toolTurn(1, READ));
    expect(run.state.budget.inferences).toBe(2);
    expect(run.state.committedBudget.inferences).toBe(1);
  });
});

describe("an answer", () => {
  verifies("M-4.5", "is COMPLETED_WITH_TOOLS after a performed call, COMPLETED_CHAT_ONLY otherwise", () => {
    expect(outcomeOf(told({}, answered(1, { text: "hi" })))).toBe("COMPLETED_CHAT_ONLY");
    expect(outcomeOf(told({}, ...toolTurn(1, READ), answered(2, { text: "hi" })))).toBe("COMPLETED_WITH_TOOLS");
    const refused = toolTurn(1, { ...READ, tool: "shell.exec" }).slice(0, 2);
    expect(outcomeOf(told({}, ...refused, answered(2, { text: "hi" })))).toBe("COMPLETED_CHAT_ONLY");
    const failure = toolTurn(1, READ, { result: failed("c1") });
    expect(outcomeOf(told({}, ...failure, answered(2, { text: "hi" })))).toBe("COMPLETED_WITH_TOOLS");
  });

  verifies("M-P3", "of a provider that used more than was reserved is no success", () => {
    const limits = { maxTokensConsumed: 1_000, maxSpendMicrousd: 50 };
    const outcome = (tokens: number, cost: number) =>
      outcomeOf(told(limits, answered(1, { text: "hi", usage: usage(tokens, cost) })));
    expect(outcome(1_000, 50)).toBe("COMPLETED_CHAT_ONLY");
    expect(outcome(1_001, 50)).toBe("FAILED_BUDGET_EXHAUSTED budget.tokens");
    expect(outcome(1_000, 51)).toBe("FAILED_BUDGET_EXHAUSTED budget.spend");
  });

  test("that overran its budget is judged for that before its missing proof", () => {
    const run = told(
      { maxTokensConsumed: 1_000, toolPolicy: "required" },
      answered(1, { text: "hi", usage: usage(1_001) }),
    );
    expect(outcomeOf(run)).toBe("FAILED_BUDGET_EXHAUSTED budget.tokens");
  });

  test("in time is not undone by a deadline that passes with it", () => {
    expect(outcomeOf(told({}, at(120_000, answered(1, { text: "hi" }))))).toBe("COMPLETED_CHAT_ONLY");
  });
});

describe("budgets", () => {
  verifies(["T-3.2/default", "M-P3"], "no inference beyond the last", () => {
    const calls = Array.from({ length: 10 }, (_, index) => ({
      id: `c${index}`,
      tool: "fs.read_text",
      args: `${index}`,
    }));
    const run = told({}, ...toolTurns(calls));
    expect(outcomeOf(run)).toBe("FAILED_BUDGET_EXHAUSTED budget.inferences");
    expect(commandsOf(run, "call-model")).toHaveLength(10);
    expect(lastEntry(run, "COMMIT").decided).toMatchObject({ budget: { inferences: 10 }, next: "TERMINATE" });
    expect(outcomeOf(told({}, ...toolTurns(calls.slice(0, 9))))).toBe("INFER");
  });

  verifies("M-P3", "no inference that tokens or money do not reach for", () => {
    const turn = (tokens: number, cost: number) => [
      answered(1, { calls: [READ], usage: usage(tokens, cost) }),
      ...toolTurn(1, READ).slice(1),
    ];
    // Afterwards the prompt has 112 tokens, and the shortest answer 16.
    expect(outcomeOf(told({ maxTokensConsumed: 1_000 }, ...turn(872, 0)))).toBe("INFER");
    expect(outcomeOf(told({ maxTokensConsumed: 1_000 }, ...turn(873, 0)))).toBe(
      "FAILED_BUDGET_EXHAUSTED budget.tokens",
    );
    expect(outcomeOf(told({ maxSpendMicrousd: 50 }, ...turn(0, 49)))).toBe("INFER");
    expect(outcomeOf(told({ maxSpendMicrousd: 50 }, ...turn(0, 50)))).toBe("FAILED_BUDGET_EXHAUSTED budget.spend");
  });

  test("the longest answer shrinks with what is left", () => {
    const run = told(
      { maxTokensConsumed: 1_000 },
      answered(1, { calls: [READ], usage: usage(800) }),
      ...toolTurn(1, READ).slice(1),
    );
    expect(commandsOf(run, "call-model").map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([900, 88]);
  });
});

describe("deadlines", () => {
  const endingAt = (ms: number, terms: Partial<ContractTerms> = {}) =>
    outcomeOf(told(terms, ...toolTurn(1, READ).slice(0, 2), at(ms, finished("c1"))));

  verifies("M-P3", "a turn that used up its step's or the run's time is the last", () => {
    expect(endingAt(119_999)).toBe("INFER");
    expect(endingAt(120_000)).toBe("FAILED_TIMEOUT step.timeout");
    expect(endingAt(99_999, { totalTimeoutMs: 100_000 })).toBe("INFER");
    expect(endingAt(100_000, { totalTimeoutMs: 100_000 })).toBe("FAILED_TIMEOUT run.timeout");
    expect(endingAt(120_000, { totalTimeoutMs: 120_000 })).toBe("FAILED_TIMEOUT run.timeout");
  });

  test("win over budgets", () => {
    expect(endingAt(120_000, { maxInferences: 1 })).toBe("FAILED_TIMEOUT step.timeout");
  });

  test("count for retries too", () => {
    expect(outcomeOf(told({}, at(120_000, rejected(1))))).toBe("FAILED_TIMEOUT step.timeout");
    expect(outcomeOf(told({}, at(120_000, modelFailed(1))))).toBe("FAILED_TIMEOUT step.timeout");
  });

  test("and for compaction: what has no time left is not compacted", () => {
    const contextBudget = {
      contextWindow: 1_000,
      reservedSystem: 0,
      reservedSynthesis: 0,
      forceSynthesisAtRatio: 0.101,
    };
    expect(endingAt(120_000, { contextBudget })).toBe("FAILED_TIMEOUT step.timeout");
    expect(endingAt(119_999, { contextBudget })).toBe("INFER");
  });

  test("lose to escalation", () => {
    const failing = ["1", "2", "3", "4", "5"].map((id) => ({
      id,
      tool: "fs.read_text",
      args: id,
      result: failed(id, id),
    }));
    const events = toolTurns(failing);
    const late = [...events.slice(0, -1), at(700_000, failed("5", "5"))];
    expect(outcomeOf(told({}, ...late))).toBe("FAILED_BUDGET_EXHAUSTED tool_failure_escalation");
  });
});

describe("a contract that was tampered with", () => {
  const swapped = (run: Played): Played => ({
    ...run,
    state: { ...run.state, contract: { ...run.state.contract, maxInferences: 1_000 } },
  });

  verifies("M-B/checked", "is noticed at the next COMMIT, before anything else is believed", () => {
    const run = playOn(swapped(told({})), [answered(1, { text: "hi" })]);
    expect(outcomeOf(run)).toBe("FAILED_CONTRACT_VIOLATION contract.tampered");
    expect(path(run).slice(-3)).toEqual(["VALIDATE_CALLS", "COMMIT", "TERMINATE"]);
    expect(lastEntry(run, "TERMINATE").result).toBeNull();
  });

  verifies("M-B", "is noticed after a tool turn, and even when the run fails for another reason", () => {
    const acted = playOn(swapped(told({})), toolTurn(1, READ));
    expect(outcomeOf(acted)).toBe("FAILED_CONTRACT_VIOLATION contract.tampered");
    expect(lastTypes(acted)).toEqual(["finish"]);
    expect(outcomeOf(playOn(swapped(told({})), [cancel()]))).toBe("FAILED_CONTRACT_VIOLATION contract.tampered");
  });
});

test("transport faults are tried again twice, each time later", () => {
  expect(TRANSPORT_RETRY_DELAYS_MS).toEqual([250, 1_000]);
});

test("events that came between two entries are quoted by the next one", () => {
  const calls = [plan(READ)];
  const run = told({}, answered(1, { calls: [READ] }), planned(calls), finished("c1"));
  const quoted = run.entries.flatMap((entry) => ("heard" in entry.decided ? entry.decided.heard : []));
  expect(quoted.map(({ type }) => type)).toEqual(["run.accepted", "backend.checked", "calls.planned"]);
});
