import { describe, expect, test } from "vitest";
import type { CarvedBudget } from "../../../src/kernel/journal/event.ts";
import { hashBytes } from "../../../src/kernel/vocabulary/hash.ts";
import { UNTRUSTED_LABELS } from "../../../src/kernel/vocabulary/labels.ts";
import { verifies } from "../../requirements.ts";
import {
  ASKING,
  approval,
  at,
  batch,
  begin,
  childFinished,
  childOf,
  commandsOf,
  contractOf,
  delegation,
  finished,
  isIgnored,
  lastCommands,
  lastEntry,
  lastTypes,
  NO_SIDE_EFFECTS,
  narrowed,
  notPerformed,
  outcomeOf,
  type Played,
  path,
  plan,
  planned,
  play,
  playOn,
  ref,
  toolTurn,
} from "./scripted-run.ts";

const read = (id: string, args = id) => plan({ id, tool: "fs.read_text", args });
const write = (id: string, args = id) => plan({ id, tool: "fs.write_text", args });
const acting = (...calls: Parameters<typeof batch>[1]): Played => play(contractOf(), [...begin(), ...batch(1, calls)]);
const idsOf = (run: Played): readonly string[] => commandsOf(run, "run-tool").map(({ callId }) => callId);
const dispatchedLast = (run: Played): readonly string[] =>
  lastCommands(run).flatMap((command) => ("callId" in command ? [command.callId] : []));

describe("a dispatched call", () => {
  verifies(["X-2", "M-E"], "has its whole intent on record before its command", () => {
    const keyed = { ...write("c1"), idempotency: "keyed" as const, idempotencyKey: hashBytes("key"), timeoutMs: 500 };
    const run = acting(keyed);
    expect(path(run).slice(-2)).toEqual(["VALIDATE_CALLS", "EXECUTE"]);
    expect(lastEntry(run, "EXECUTE")).toMatchObject({ actor: "system", stepId: "step-1", result: null });
    expect(lastEntry(run, "EXECUTE").decided).toEqual({
      callId: "c1",
      tool: "fs.write_text",
      argsRef: ref("c1"),
      planHash: keyed.planHash,
      idempotency: "keyed",
      idempotencyKey: hashBytes("key"),
      approvalId: null,
      sharedBy: [],
      child: null,
    });
    expect(lastCommands(run)).toEqual([
      {
        type: "run-tool",
        step: 1,
        callId: "c1",
        tool: "fs.write_text",
        argsRef: ref("c1"),
        planHash: keyed.planHash,
        idempotencyKey: hashBytes("key"),
        approvalId: null,
        timeoutMs: 500,
      },
    ]);
  });

  test("has at most the rest of its step, and of the run", () => {
    const timeoutOf = (elapsedMs: number, terms = {}) =>
      commandsOf(
        play(contractOf(terms), [...begin(), ...batch(1, [read("c1")]).map((event) => at(elapsedMs, event))]),
        "run-tool",
      ).map(({ timeoutMs }) => timeoutMs);
    expect(timeoutOf(0)).toEqual([30_000]);
    expect(timeoutOf(90_000)).toEqual([30_000]);
    expect(timeoutOf(90_001)).toEqual([29_999]);
    expect(timeoutOf(119_999)).toEqual([1]);
    expect(timeoutOf(0, { totalTimeoutMs: 20_000 })).toEqual([20_000]);
  });

  test("is not dispatched when no time is left: the batch is skipped and the step has timed out", () => {
    const late = batch(1, [read("c1"), write("c2")]).map((event) => at(120_000, event));
    const run = play(contractOf(), [...begin(), ...late]);
    expect(outcomeOf(run)).toBe("FAILED_TIMEOUT step.timeout");
    expect(path(run).slice(-3)).toEqual(["VALIDATE_CALLS", "COMMIT", "TERMINATE"]);
    expect(lastEntry(run, "COMMIT").decided).toMatchObject({
      skipped: notPerformed(["c1", "c2"]),
      budget: { performed: 0 },
    });
    expect(lastEntry(run, "COMMIT").decided.recovery.failuresInARow).toBe(0);
    expect(idsOf(run)).toEqual([]);
  });
});

