import { describe, expect, test } from "vitest";
import type { ContractTerms } from "../../../src/kernel/contract/contract.ts";
import type { RunEvent } from "../../../src/kernel/journal/event.ts";
import { TRANSPORT_RETRY_DELAYS_MS } from "../../../src/kernel/machine/commit.ts";
import { hashBytes, hashCanonical } from "../../../src/kernel/vocabulary/hash.ts";
import { verifies } from "../../requirements.ts";
import {
  answered,
  at,
  begin,
  cancel,
  commandsOf,
  compacted,
  contractOf,
  errorResponse,
  finished,
  inStep,
  isIgnored,
  lastCommands,
  lastEntry,
  lastTypes,
  modelFailed,
  outcomeOf,
  type Played,
  path,
  play,
  playOn,
  rejected,
  TOOLS,
  timer,
  toolTurn,
  toolTurns,
  untimed,
} from "./scripted-run.ts";

const READ = { id: "c1", tool: "fs.read_text", args: "a" };
/** Mode and attempt of every request to the model. */
const asked = (run: Played): readonly string[] => commandsOf(run, "call-model").map((c) => `${c.attempt} ${c.mode}`);
const delaysOf = (run: Played): readonly number[] => commandsOf(run, "call-model").map(({ delayMs }) => delayMs);
const spentIn = (run: Played) => lastEntry(run, "COMMIT").decided.budget;

describe("an answer", () => {
  verifies("M-E", "is recorded with what was asked, and what the message adds goes into the prompt", () => {
    const contract = contractOf();
    const answer = at(40, answered(1, { calls: [READ], tokens: 21 }));
    const run = play(contract, [...begin(), answer]);
    expect(lastEntry(run, "INFER")).toMatchObject({
      stepId: "step-1",
      elapsedMs: 40,
      actor: "model",
      modelFingerprint: "fp_1",
      decided: {
        promptHead: hashBytes("prompt"),
        attempt: 1,
        mode: "normal",
        maxOutputTokens: 2_048,
        constraintHash: hashCanonical([contract.contractHash, "normal"]),
        heard: [],
      },
      result: untimed(answer),
    });
    expect(run.state.prompt).toEqual({
      head: hashCanonical([hashBytes("prompt"), answer.messageRef]),
      tokens: 121,
    });
    expect(run.state.budget).toMatchObject({ inferences: 1, tokens: 15, spendMicrousd: 3 });
  });

  test("without a fingerprint keeps the one before; the entries before any have none", () => {
    const run = play(contractOf(), [...begin(), ...toolTurn(1, READ), answered(2, { text: "ok", fingerprint: "" })]);
    expect(run.entries[0]?.modelFingerprint).toBe("");
    expect(lastEntry(run, "TERMINATE").modelFingerprint).toBe("fp_1");
  });

  test("to another attempt is not heard, nor a result, a plan or an early timer", () => {
    const run = play(contractOf(), begin());
    const others: RunEvent[] = [
      answered(0, { text: "late" }),
      answered(2, { text: "early" }),
      modelFailed(2),
      compacted(10),
      finished("c1"),
      timer("step", 119_999),
      timer("run", 599_999),
      timer("tool", 999_999),
      timer("grace", 999_999),
    ];
    expect(others.map((event) => isIgnored(run, event))).toEqual(others.map(() => true));
  });
});

describe("strict_mode", () => {
  const ADAPTED: readonly (readonly [boolean, "native" | "recovered" | "rejected", string])[] = [
    [false, "native", "COMPLETED_CHAT_ONLY"],
    [false, "recovered", "COMPLETED_CHAT_ONLY"],
    [false, "rejected", "FAILED_PROTOCOL_MALFORMED protocol.malformed"],
    [true, "native", "COMPLETED_CHAT_ONLY"],
    [true, "recovered", "FAILED_PROTOCOL_MALFORMED protocol.malformed"],
    [true, "rejected", "FAILED_PROTOCOL_MALFORMED protocol.malformed"],
  ];
  for (const [strictMode, status, outcome] of ADAPTED) {
    verifies(["M-7.5", "M-4.2"], `${strictMode ? "strict" : "lenient"}: ${status} → ${outcome}`, () => {
      const contract = contractOf({ strictMode, toolPolicy: "forbidden", maxFormatRetries: 0 });
      const adapter = { status, failureCode: null, version: "native-tools@1" };
      expect(outcomeOf(play(contract, [...begin(), answered(1, { text: "hello", adapter })]))).toBe(outcome);
    });
  }

  test("an accepted status without a message is malformed all the same", () => {
    const run = play(contractOf({ maxFormatRetries: 0 }), [...begin(), answered(1, { text: "x", messageRef: null })]);
    expect(outcomeOf(run)).toBe("FAILED_PROTOCOL_MALFORMED protocol.malformed");
  });
});

