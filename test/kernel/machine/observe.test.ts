import { describe, expect, test } from "vitest";
import { UNKNOWN_EFFECT } from "../../../src/kernel/journal/entry.ts";
import type { PlannedCall, RecordedResponse, RunEvent } from "../../../src/kernel/journal/event.ts";
import { GRACE_MS } from "../../../src/kernel/machine/deadline.ts";
import { isParked } from "../../../src/kernel/machine/waiting.ts";
import { hashBytes } from "../../../src/kernel/vocabulary/hash.ts";
import { UNTRUSTED_LABELS, USER_LABELS } from "../../../src/kernel/vocabulary/labels.ts";
import { verifies } from "../../requirements.ts";
import {
  answered,
  approval,
  at,
  batch,
  begin,
  cancel,
  childFinished,
  contractOf,
  errorResponse,
  failed,
  finished,
  inStep,
  isIgnored,
  lastCommands,
  lastEntry,
  lastTypes,
  malformedResult,
  notPerformed,
  okResponse,
  outcomeOf,
  type Played,
  path,
  plan,
  planned,
  play,
  playOn,
  ref,
  resolved,
  timer,
  unknownEffect,
  untimed,
} from "./scripted-run.ts";

const read = (id: string, over: Partial<PlannedCall> = {}) => plan({ id, tool: "fs.read_text", args: id }, over);
const write = (id: string, over: Partial<PlannedCall> = {}) => plan({ id, tool: "fs.write_text", args: id }, over);
const acting = (...calls: readonly PlannedCall[]): Played => play(contractOf(), [...begin(), ...batch(1, calls)]);
const observed = (run: Played): readonly (readonly [string, string | undefined])[] =>
  run.entries.flatMap((entry) =>
    entry.kind === "OBSERVE" ? [[entry.decided.callId, entry.result?.type] as const] : [],
  );
const GONE = { code: "invalid.request", retryable: false, messageRef: null } as const;
const commit = (run: Played) => lastEntry(run, "COMMIT").decided;

describe("a result", () => {
  verifies("M-E", "is recorded for its call as it came, and counted", () => {
    const result = at(70, finished("c1", { output: "hello", labels: UNTRUSTED_LABELS, tokens: 12 }));
    const before = acting(read("c1"));
    const run = playOn(before, [result]);
    expect(lastEntry(run, "OBSERVE")).toMatchObject({
      elapsedMs: 70,
      actor: "system",
      labels: { integrity: "untrusted", confidentiality: "private" },
      decided: { callId: "c1", planHash: read("c1").planHash, sharedBy: [], heard: [] },
      result: untimed(inStep(1, result)),
    });
    expect(commit(run).budget).toMatchObject({ performed: 1, succeeded: 1, toolOutputBytes: 5 });
    expect(run.state.prompt.tokens).toBe(before.state.prompt.tokens + 12);
  });

  test("that failed is a result like any other: the run goes on", () => {
    const run = playOn(acting(read("c1")), [failed("c1")]);
    expect(outcomeOf(run)).toBe("INFER");
    expect(commit(run)).toMatchObject({ budget: { performed: 1, succeeded: 0 }, recovery: { failuresInARow: 1 } });
  });

  verifies("M-P3", "of overlapping calls enters in dispatch order; others are not heard yet", () => {
    const run = acting(read("c1"), read("c2"), read("c3"));
    expect(isIgnored(run, finished("c2"))).toBe(true);
    expect(isIgnored(run, finished("c3"))).toBe(true);
    const one = playOn(run, [finished("c1")]);
    expect(lastCommands(one)).toEqual([]);
    expect(isIgnored(one, finished("c1"))).toBe(true);
    expect(isIgnored(one, finished("c3"))).toBe(true);
    const done = playOn(one, [finished("c2"), finished("c3")]);
    expect(observed(done).map(([callId]) => callId)).toEqual(["c1", "c2", "c3"]);
    expect(lastTypes(done)).toEqual(["call-model"]);
  });

  test("and only what belongs to the call in flight is heard", () => {
    const run = acting(write("c1"));
    const others: readonly RunEvent[] = [
      answered(1, { text: "late" }),
      approval(write("c1")),
      childFinished("c1", { inferences: 0, tokens: 0, spendMicrousd: 0 }),
      resolved("c1", "done"),
      finished("c2"),
      malformedResult("c2"),
      unknownEffect("c2"),
      timer("tool", 29_999),
      timer("step", 119_999),
      timer("run", 599_999),
      timer("grace", 999_999),
    ];
    expect(others.map((event) => isIgnored(run, event))).toEqual(others.map(() => true));
  });
});