describe("the order of calls", () => {
  verifies("M-P3", "side effects run one after the other, in proposed order", () => {
    const run = acting(write("c1"), write("c2"), read("c3"));
    expect(dispatchedLast(run)).toEqual(["c1"]);
    const second = playOn(run, [finished("c1")]);
    expect(dispatchedLast(second)).toEqual(["c2"]);
    expect(path(second).slice(-3)).toEqual(["EXECUTE", "OBSERVE", "EXECUTE"]);
    const third = playOn(second, [finished("c2")]);
    expect(dispatchedLast(third)).toEqual(["c3"]);
    expect(lastTypes(playOn(third, [finished("c3")]))).toEqual(["call-model"]);
  });

  test("reading calls next to each other overlap, up to the next side effect", () => {
    const run = acting(read("c1"), read("c2"), write("c3"), read("c4"), read("c5"));
    expect(dispatchedLast(run)).toEqual(["c1", "c2"]);
    const afterReads = playOn(run, [finished("c1"), finished("c2")]);
    expect(dispatchedLast(afterReads)).toEqual(["c3"]);
    expect(dispatchedLast(playOn(afterReads, [finished("c3")]))).toEqual(["c4", "c5"]);
  });

  test("no more than eight at a time; the others follow", () => {
    const ids = Array.from({ length: 11 }, (_, index) => `c${index + 1}`);
    const run = acting(...ids.map((id) => read(id)));
    expect(dispatchedLast(run)).toEqual(ids.slice(0, 8));
    const later = playOn(
      run,
      ids.slice(0, 8).map((id) => finished(id)),
    );
    expect(dispatchedLast(later)).toEqual(ids.slice(8));
  });

  test("only read-only calls overlap, whatever their risk class", () => {
    const drafts = [read("c1"), read("c2")].map((call) => ({ ...call, idempotency: "own_store" as const }));
    expect(dispatchedLast(acting(...drafts))).toEqual(["c1"]);
    const first = { ...read("c1"), idempotency: "keyed" as const };
    expect(dispatchedLast(acting(first, read("c2")))).toEqual(["c1"]);
    expect(dispatchedLast(acting(read("c2"), first))).toEqual(["c2"]);
  });
});

describe("identical calls", () => {
  verifies("X-7/shared", "that only read share one execution, and each gets its result", () => {
    const run = acting(read("c1", "a"), read("c2", "b"), read("c3", "a"), read("c4", "a"));
    expect(dispatchedLast(run)).toEqual(["c1", "c2"]);
    const executed = run.entries.flatMap((entry) => (entry.kind === "EXECUTE" ? [entry.decided] : []));
    expect(executed.map(({ callId, sharedBy }) => [callId, sharedBy])).toEqual([
      ["c1", ["c3", "c4"]],
      ["c2", []],
    ]);
    const before = run.state.prompt.tokens;
    const done = playOn(run, [finished("c1"), finished("c2", { output: "other" })]);
    expect(lastEntry(done, "COMMIT").decided.budget).toMatchObject({ performed: 2, succeeded: 2 });
    expect(done.state.prompt.tokens).toBe(before + 3 * 7 + 7);
    const observed = done.entries.flatMap((entry) => (entry.kind === "OBSERVE" ? [entry.decided] : []));
    expect(observed.map(({ callId, sharedBy }) => [callId, sharedBy])).toEqual([
      ["c1", ["c3", "c4"]],
      ["c2", []],
    ]);
  });

  test("need the same tool and the same arguments", () => {
    const list = plan({ id: "c2", tool: "fs.list_dir", args: "a" });
    expect(dispatchedLast(acting(read("c1", "a"), list, read("c3", "b")))).toEqual(["c1", "c2", "c3"]);
  });

  verifies("X-7", "with a side effect between them are executed again", () => {
    const run = playOn(acting(read("c1", "a"), write("c2"), read("c3", "a")), [finished("c1"), finished("c2")]);
    expect(idsOf(run)).toEqual(["c1", "c2", "c3"]);
  });

  test("that act are never shared", () => {
    expect(idsOf(playOn(acting(write("c1", "a"), write("c2", "a")), [finished("c1")]))).toEqual(["c1", "c2"]);
  });
});