describe("the retry ladder", () => {
  for (const strictMode of [true, false]) {
    verifies(
      ["M-7.5/retries", "M-P2b/ladder", "M-P2b/exhaustion"],
      `strict ${strictMode}: malformed twice is two requests and no third`,
      () => {
        const contract = contractOf({ strictMode, toolPolicy: "forbidden" });
        const run = play(contract, [...begin(), rejected(1), rejected(2)]);
        expect(outcomeOf(run)).toBe("FAILED_PROTOCOL_MALFORMED protocol.malformed");
        expect(asked(run)).toEqual(["1 normal", "2 repair"]);
        expect(path(run)).toEqual(["PRECHECK", "INFER", "COMMIT", "INFER", "COMMIT", "TERMINATE"]);
        expect(spentIn(run)).toMatchObject({ inferences: 2, formatRetries: 2, tokens: 30 });
      },
    );
  }

  verifies("M-P2b", "without retries the first malformed answer ends the run", () => {
    const run = play(contractOf({ maxFormatRetries: 0 }), [...begin(), rejected(1)]);
    expect(outcomeOf(run)).toBe("FAILED_PROTOCOL_MALFORMED protocol.malformed");
    expect(asked(run)).toEqual(["1 normal"]);
  });

  verifies("M-P2b", "a repaired answer counts; a later malformed one finds no retry left", () => {
    const repaired = [...begin(), rejected(1), ...toolTurn(2, READ)];
    expect(outcomeOf(play(contractOf(), [...repaired, answered(3, { text: "ok" })]))).toBe("COMPLETED_WITH_TOOLS");
    const again = play(contractOf(), [...repaired, rejected(3)]);
    expect(outcomeOf(again)).toBe("FAILED_PROTOCOL_MALFORMED protocol.malformed");
    expect(asked(again)).toEqual(["1 normal", "2 repair", "3 normal"]);
  });

  verifies("M-P2b/ladder", "a retry is an inference: without one left there is none", () => {
    const run = play(contractOf({ maxInferences: 1 }), [...begin(), rejected(1)]);
    expect(outcomeOf(run)).toBe("FAILED_BUDGET_EXHAUSTED budget.inferences");
  });

  test("what was rejected adds nothing to the prompt", () => {
    const run = play(contractOf(), [...begin(), rejected(1)]);
    expect(run.state.prompt).toEqual({ head: hashBytes("prompt"), tokens: 100 });
  });
});