describe("a result that is no envelope", () => {
  const bad = (response: Partial<RecordedResponse>): RunEvent =>
    finished("c1", { response: { ...okResponse("x"), ...response } });
  const error = errorResponse().error;
  const MALFORMED: readonly (readonly [string, RunEvent])[] = [
    ["no envelope at all", malformedResult("c1")],
    ["success with an error", bad({ error })],
    ["failure without an error", bad({ ok: false, outputRef: null })],
    ["failure with an output", bad({ ok: false, error })],
    ["more output than the contract allows", bad({ outputBytes: 20_001 })],
  ];
  for (const [name, event] of MALFORMED) {
    verifies(
      ["M-P3/malformed", "M-P3/partial"],
      `${name}: FAILED_VALIDATION, with what was and was not done on record`,
      () => {
        const run = playOn(acting(write("c1"), write("c2"), read("c3")), [event]);
        expect(outcomeOf(run)).toBe("FAILED_VALIDATION tool.malformed-result");
        expect(observed(run)).toEqual([["c1", event.type]]);
        expect(commit(run)).toMatchObject({
          skipped: notPerformed(["c2", "c3"]),
          budget: { performed: 1, succeeded: 0, toolOutputBytes: 0 },
          recovery: { failuresInARow: 1 },
        });
        expect(lastTypes(run)).toEqual(["finish"]);
        expect(run.state.failedAttempts).toMatchObject([{ code: "internal.error", messageRef: null, outputRef: null }]);
      },
    );
  }

  verifies("M-P3", "abandons what else is in flight, and has it stopped", () => {
    const run = playOn(acting(read("c1"), read("c2"), write("c3")), [malformedResult("c1")]);
    expect(observed(run)).toEqual([
      ["c1", "tool.malformed"],
      ["c2", "call.abandoned"],
    ]);
    expect(commit(run).skipped).toEqual(notPerformed(["c3"]));
    expect(lastTypes(run)).toEqual(["stop-work", "finish"]);
  });

  test("as much output as the contract allows is none", () => {
    expect(outcomeOf(playOn(acting(read("c1")), [bad({ outputBytes: 20_000 })]))).toBe("INFER");
  });
});