describe("policy that narrows while a batch runs", () => {
  test("acts on the very next call: it is refused, and recorded as skipped", () => {
    const run = playOn(acting(write("c1"), write("c2"), write("c3")), [narrowed(NO_SIDE_EFFECTS), finished("c1")]);
    expect(idsOf(run)).toEqual(["c1"]);
    expect(lastEntry(run, "COMMIT").decided).toMatchObject({
      skipped: notPerformed(["c2", "c3"], "policy.kill-switch"),
      budget: { performed: 1, succeeded: 1 },
      recovery: { failuresInARow: 2, active: true },
    });
    expect(lastEntry(run, "OBSERVE").decided.heard).toEqual([narrowed(NO_SIDE_EFFECTS)]);
    expect(run.state.failedAttempts).toEqual(
      ["c2", "c3"].map((id) => ({
        tool: "fs.write_text",
        argsRef: ref(id),
        code: "policy.denied",
        messageRef: null,
        outputRef: null,
      })),
    );
    expect(run.state.history.slice(-2).map(({ result }) => result)).toEqual(["policy.denied", "policy.denied"]);
  });

  test("lets pass what it still allows", () => {
    const run = playOn(acting(write("c1"), write("c2"), read("c3"), read("c4")), [
      narrowed(NO_SIDE_EFFECTS),
      finished("c1"),
    ]);
    expect(dispatchedLast(run)).toEqual(["c3", "c4"]);
    expect(run.state.skipped).toEqual(notPerformed(["c2"], "policy.kill-switch"));
    const done = playOn(run, [finished("c3"), finished("c4")]);
    expect(lastEntry(done, "COMMIT").decided.skipped).toEqual(notPerformed(["c2"], "policy.kill-switch"));
    expect(done.state.skipped).toEqual([]);
  });

  test("an approval is still good where policy asks, and worth nothing where it denies", () => {
    const asked = play(contractOf(ASKING), [...begin(), ...batch(1, [write("c1"), write("c2")])]);
    const allowed = playOn(asked, [approval(write("c1")), approval(write("c2")), planned([write("c1"), write("c2")])]);
    expect(dispatchedLast(playOn(allowed, [finished("c1")]))).toEqual(["c2"]);
    const narrowedRun = playOn(allowed, [narrowed(NO_SIDE_EFFECTS), finished("c1")]);
    expect(lastEntry(narrowedRun, "COMMIT").decided.skipped).toEqual(notPerformed(["c2"], "policy.kill-switch"));
  });

  test("an approval whose time is over before its call's turn came is worth nothing, and the others are still good", () => {
    const all = [write("c1"), write("c2"), write("c3")];
    const asked = play(contractOf(ASKING), [...begin(), ...batch(1, all)]);
    const allowed = playOn(asked, [...all.map((call) => approval(call)), planned(all)]);
    const lapse = approval(write("c2"), "expired");
    const lapsed = playOn(allowed, [lapse, finished("c1")]);
    expect(dispatchedLast(lapsed)).toEqual(["c3"]);
    const done = playOn(lapsed, [finished("c3")]);
    expect(lastEntry(done, "COMMIT").decided.skipped).toEqual(notPerformed(["c2"], "approval.expired"));
    // Only what has not begun can lapse, only once, and only by running out of time.
    const others = [approval(write("c1"), "expired"), approval(write("c2"), "deny"), approval(write("c2"))];
    expect(others.map((event) => isIgnored(allowed, event))).toEqual([true, true, true]);
    expect(isIgnored(playOn(allowed, [lapse]), lapse)).toBe(true);
  });

  test("what a result revealed may make the next call one to ask about: it is refused, not asked", () => {
    const run = playOn(acting(write("c1"), write("c2")), [finished("c1", { labels: UNTRUSTED_LABELS })]);
    expect(idsOf(run)).toEqual(["c1"]);
    expect(lastEntry(run, "COMMIT").decided.skipped).toEqual(notPerformed(["c2"], "policy.latch"));
    expect(run.state.history.at(-1)?.result).toBe("policy.denied");
  });

  verifies("M-4.1", "and brings a forbidden pair together: its second call is refused", () => {
    const contract = contractOf({ cycleForbid: [["fs.write_text", "fs.read_text"]] });
    const calls = [write("c1"), plan({ id: "c2", tool: "http.get", args: "x" }), read("c3")];
    const noFetching = {
      policy: { ...contract.policy, exceptions: [{ tool: "http.get", decision: "deny" as const }] },
      capabilities: [],
    };
    const run = play(contract, [...begin(), ...batch(1, calls), narrowed(noFetching), finished("c1")]);
    expect(idsOf(run)).toEqual(["c1"]);
    expect(lastEntry(run, "COMMIT").decided.skipped).toEqual([
      ...notPerformed(["c2"], "policy.exception.0"),
      ...notPerformed(["c3"], "cycle.forbidden-pair"),
    ]);
    expect(run.state.history.map(({ result }) => result).slice(-2)).toEqual(["policy.denied", "policy.denied"]);
  });

  test("ends a group at the first call it denies", () => {
    const readsDenied = {
      policy: { ...contractOf().policy, exceptions: [{ tool: "http.get", decision: "deny" as const }] },
      capabilities: [],
    };
    const fetching = plan({ id: "c3", tool: "http.get", args: "x" });
    const run = playOn(acting(write("c1"), read("c2"), fetching, read("c4")), [narrowed(readsDenied), finished("c1")]);
    expect(dispatchedLast(run)).toEqual(["c2"]);
    const next = playOn(run, [finished("c2")]);
    expect(dispatchedLast(next)).toEqual(["c4"]);
    expect(next.state.skipped).toEqual(notPerformed(["c3"], "policy.exception.0"));
  });
});