describe("a provider that fails", () => {
  test("is asked again twice, later each time; the third failure is final", () => {
    const run = play(contractOf(), [...begin(), modelFailed(1), modelFailed(2), modelFailed(3)]);
    expect(outcomeOf(run)).toBe("FAILED_PROTOCOL_MALFORMED provider.unavailable");
    expect(asked(run)).toEqual(["1 normal", "2 normal", "3 normal"]);
    expect(delaysOf(run)).toEqual([0, ...TRANSPORT_RETRY_DELAYS_MS]);
  });

  test("is asked again when it wished, where it said so, whether that is sooner or later", () => {
    const failures = [modelFailed(1, { retryAfterMs: 90 }), modelFailed(2, { retryAfterMs: 7_000 })];
    expect(delaysOf(play(contractOf(), [...begin(), ...failures]))).toEqual([0, 90, 7_000]);
  });

  test("and then answers has the same patience again", () => {
    const answers = [modelFailed(1), modelFailed(2), ...toolTurn(3, READ), modelFailed(4), answered(5, { text: "ok" })];
    const run = play(contractOf(), [...begin(), ...answers]);
    expect(delaysOf(run)).toEqual([0, ...TRANSPORT_RETRY_DELAYS_MS, 0, TRANSPORT_RETRY_DELAYS_MS[0]]);
  });

  test("costs no inference, though its tokens and money are charged", () => {
    const usage = { inputTokens: 8, outputTokens: 2, costMicrousd: 4 };
    const run = play(contractOf({ maxInferences: 1 }), [...begin(), modelFailed(1, { usage })]);
    expect(spentIn(run)).toMatchObject({ inferences: 0, formatRetries: 0, tokens: 10, spendMicrousd: 4 });
    const answeredAtLast = playOn(run, [modelFailed(2, { usage }), answered(3, { text: "ok" })]);
    expect(outcomeOf(answeredAtLast)).toBe("COMPLETED_CHAT_ONLY");
    expect(spentIn(answeredAtLast)).toMatchObject({ inferences: 1, tokens: 35, spendMicrousd: 11 });
  });

  test("with a failure that cannot pass is not asked again", () => {
    const run = play(contractOf(), [...begin(), modelFailed(1, { retryable: false })]);
    expect(outcomeOf(run)).toBe("FAILED_PROTOCOL_MALFORMED provider.unavailable");
    expect(asked(run)).toEqual(["1 normal"]);
    expect(lastEntry(run, "INFER")).toMatchObject({ actor: "system", result: { type: "model.failed", attempt: 1 } });
  });

  for (const code of ["budget.spend", "budget.tokens"]) {
    verifies("X-6", `whose purse is empty (${code}) ends the run: nothing was sent, nothing is tried again`, () => {
      const run = play(contractOf(), [...begin(), modelFailed(1, { code, retryable: true })]);
      expect(outcomeOf(run)).toBe(`FAILED_BUDGET_EXHAUSTED ${code}`);
      expect(asked(run)).toEqual(["1 normal"]);
      expect(path(run)).toEqual(["PRECHECK", "INFER", "COMMIT", "TERMINATE"]);
      expect(lastEntry(run, "COMMIT")).toMatchObject({ decided: { budget: { inferences: 0 } } });
    });
  }

  test("is asked again in the mode it was asked in", () => {
    const run = play(contractOf(), [...begin(), rejected(1), modelFailed(2)]);
    expect(asked(run)).toEqual(["1 normal", "2 repair", "3 repair"]);
  });

  test("has its patience back after an answer, malformed or not", () => {
    const twice = (attempt: number) => [modelFailed(attempt), modelFailed(attempt + 1)];
    const run = play(contractOf(), [...begin(), ...twice(1), rejected(3), ...twice(4), answered(6, { text: "ok" })]);
    expect(outcomeOf(run)).toBe("COMPLETED_CHAT_ONLY");
  });
});

describe("an interrupted inference", () => {
  const ENDED: readonly (readonly [RunEvent, string])[] = [
    [cancel(), "INTERRUPTED run.cancelled"],
    [timer("step", 120_000), "FAILED_TIMEOUT step.timeout"],
    [timer("run", 600_000), "FAILED_TIMEOUT run.timeout"],
  ];
  for (const [event, outcome] of ENDED) {
    verifies("M-5/accounting", `${outcome}: the request is stopped, recorded and accounted for`, () => {
      const run = play(contractOf(), [...begin(), event]);
      expect(outcomeOf(run)).toBe(outcome);
      expect(path(run)).toEqual(["PRECHECK", "INFER", "COMMIT", "TERMINATE"]);
      expect(lastTypes(run)).toEqual(["stop-work", "finish"]);
      expect(lastEntry(run, "INFER")).toMatchObject({
        actor: "system",
        decided: { attempt: 1 },
        result: untimed(event),
      });
      expect(spentIn(run).inferences).toBe(1);
    });
  }

  verifies("X-6", "costs all it could, unless it still waited for its time: then nothing was sent", () => {
    const waiting = play(contractOf(), [...begin(), modelFailed(1, { retryAfterMs: 900 })]);
    const dueMs = waiting.state.elapsedMs + 900;
    const tokensAt = (elapsedMs: number) => spentIn(playOn(waiting, [at(elapsedMs, cancel())])).tokens;
    const { tokens: promptTokens } = waiting.state.prompt;
    expect([tokensAt(dueMs - 1) - spentIn(waiting).tokens, tokensAt(dueMs) > promptTokens]).toEqual([0, true]);
  });

  test("a step's time begins with its inference", () => {
    const run = play(contractOf(), [
      ...begin(),
      at(50_000, answered(1, { calls: [READ] })),
      ...toolTurn(1, READ).slice(1),
    ]);
    expect(run.state.phase.at).toBe("INFER");
    expect(isIgnored(run, timer("step", 169_999))).toBe(true);
    expect(outcomeOf(playOn(run, [timer("step", 170_000)]))).toBe("FAILED_TIMEOUT step.timeout");
  });
});