describe("a tool that takes too long", () => {
  verifies("M-9", "is answered for with `timeout`, and the run goes on", () => {
    const run = playOn(acting(read("c1")), [timer("tool", 30_000)]);
    expect(outcomeOf(run)).toBe("INFER");
    expect(observed(run)).toEqual([["c1", "timer.fired"]]);
    expect(lastTypes(run)).toEqual(["stop-work", "call-model"]);
    expect(commit(run)).toMatchObject({ budget: { performed: 1, succeeded: 0 }, recovery: { failuresInARow: 1 } });
    expect(run.state.failedAttempts).toMatchObject([{ code: "timeout", messageRef: null }]);
    expect(run.state.prompt.tokens).toBe(105 + 64);
  });

  test("of a group: the others are not stopped for it", () => {
    const run = playOn(acting(read("c1", { timeoutMs: 10 }), read("c2")), [timer("tool", 10)]);
    expect(lastCommands(run)).toEqual([]);
    expect(isIgnored(run, timer("tool", 29_999))).toBe(true);
    const done = playOn(run, [finished("c2")]);
    expect(observed(done)).toEqual([
      ["c1", "timer.fired"],
      ["c2", "tool.finished"],
    ]);
    expect(commit(done).budget).toMatchObject({ performed: 2, succeeded: 1 });
  });

  test("is timed from its dispatch", () => {
    const run = playOn(acting(write("c1"), read("c2")), [at(5_000, finished("c1"))]);
    expect(isIgnored(run, timer("tool", 34_999))).toBe(true);
    expect(observed(playOn(run, [timer("tool", 35_000)]))[1]).toEqual(["c2", "timer.fired"]);
  });

  const stopped = () => playOn(acting(write("c1")), [timer("tool", 30_000)]);

  test("and acts on the world is stopped first, and may still say what became of it", () => {
    expect(lastCommands(stopped())).toEqual([{ type: "stop-work" }]);
    expect(observed(stopped())).toEqual([]);
    const told = playOn(stopped(), [at(31_000, finished("c1"))]);
    expect(outcomeOf(told)).toBe("INFER");
    expect(commit(told).budget).toMatchObject({ performed: 1, succeeded: 1 });
    expect(lastEntry(told, "OBSERVE").decided.heard).toEqual([timer("tool", 30_000)]);
  });

  test("and says nothing within its grace has an unknown end", () => {
    expect(isIgnored(stopped(), timer("grace", 30_000 + GRACE_MS - 1))).toBe(true);
    expect(isIgnored(stopped(), timer("tool", 30_000 + GRACE_MS))).toBe(true);
    const run = playOn(stopped(), [timer("grace", 30_000 + GRACE_MS)]);
    expect(outcomeOf(run)).toBe("INFER");
    expect(observed(run)).toEqual([["c1", "timer.fired"]]);
    expect(run.state.failedAttempts).toMatchObject([{ code: "internal.error" }]);
    expect(lastTypes(run)).toEqual(["call-model"]);
  });

  test("and does not know itself has failed", () => {
    const run = playOn(stopped(), [unknownEffect("c1")]);
    expect(outcomeOf(run)).toBe("INFER");
    expect(observed(run)).toEqual([["c1", "effect.unknown"]]);
    expect(run.state.failedAttempts).toMatchObject([{ code: "internal.error" }]);
  });

  test("and is cancelled meanwhile ends the run after its grace", () => {
    const run = playOn(stopped(), [at(31_000, cancel())]);
    expect(lastTypes(run)).toEqual(["stop-work"]);
    expect(isIgnored(run, timer("grace", 31_000 + GRACE_MS - 1))).toBe(true);
    expect(outcomeOf(playOn(run, [timer("grace", 31_000 + GRACE_MS)]))).toBe("INTERRUPTED run.cancelled");
  });

  test("the next call of the batch starts with a clean slate", () => {
    const run = playOn(acting(write("c1"), write("c2")), [
      timer("tool", 30_000),
      timer("grace", 30_000 + GRACE_MS),
      at(33_000, finished("c2")),
    ]);
    expect(outcomeOf(run)).toBe("INFER");
    expect(commit(run).budget).toMatchObject({ performed: 2, succeeded: 1 });
  });

  verifies("M-9", "up to the end of its step has timed out the step with it", () => {
    const run = playOn(acting(read("c1", { timeoutMs: 500_000 })), [timer("tool", 120_000)]);
    expect(outcomeOf(run)).toBe("FAILED_TIMEOUT step.timeout");
    expect(run.state.failedAttempts).toMatchObject([{ code: "timeout" }]);
  });
});

