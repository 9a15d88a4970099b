/** An answer counts only for the question it was given to: ids that a model made up come again and prove nothing. */
import { describe, expect, test } from "vitest";
import type { RunEvent } from "../../../src/kernel/journal/event.ts";
import { startRun } from "../../../src/kernel/machine/state.ts";
import { step } from "../../../src/kernel/machine/step.ts";
import { hashBytes } from "../../../src/kernel/vocabulary/hash.ts";
import { asApprovalId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { UNTRUSTED_LABELS } from "../../../src/kernel/vocabulary/labels.ts";
import { verifies } from "../../requirements.ts";
import {
  accepted,
  answered,
  approval,
  backendOk,
  batch,
  begin,
  cancel,
  commandsOf,
  contractOf,
  delegation,
  finished,
  inStep,
  isIgnored,
  lastCommands,
  lastEntry,
  modelFailed,
  narrowed,
  notPerformed,
  outcomeOf,
  path,
  plan,
  planned,
  play,
  playOn,
  RUN_ID,
  resolved,
  timer,
  unknownEffect,
} from "./scripted-run.ts";

const READ = plan({ id: "x", tool: "fs.read_text", args: "a" });
const WRITE = plan({ id: "x", tool: "fs.write_text", args: "b" });
const ASKING = contractOf({
  policy: { ...contractOf().policy, risk: { ...contractOf().policy.risk, side_effect: "approve" } },
});

describe("answers of an earlier step", () => {
  verifies(["X-1", "M-C"], "a late result of another call with the same id proves nothing", () => {
    const contract = contractOf({ toolPolicy: "required", requiredEffects: [{ tool: "fs.write_text" }] });
    const proving = { ...WRITE, effects: [0] };
    const run = play(contract, [...begin(), ...batch(1, [READ]), timer("tool", 30_000), ...batch(2, [proving])]);
    expect(commandsOf(run, "run-tool").map(({ step: asked, tool }) => [asked, tool])).toEqual([
      [1, "fs.read_text"],
      [2, "fs.write_text"],
    ]);
    expect(isIgnored(run, inStep(1, finished("x")))).toBe(true);
    expect(playOn(run, [finished("x")]).state.effects.proven).toEqual([0]);
  });

  verifies("X-12", "a plan or an approval of an earlier turn is not heard again", () => {
    const first = [...batch(1, [WRITE]), approval(WRITE), planned([WRITE]), finished("x")];
    const run = play(ASKING, [...begin(), ...first, ...batch(2, [WRITE])]);
    const stale: readonly RunEvent[] = [
      inStep(1, planned([WRITE]), 1),
      inStep(1, planned([WRITE]), 2),
      inStep(1, approval(WRITE)),
      // The same approval, sent for the new question.
      approval(WRITE),
    ];
    expect(stale.map((event) => isIgnored(run, event))).toEqual([true, true, true, true]);
    const again = playOn(run, [approval(WRITE, "allow", { approvalId: asApprovalId("approval_2") }), planned([WRITE])]);
    expect(lastCommands(again)).toMatchObject([{ type: "run-tool", approvalId: "approval_2" }]);
  });

  verifies("X-12", "the first plan does not stand in for the one after an approval", () => {
    const run = play(ASKING, [...begin(), ...batch(1, [WRITE]), approval(WRITE)]);
    expect(lastCommands(run)).toMatchObject([{ type: "plan-calls", step: 1, round: 2 }]);
    expect(isIgnored(run, planned([WRITE], 1))).toBe(true);
    expect(lastCommands(playOn(run, [planned([WRITE], 2)]))).toMatchObject([{ type: "run-tool" }]);
  });

  verifies("X-12", "one approval does not answer two questions of a batch", () => {
    const twin = { ...WRITE, callId: plan({ id: "y", tool: "fs.write_text" }).callId };
    const run = play(ASKING, [...begin(), ...batch(1, [WRITE, twin]), approval(WRITE)]);
    const approvalId = asApprovalId("approval_x");
    expect(isIgnored(run, approval(twin, "allow", { approvalId }))).toBe(true);
    expect(isIgnored(run, approval(twin))).toBe(false);
  });
});

describe("what an approval covers", () => {
  verifies(["X-5", "X-12"], "ends where the latch closes: it was given before the untrusted text was seen", () => {
    const fetch = plan({ id: "w", tool: "fs.read_text", args: "page" });
    const events = [...begin(), ...batch(1, [fetch, WRITE]), approval(WRITE), planned([fetch, WRITE])];
    const clean = play(ASKING, [...events, finished("w")]);
    expect(lastCommands(clean)).toMatchObject([{ type: "run-tool", callId: "x" }]);
    const latched = play(ASKING, [...events, finished("w", { labels: UNTRUSTED_LABELS })]);
    expect(commandsOf(latched, "run-tool").map(({ callId }) => callId)).toEqual(["w"]);
    expect(lastEntry(latched, "COMMIT").decided.skipped).toEqual(notPerformed(["x"], "policy.latch"));
  });
});

describe("an opaque effect that was cut off", () => {
  const cutOff = (...word: readonly RunEvent[]) =>
    play(contractOf(), [...begin(), ...batch(1, [WRITE]), timer("tool", 30_000), ...word]);

  verifies("X-2", "is not done again without asking, though policy alone would allow it", () => {
    for (const word of [timer("grace", 32_000), unknownEffect("x")]) {
      const run = playOn(cutOff(word), batch(2, [WRITE]));
      expect(lastCommands(run)).toMatchObject([
        {
          type: "ask-approval",
          kind: "approve",
          why: expect.stringContaining("cut off, and it may have taken effect"),
        },
      ]);
      expect(commandsOf(run, "run-tool")).toHaveLength(1);
      const allowed = playOn(run, [approval(WRITE), planned([WRITE])]);
      expect(commandsOf(allowed, "run-tool")).toHaveLength(2);
      expect(lastEntry(allowed, "VALIDATE_CALLS").decided.calls).toMatchObject([{ policyId: "effect.in-doubt" }]);
    }
  });

  test("but what reported within its grace is known, and other plans are not concerned", () => {
    expect(lastCommands(playOn(cutOff(finished("x")), batch(2, [WRITE])))).toMatchObject([{ type: "run-tool" }]);
    const other = { ...WRITE, planHash: hashBytes("another plan") };
    expect(lastCommands(playOn(cutOff(unknownEffect("x")), batch(2, [other])))).toMatchObject([{ type: "run-tool" }]);
  });

  test("a call that may be repeated is not in doubt", () => {
    const keyed = { ...WRITE, idempotency: "keyed", idempotencyKey: hashBytes("key") } as const;
    const run = play(contractOf(), [...begin(), ...batch(1, [keyed]), timer("tool", 30_000), unknownEffect("x")]);
    expect(lastCommands(playOn(run, batch(2, [keyed])))).toMatchObject([{ type: "run-tool" }]);
  });
});

describe("a batch that leads nowhere", () => {
  const same = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ ...WRITE, callId: plan({ id: `c${index}`, tool: "t" }).callId }));

  verifies("X-7", "is not performed beyond the cycle", () => {
    const calls = same(20);
    const results = calls.map(({ callId }) => finished(callId, { output: "same" }));
    const run = play(contractOf(), [...begin(), ...batch(1, calls), ...results]);
    expect(outcomeOf(run)).toBe("FAILED_BUDGET_EXHAUSTED cycle");
    expect(commandsOf(run, "run-tool")).toHaveLength(3);
    expect(lastEntry(run, "COMMIT").decided.skipped).toEqual(notPerformed(calls.slice(3).map(({ callId }) => callId)));
  });
});