describe("delegated runs", () => {
  const share = (inferences: number, tokens: number, spendMicrousd: number): CarvedBudget => ({
    inferences,
    tokens,
    spendMicrousd,
  });
  const CHILD = delegation("c1", share(3, 1_000, 50));

  verifies("T-3b", "are spawned with an intent on record, and their budget leaves the parent's", () => {
    const run = acting(CHILD);
    expect(lastCommands(run)).toEqual([
      { type: "spawn-child", step: 1, callId: "c1", argsRef: ref("c1"), child: CHILD.child },
    ]);
    expect(lastEntry(run, "EXECUTE").decided).toMatchObject({
      tool: "agent.delegate",
      child: { runId: childOf("c1"), contractHash: hashBytes("contract c1"), budget: share(3, 1_000, 50) },
    });
    expect(run.state.budget).toMatchObject({ inferences: 4, tokens: 1_015, spendMicrousd: 53, performed: 0 });
  });

  verifies("T-3b", "next to each other run in parallel, and never share an execution", () => {
    const twin = { ...delegation("c2", share(2, 500, 20)), argsRef: CHILD.argsRef };
    const run = acting(CHILD, twin, read("c3"));
    expect(lastTypes(run)).toEqual(["spawn-child", "spawn-child"]);
    expect(dispatchedLast(run)).toEqual(["c1", "c2"]);
    expect(run.state.budget).toMatchObject({ inferences: 6, tokens: 1_515, spendMicrousd: 73 });
    const first = playOn(run, [childFinished("c1", share(1, 100, 5))]);
    expect(lastTypes(first)).toEqual([]);
    expect(first.state.budget).toMatchObject({ inferences: 4, tokens: 615, spendMicrousd: 28 });
    expect(dispatchedLast(playOn(first, [childFinished("c2", share(1, 1, 1))]))).toEqual(["c3"]);
  });

  test("do not overlap with tools, in either order", () => {
    expect(dispatchedLast(acting(read("c0"), CHILD))).toEqual(["c0"]);
    const reading = { ...delegation("c1", share(1, 1, 1)), idempotency: "read_only" as const };
    expect(dispatchedLast(acting(reading, read("c2")))).toEqual(["c1"]);
    expect(dispatchedLast(acting(read("c2"), reading))).toEqual(["c2"]);
  });

  /** After one inference of 15 tokens and 3 microdollars. */
  const LIMITS = { maxInferences: 4, maxTokensConsumed: 1_015, maxSpendMicrousd: 53 };
  const AFFORDABLE: readonly (readonly [string, CarvedBudget, boolean])[] = [
    ["all that is left", share(3, 1_000, 50), true],
    ["an inference too many", share(4, 1_000, 50), false],
    ["a token too many", share(3, 1_001, 50), false],
    ["a microdollar too many", share(3, 1_000, 51), false],
  ];
  for (const [name, budget, isAffordable] of AFFORDABLE) {
    verifies("T-3b", `a share of ${name} is ${isAffordable ? "carved" : "refused"}`, () => {
      const run = play(contractOf(LIMITS), [...begin(), ...batch(1, [delegation("c1", budget)])]);
      expect(commandsOf(run, "spawn-child")).toHaveLength(isAffordable ? 1 : 0);
      if (isAffordable) return;
      expect(lastEntry(run, "COMMIT").decided).toMatchObject({
        skipped: notPerformed(["c1"], "budget.carved"),
        budget: { performed: 0, inferences: 1 },
      });
      expect(run.state.history.at(-1)?.result).toBe("policy.denied");
    });
  }

  test("without a spending limit any share of money can be afforded", () => {
    expect(dispatchedLast(acting(delegation("c1", share(1, 1, 1_000_000_000))))).toEqual(["c1"]);
  });

  verifies("T-3b", "that cannot be afforded together run after one another", () => {
    const calls = [delegation("c1", share(2, 500, 25)), delegation("c2", share(2, 500, 25))];
    const run = play(contractOf(LIMITS), [...begin(), ...batch(1, calls)]);
    expect(dispatchedLast(run)).toEqual(["c1"]);
    const next = playOn(run, [childFinished("c1", share(1, 100, 5))]);
    expect(dispatchedLast(next)).toEqual(["c2"]);
    expect(next.state.budget).toMatchObject({ inferences: 4, tokens: 615, spendMicrousd: 33 });
  });
});

test("after the last result of a batch the run goes on to the next inference", () => {
  const run = play(contractOf(), [...begin(), ...toolTurn(1, { id: "c1", tool: "fs.read_text" })]);
  expect(path(run).slice(-3)).toEqual(["EXECUTE", "OBSERVE", "COMMIT"]);
  expect(isIgnored(run, finished("c1"))).toBe(true);
});