const ENDINGS: readonly (readonly [RunEvent, string])[] = [
  [at(120_000, cancel()), "INTERRUPTED run.cancelled"],
  [timer("step", 120_000), "FAILED_TIMEOUT step.timeout"],
  [timer("run", 600_000), "FAILED_TIMEOUT run.timeout"],
];
for (const [event, outcome] of ENDINGS) {
  describe(`${outcome} while calls are in flight`, () => {
    const atMs = event.elapsedMs;

    verifies(["M-5", "M-P3"], "harmless ones are stopped and abandoned at once", () => {
      const run = playOn(acting(read("c1"), read("c2"), write("c3")), [event]);
      expect(outcomeOf(run)).toBe(outcome);
      expect(observed(run)).toEqual([
        ["c1", event.type],
        ["c2", "call.abandoned"],
      ]);
      expect(commit(run)).toMatchObject({ skipped: notPerformed(["c3"]), budget: { performed: 0 } });
      expect(lastTypes(run)).toEqual(["stop-work", "finish"]);
      expect(path(run).slice(-4)).toEqual(["OBSERVE", "OBSERVE", "COMMIT", "TERMINATE"]);
    });

    verifies("M-P3", "an effect is stopped, and what it says within its grace is recorded", () => {
      const waiting = playOn(acting(write("c1"), write("c2")), [event]);
      expect(lastCommands(waiting)).toEqual([{ type: "stop-work" }]);
      expect(waiting.state.phase.at).toBe("OBSERVE");
      const run = playOn(waiting, [at(atMs + 100, finished("c1"))]);
      expect(outcomeOf(run)).toBe(outcome);
      expect(observed(run)).toEqual([["c1", "tool.finished"]]);
      expect(lastEntry(run, "OBSERVE").decided.heard).toEqual([event]);
      expect(commit(run)).toMatchObject({ skipped: notPerformed(["c2"]), budget: { performed: 1, succeeded: 1 } });
      expect(lastTypes(run)).toEqual(["finish"]);
    });

    verifies("M-P3", "an effect's silence is recorded when its grace is over", () => {
      const waiting = playOn(acting(write("c1")), [event]);
      expect(isIgnored(waiting, timer("grace", atMs + GRACE_MS - 1))).toBe(true);
      const run = playOn(waiting, [timer("grace", atMs + GRACE_MS)]);
      expect(outcomeOf(run)).toBe(outcome);
      expect(lastEntry(run, "OBSERVE").result).toEqual({ type: "timer.fired", timer: "grace" });
      expect(commit(run).budget).toMatchObject({ performed: 1, succeeded: 0 });
    });

    verifies("M-P3", "an effect nobody knows the end of is recorded as such", () => {
      const run = playOn(acting(write("c1")), [event, unknownEffect("c1")]);
      expect(outcomeOf(run)).toBe(outcome);
      expect(observed(run)).toEqual([["c1", "effect.unknown"]]);
      expect(commit(run).budget).toMatchObject({ performed: 1, succeeded: 0 });
    });

    test("nothing ends it twice", () => {
      const waiting = playOn(acting(write("c1")), [event]);
      const again = [at(atMs, cancel()), timer("step", 999_999), timer("run", 999_999), timer("tool", 999_999)];
      expect(again.map((other) => isIgnored(waiting, other))).toEqual(again.map(() => true));
    });
  });
}

const defect = (): RunEvent => ({ type: "defect.found", ts: "", elapsedMs: 0, errorId: "e" });