describe("events that are none", () => {
  const before = play(contractOf(), begin());
  const broken: readonly (readonly [string, RunEvent])[] = [
    ["a time that is no whole number", { ...answered(1, { text: "x" }), elapsedMs: 1.5 }],
    ["usage out of nothing", answered(1, { text: "x", usage: { inputTokens: -5, outputTokens: 0, costMicrousd: 0 } })],
    ["an unknown type", { ...cancel(), type: "run.blessed" } as unknown as RunEvent],
    ["a name of an object's own", { ...cancel(), type: "toString" } as unknown as RunEvent],
    ["an unknown field", { ...cancel(), because: "x" } as unknown as RunEvent],
  ];

  for (const [name, event] of broken) {
    verifies(["M-5", "P-0"], `${name}: a defect, and the journal is sealed`, () => {
      const run = playOn(before, [event]);
      expect(outcomeOf(run)).toBe("FAILED_CONTRACT_VIOLATION defect");
      expect(path(run).slice(-2)).toEqual(["COMMIT", "TERMINATE"]);
      expect(run.state.budget.tokens).toBe(0);
    });
  }

  verifies("M-5", "one that no entry could hold is not kept for one: nothing is thrown, then or later", () => {
    const unfit: readonly (readonly RunEvent[])[] = [
      [accepted({ principal: "\ud800" }), backendOk()],
      [...begin(), narrowed({ policy: contractOf().policy, capabilities: ["\ud800"] }), answered(1, { text: "x" })],
    ];
    for (const events of unfit) {
      const run = play(contractOf(), events);
      expect(outcomeOf(run)).toBe("FAILED_CONTRACT_VIOLATION defect");
      expect(path(run).slice(-2)).toEqual(["COMMIT", "TERMINATE"]);
    }
  });

  test("a defect with calls in flight leaves none without its entry", () => {
    const run = play(contractOf(), [...begin(), ...batch(1, [READ]), { ...finished("x"), response: null } as never]);
    expect(outcomeOf(run)).toBe("FAILED_CONTRACT_VIOLATION defect");
    expect(path(run).slice(-4)).toEqual(["EXECUTE", "OBSERVE", "COMMIT", "TERMINATE"]);
    expect(lastEntry(run, "OBSERVE").result).toEqual({ type: "call.abandoned" });
  });

  test("an error id is the place and the error", () => {
    const { defect } = step(startRun(RUN_ID, contractOf()), { ...cancel(), type: "run.blessed" } as never);
    expect(defect?.errorId).toBe(hashBytes(`${RUN_ID} 0 0 Defect: not an event: run.blessed`).slice(0, 16));
  });
});