/** Full from 500 tokens on. */
const SMALL: Partial<ContractTerms> = {
  contextBudget: { contextWindow: 1_000, reservedSystem: 101, reservedSynthesis: 50, forceSynthesisAtRatio: 0.5 },
};
/** A turn after which the prompt has 100 + 5 + `tokens` tokens. */
const grown = (tokens: number) => [...begin(), ...toolTurn(1, READ, { result: finished("c1", { tokens }) })];
const full = (terms: Partial<ContractTerms> = {}) => play(contractOf({ ...SMALL, ...terms }), grown(395));

describe("a full context", () => {
  verifies("M-P3", "is compacted before the model is asked again, and not a token earlier", () => {
    expect(asked(play(contractOf(SMALL), grown(394)))).toEqual(["1 normal", "2 normal"]);
    const run = full();
    expect(lastCommands(run)).toEqual([
      { type: "compact", step: 2, promptHead: run.state.prompt.head, targetTokens: 449 },
    ]);
    expect(lastEntry(run, "COMMIT").decided).toMatchObject({ promptTokens: 500, next: "INFER" });
    expect(run.state.phase).toMatchObject({ at: "INFER", compacting: true });
    expect(run.state.budget.inferences).toBe(1);
  });

  verifies("M-P3", "goes on as before when compaction made room", () => {
    const event = compacted(499);
    const run = playOn(full(), [event]);
    expect(lastCommands(run)).toMatchObject([
      {
        type: "call-model",
        attempt: 2,
        mode: "normal",
        promptHead: hashBytes("compacted"),
        maxOutputTokens: 501,
        tools: TOOLS,
      },
    ]);
    expect(run.state.budget).toMatchObject({ inferences: 2, tokens: 45, spendMicrousd: 4 });
    expect(run.state.step).toBe(2);
    const done = playOn(run, [answered(2, { text: "done" })]);
    expect(lastEntry(done, "INFER").decided).toMatchObject({
      promptHead: hashBytes("compacted"),
      heard: [inStep(2, event)],
    });
    expect(outcomeOf(done)).toBe("COMPLETED_WITH_TOOLS");
  });

  for (const [why, event] of [
    ["compaction left it full", compacted(500)],
    ["compaction failed", compacted(10, { succeeded: false })],
  ] as const) {
    verifies("M-P3/synthesis", `${why}: the model is asked to wrap up without tools`, () => {
      const run = playOn(full(), [event]);
      expect(lastCommands(run)).toMatchObject([{ type: "call-model", attempt: 2, mode: "synthesis", tools: [] }]);
      expect(outcomeOf(playOn(run, [answered(2, { text: "in short" })]))).toBe("COMPLETED_WITH_TOOLS");
    });
  }

  test("a failed compaction leaves the prompt as it was, and is paid for", () => {
    const before = full();
    const run = playOn(before, [compacted(10, { succeeded: false })]);
    expect(run.state.prompt).toEqual(before.state.prompt);
    expect(run.state.budget.tokens).toBe(45);
  });

  verifies("M-P3", "asked to wrap up, a model that calls a tool ends the run and nothing is performed", () => {
    const run = playOn(full(), [compacted(500), answered(2, { calls: [{ ...READ, id: "c2" }] })]);
    expect(outcomeOf(run)).toBe("FAILED_BUDGET_EXHAUSTED context.exhausted");
    expect(lastEntry(run, "VALIDATE_CALLS").decided.calls).toMatchObject([
      { callId: "c2", planHash: null, policyId: "context.exhausted", decision: "deny" },
    ]);
    expect(lastTypes(run)).toEqual(["finish"]);
    expect(spentIn(run).performed).toBe(1);
  });

  verifies(["M-P3", "X-1"], "with a requirement unmet there is nothing to wrap up: the model is not asked", () => {
    const run = playOn(full({ requiredEffects: [{ tool: "fs.write_text" }] }), [compacted(500)]);
    expect(outcomeOf(run)).toBe("FAILED_BUDGET_EXHAUSTED context.exhausted");
    expect(asked(run)).toEqual(["1 normal"]);
    expect(lastEntry(run, "INFER")).toMatchObject({
      result: untimed(inStep(2, compacted(500))),
      decided: { attempt: 1 },
    });
    expect(spentIn(run).inferences).toBe(1);
  });

  test("with a requirement unmet but room made, work goes on", () => {
    const run = playOn(full({ requiredEffects: [{ tool: "fs.write_text" }] }), [compacted(499)]);
    expect(asked(run)).toEqual(["1 normal", "2 normal"]);
  });

  test("what compaction cost may leave nothing for the answer", () => {
    const usage = { inputTokens: 1_000, outputTokens: 0, costMicrousd: 0 };
    const run = playOn(full({ maxTokensConsumed: 1_500 }), [compacted(470, { usage })]);
    expect(outcomeOf(run)).toBe("FAILED_BUDGET_EXHAUSTED budget.tokens");
    expect(path(run).slice(-3)).toEqual(["INFER", "COMMIT", "TERMINATE"]);
  });

  test("is not compacted when no inference could follow", () => {
    expect(outcomeOf(full({ maxInferences: 1 }))).toBe("FAILED_BUDGET_EXHAUSTED budget.inferences");
  });

  test("keeps recovery's mode over the compaction", () => {
    const failing = (id: string) => finished(id, { tokens: 200, response: errorResponse() });
    const run = play(contractOf(SMALL), [
      ...begin(),
      ...toolTurns(["c1", "c2"].map((id) => ({ ...READ, id, args: id, result: failing(id) }))),
      compacted(100),
    ]);
    expect(asked(run)).toEqual(["1 normal", "2 normal", "3 recovery"]);
  });

  test("while it is compacted only the compaction is heard", () => {
    const run = full();
    const others = [answered(1, { text: "late" }), answered(2, { text: "early" }), modelFailed(1), finished("c1")];
    expect(others.map((event) => isIgnored(run, event))).toEqual(others.map(() => true));
  });

  verifies("M-5", "a compaction that is cancelled ends the run", () => {
    const run = playOn(full(), [cancel()]);
    expect(outcomeOf(run)).toBe("INTERRUPTED run.cancelled");
    expect(lastEntry(run, "INFER").decided).toMatchObject({ attempt: 1, mode: "normal", maxOutputTokens: 0 });
    expect(lastTypes(run)).toEqual(["stop-work", "finish"]);
  });

  test("a malformed answer is repaired in a context that still has room, compacted first where it has none", () => {
    const run = playOn(full(), [compacted(500), rejected(2)]);
    expect(lastTypes(run)).toEqual(["compact"]);
    expect(asked(playOn(run, [compacted(500)]))).toEqual(["1 normal", "2 synthesis", "3 synthesis"]);
    expect(asked(playOn(run, [compacted(300)]))).toEqual(["1 normal", "2 synthesis", "3 repair"]);
  });
});

test("a constraint is the contract's, for the mode", () => {
  const contract = contractOf();
  const run = play(contract, [...begin(), rejected(1)]);
  expect(commandsOf(run, "call-model").map(({ constraintHash }) => constraintHash)).toEqual(
    ["normal", "repair"].map((mode) => hashCanonical([contract.contractHash, mode])),
  );
});