describe("an effect in doubt", () => {
  const parked = () => playOn(acting(write("c1"), read("c2")), [unknownEffect("c1")]);

  verifies("X-2/repeats", "parks the run with a question about that very call; nothing is repeated by itself", () => {
    expect(lastCommands(parked())).toEqual([
      {
        type: "ask-approval",
        step: 1,
        kind: "resolve",
        callId: "c1",
        planHash: write("c1").planHash,
        why: "interrupted before it was known whether this happened",
        labels: USER_LABELS,
      },
    ]);
    expect(observed(parked())).toEqual([]);
    const others = [unknownEffect("c1"), resolved("c2", "done"), timer("tool", 999_999), timer("run", 999_999)];
    expect(others.map((event) => isIgnored(parked(), event))).toEqual(others.map(() => true));
  });

  verifies("X-2", "that was done counts as done", () => {
    const before = parked().state.prompt.tokens;
    const run = playOn(parked(), [resolved("c1", "done")]);
    expect(observed(run)).toEqual([["c1", "effect.resolved"]]);
    expect(lastEntry(run, "OBSERVE").decided.heard).toEqual([inStep(1, unknownEffect("c1"))]);
    expect(run.state.budget).toMatchObject({ performed: 1, succeeded: 1, toolOutputBytes: 0 });
    expect(run.state.prompt.tokens).toBe(before + 4);
    expect(run.state.history).toEqual([{ call: `fs.write_text ${ref("c1")}`, result: "done" }]);
    expect(lastCommands(run)).toMatchObject([{ type: "run-tool", callId: "c2" }]);
  });

  test("that was not done is a failing result", () => {
    const run = playOn(parked(), [resolved("c1", "fail")]);
    expect(run.state.budget).toMatchObject({ performed: 1, succeeded: 0 });
    expect(run.state.failedAttempts).toMatchObject([{ code: "internal.error" }]);
    expect(run.state.prompt.tokens).toBe(parked().state.prompt.tokens + 64);
    expect(lastCommands(run)).toMatchObject([{ type: "run-tool", callId: "c2" }]);
  });

  verifies("X-2", "is tried again only when a person says so, as a new intent", () => {
    const asked = playOn(parked(), [resolved("c1", "retry")]);
    const { callId, tool, argsRef } = write("c1");
    expect(lastCommands(asked)).toEqual([
      { type: "plan-calls", step: 1, round: 1, calls: [{ callId, tool, argsRef }] },
    ]);
    const run = playOn(asked, [planned([write("c1")])]);
    expect(path(run).slice(-2)).toEqual(["OBSERVE", "EXECUTE"]);
    expect(lastCommands(run)).toMatchObject([{ type: "run-tool", callId: "c1" }]);
    expect(run.state.budget.performed).toBe(0);
    const done = playOn(run, [finished("c1"), finished("c2")]);
    expect(observed(done)).toEqual([
      ["c1", "calls.planned"],
      ["c1", "tool.finished"],
      ["c2", "tool.finished"],
    ]);
  });

  describe("that is tried again, and would do something else now", () => {
    const changed = write("c1", { planHash: hashBytes("what the first attempt left") });
    const other = write("c1", { planHash: hashBytes("and then another") });
    const asked = () => playOn(parked(), [resolved("c1", "retry"), planned([changed])]);

    verifies("X-2", "is asked about by its new plan, and the question says that the first attempt is unknown", () => {
      expect(isParked(asked().state)).toBe(true);
      expect(observed(asked())).toEqual([]);
      expect(lastCommands(asked())).toMatchObject([
        { type: "ask-approval", kind: "approve", isRetry: true, callId: "c1", planHash: changed.planHash },
      ]);
      expect(lastCommands(asked())[0]).toHaveProperty("why", expect.stringContaining("what it did is unknown"));
    });

    verifies("X-2", "runs from the plan that was approved, once that is planned again", () => {
      const run = playOn(asked(), [approval(changed), planned([changed], 2)]);
      expect(lastCommands(run)).toMatchObject([
        { type: "run-tool", callId: "c1", planHash: changed.planHash, approvalId: approval(changed).approvalId },
      ]);
      expect(lastEntry(run, "OBSERVE").decided.heard.map(({ type }) => type)).toEqual([
        ...["effect.unknown", "effect.resolved", "calls.planned", "approval.decided"],
      ]);
      expect(lastEntry(run, "EXECUTE").decided).toMatchObject({ planHash: changed.planHash });
    });

    test("is asked about anew when it has changed again", () => {
      const run = playOn(asked(), [approval(changed), planned([other], 2)]);
      expect(lastCommands(run)).toMatchObject([{ type: "ask-approval", planHash: other.planHash }]);
      // The plan that was cut off needs no further answer.
      const back = playOn(run, [approval(other), planned([write("c1")], 3)]);
      expect(lastCommands(back)).toMatchObject([{ type: "run-tool", planHash: write("c1").planHash }]);
    });

    test("is not tried again without a yes, and its effect stays unknown", () => {
      const endings: readonly (readonly [string, Played])[] = [
        ["denied", playOn(asked(), [approval(changed, "deny")])],
        ["nobody answered", playOn(asked(), [approval(changed, "expired")])],
        ["nobody can be asked", playOn(asked(), [approval(changed, "unreachable")])],
        ["no plan any more", playOn(parked(), [resolved("c1", "retry"), planned([{ ...changed, problem: GONE }])])],
      ];
      for (const [why, run] of endings) {
        expect([why, lastEntry(run, "OBSERVE").decided.error]).toEqual([why, UNKNOWN_EFFECT]);
        expect([why, run.state.budget]).toMatchObject([why, { performed: 1, succeeded: 0 }]);
        expect(lastCommands(run)).toMatchObject([{ type: "run-tool", callId: "c2" }]);
      }
      expect(outcomeOf(playOn(asked(), [cancel()]))).toBe("INTERRUPTED run.cancelled");
    });

    test("hears no answer about another plan, and no plan that it did not ask for", () => {
      for (const event of [approval(write("c1")), planned([changed]), resolved("c1", "done")]) {
        expect([event.type, isIgnored(asked(), event)]).toEqual([event.type, true]);
      }
    });

    test("ran at once under the machines before: its tool refused it", () => {
      const third = contractOf({ machineVersion: 3 });
      const effects = [...batch(1, [write("c1")]), unknownEffect("c1"), resolved("c1", "retry")];
      expect(lastCommands(play(third, [...begin(), ...effects]))).toMatchObject([{ type: "run-tool", callId: "c1" }]);
    });
  });

  verifies("X-2", "that nobody resolves interrupts the run", () => {
    const run = playOn(parked(), [resolved("c1", "expired")]);
    expect(outcomeOf(run)).toBe("INTERRUPTED effect.unresolved");
    expect(commit(run)).toMatchObject({ skipped: notPerformed(["c2"]), budget: { performed: 0 } });
  });

  verifies("O-1.2/unknown", "whose result is never learned is recorded as an error that says so", () => {
    const effect = acting(write("c1"));
    const endings: readonly (readonly [string, Played])[] = [
      ["its question expired", playOn(parked(), [resolved("c1", "expired")])],
      ["the run was cancelled while it was asked about", playOn(parked(), [cancel()])],
      ["silent after a cancellation", playOn(effect, [cancel(), timer("grace", GRACE_MS)])],
      ["unknown after a cancellation", playOn(effect, [cancel(), unknownEffect("c1")])],
      ["silent after its timeout", playOn(effect, [timer("tool", 30_000), timer("grace", 30_000 + GRACE_MS)])],
      ["answered with something else", playOn(effect, [malformedResult("c1")])],
      ["a defect ended the run", playOn(effect, [defect()])],
    ];
    for (const [why, run] of endings) {
      expect([why, lastEntry(run, "OBSERVE").decided.error]).toEqual([why, UNKNOWN_EFFECT]);
    }
  });

  test("that was resolved, and a read-only call, are no unknown effects", () => {
    const runs = [
      playOn(parked(), [resolved("c1", "done")]),
      playOn(parked(), [resolved("c1", "fail")]),
      playOn(acting(write("c1")), [finished("c1")]),
      playOn(acting(read("c1")), [cancel()]),
      playOn(acting(read("c1")), [timer("tool", 30_000)]),
      playOn(acting(read("c1")), [malformedResult("c1")]),
      playOn(acting(read("c1")), [defect()]),
    ];
    for (const run of runs) expect(lastEntry(run, "OBSERVE").decided).not.toHaveProperty("error");
  });

  test("states no error under the first machine version", () => {
    const first = contractOf({ machineVersion: 1 });
    const run = play(first, [...begin(), ...batch(1, [write("c1")]), cancel(), unknownEffect("c1")]);
    expect(lastEntry(run, "OBSERVE").decided).not.toHaveProperty("error");
  });

  test("may still answer by itself", () => {
    const run = playOn(parked(), [finished("c1")]);
    expect(observed(run)).toEqual([["c1", "tool.finished"]]);
    expect(run.state.budget.succeeded).toBe(1);
  });

  test("can be cancelled without waiting", () => {
    const run = playOn(parked(), [cancel()]);
    expect(outcomeOf(run)).toBe("INTERRUPTED run.cancelled");
    expect(observed(run)).toEqual([["c1", "cancel.requested"]]);
    expect(commit(run).skipped).toEqual(notPerformed(["c2"]));
    expect(lastTypes(run)).toEqual(["stop-work", "finish"]);
  });

  test("is an opaque one: whatever else may be done again is not in doubt", () => {
    const key = read("c9").planHash;
    const told: readonly (readonly [Partial<PlannedCall>, boolean])[] = [
      [{ idempotency: "own_store" }, true],
      [{ idempotency: "keyed", idempotencyKey: key }, true],
      // Without its key, or if it acts after all, repeating it could do it twice.
      [{ idempotency: "keyed", idempotencyKey: null }, false],
      [{ idempotency: "read_only" }, false],
      [{ idempotency: "read_only", risk: "read_only" }, true],
    ];
    for (const [promise, ignored] of told) {
      expect([promise, isIgnored(acting(write("c1", promise)), unknownEffect("c1"))]).toEqual([promise, ignored]);
    }
  });
});