test("an inference that is cut off counts with all it may have used", () => {
  const run = play(contractOf(), [...begin(), cancel()]);
  expect(lastEntry(run, "COMMIT").decided.budget).toMatchObject({
    inferences: 1,
    tokens: 100 + 2_048,
    spendMicrousd: 0,
  });
});

describe("with the model's price, an inference that was cut off", () => {
  const price = { inputPer1k: 1_000, outputPer1k: 2_500 };
  const full = 100 + Math.ceil(2.5 * 2_048);
  const spent = (...events: readonly RunEvent[]) =>
    lastEntry(play(contractOf(), events), "COMMIT").decided.budget.spendMicrousd;

  verifies(["X-6", "X-10"], "costs all that it may have cost, whatever cut it off", () => {
    const contract = contractOf({ stepTimeoutMs: 500, totalTimeoutMs: 500 });
    for (const timed of [timer("step", 500), timer("run", 500)]) {
      const run = play(contract, [...begin({ price }), timed]);
      expect([outcomeOf(run).split(" ")[0], lastEntry(run, "COMMIT").decided.budget.spendMicrousd]).toEqual([
        "FAILED_TIMEOUT",
        full,
      ]);
    }
    expect(spent(...begin({ price }), cancel())).toBe(full);
  });

  test("costs nothing where it had not been sent, is free, or nobody knows its price", () => {
    const failed = modelFailed(1, { retryable: true, retryAfterMs: 5_000 });
    expect(spent(...begin({ price }), failed, cancel())).toBe(failed.usage.costMicrousd);
    expect(spent(...begin({ price: { inputPer1k: 0, outputPer1k: 0 } }), cancel())).toBe(0);
    expect(spent(...begin({ price: null }), cancel())).toBe(0);
  });

  test("is priced by fractions, rounded up once", () => {
    expect(spent(...begin({ price: { inputPer1k: 0.5, outputPer1k: 0.25 } }), cancel())).toBe(1);
  });
});

test("an answer after a resolution is for the same step", () => {
  const run = play(contractOf(), [...begin(), ...batch(1, [WRITE]), unknownEffect("x")]);
  expect(isIgnored(run, inStep(2, resolved("x", "done")))).toBe(true);
  expect(isIgnored(run, resolved("x", "done"))).toBe(false);
});

verifies(["M-7.5", "T-3b"], "children that are affordable one by one but not together refuse a strict batch", () => {
  const share = { inferences: 5, tokens: 10, spendMicrousd: 0 };
  const children = [delegation("c1", share), delegation("c2", share)];
  const strict = play(contractOf({ strictMode: true, toolPolicy: "required" }), [...begin(), ...batch(1, children)]);
  expect(commandsOf(strict, "spawn-child")).toEqual([]);
  expect(lastEntry(strict, "VALIDATE_CALLS").decided.calls.map(({ policyId }) => policyId)).toEqual([
    "contract.strict-batch",
    "budget.carved",
  ]);
  const lenient = play(contractOf(), [...begin(), ...batch(1, children)]);
  expect(commandsOf(lenient, "spawn-child").map(({ callId }) => callId)).toEqual(["c1"]);
});

test("a provider that fails over and over is given up when no inference is left to afford", () => {
  const run = play(contractOf({ maxTokensConsumed: 120 }), [
    ...begin(),
    modelFailed(1, { usage: { inputTokens: 10, outputTokens: 0, costMicrousd: 0 } }),
  ]);
  expect(outcomeOf(run)).toBe("FAILED_BUDGET_EXHAUSTED budget.tokens");
});
