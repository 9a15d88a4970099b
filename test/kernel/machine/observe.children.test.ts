import { describe, expect, test } from "vitest";
import type { CarvedBudget } from "../../../src/kernel/journal/event.ts";
import { UNTRUSTED_LABELS } from "../../../src/kernel/vocabulary/labels.ts";
import { verifies } from "../../requirements.ts";
import {
  batch,
  begin,
  cancel,
  childFinished,
  childOf,
  contractOf,
  delegation,
  errorResponse,
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
  plan,
  play,
  playOn,
  timer,
  unknownEffect,
  untimed,
} from "./scripted-run.ts";

const SHARE: CarvedBudget = { inferences: 3, tokens: 1_000, spendMicrousd: 50 };
const SPENT: CarvedBudget = { inferences: 1, tokens: 400, spendMicrousd: 20 };
const children = () =>
  play(contractOf(), [
    ...begin(),
    ...batch(1, [delegation("c1", SHARE), delegation("c2", SHARE), plan({ id: "c3", tool: "fs.read_text" })]),
  ]);
const observed = (run: Played): readonly (readonly [string, string | undefined])[] =>
  run.entries.flatMap((entry) =>
    entry.kind === "OBSERVE" ? [[entry.decided.callId, entry.result?.type] as const] : [],
  );

describe("a child that ends", () => {
  verifies("T-3b", "gives back what it did not spend, and its outcome and head stand in the parent's journal", () => {
    const event = childFinished("c1", SPENT, { labels: UNTRUSTED_LABELS });
    const run = playOn(children(), [event]);
    expect(lastEntry(run, "OBSERVE")).toMatchObject({
      labels: { integrity: "untrusted", confidentiality: "private" },
      decided: { callId: "c1" },
      result: untimed(inStep(1, event)),
    });
    expect(run.state.budget).toMatchObject({
      inferences: 1 + 1 + 3,
      tokens: 15 + 400 + 1_000,
      spendMicrousd: 3 + 20 + 50,
      performed: 1,
      succeeded: 1,
    });
    expect(run.state.prompt.tokens).toBe(children().state.prompt.tokens + 9);
  });

  test("badly is a failing result like any other", () => {
    const response = errorResponse("internal.error", "gave up");
    const run = playOn(children(), [childFinished("c1", SPENT, { outcome: "FAILED_TIMEOUT", response })]);
    expect(run.state.budget).toMatchObject({ performed: 1, succeeded: 0, inferences: 5 });
    expect(run.state.recovery.failuresInARow).toBe(1);
  });

  verifies("M-P3", "with no envelope fails the run, and the others are cancelled", () => {
    const response = { ...okResponse("x"), ok: false };
    const run = playOn(children(), [childFinished("c1", SPENT, { response })]);
    expect(outcomeOf(run)).toBe("FAILED_VALIDATION tool.malformed-result");
    expect(observed(run)).toEqual([
      ["c1", "child.finished"],
      ["c2", "call.abandoned"],
    ]);
    expect(lastTypes(run)).toEqual(["stop-work", "finish"]);
    expect(lastEntry(run, "COMMIT").decided).toMatchObject({
      skipped: notPerformed(["c3"]),
      budget: { inferences: 5 },
    });
  });

  test("is heard in order and by its own id; nothing a tool would say is heard for it", () => {
    const others = [
      childFinished("c2", SPENT),
      childFinished("c1", SPENT, { childRunId: childOf("c2") }),
      finished("c1"),
      malformedResult("c1"),
      unknownEffect("c1"),
    ];
    expect(others.map((event) => isIgnored(children(), event))).toEqual(others.map(() => true));
  });

  test("may take longer than its parent's own deadlines: a parked run has none", () => {
    const timers = (["tool", "step", "run", "grace"] as const).map((name) => timer(name, 9_999_999));
    expect(timers.map((event) => isIgnored(children(), event))).toEqual(timers.map(() => true));
  });
});

describe("cancelling a run with children", () => {
  const cancelled = () => playOn(children(), [cancel()]);

  verifies("T-3b", "cascades, and waits for every child to end", () => {
    expect(lastCommands(cancelled())).toEqual([{ type: "stop-work" }]);
    expect(observed(cancelled())).toEqual([]);
    expect(isIgnored(cancelled(), timer("grace", 9_999_999))).toBe(true);
    const one = playOn(cancelled(), [
      childFinished("c1", SPENT, { outcome: "INTERRUPTED", response: errorResponse() }),
    ]);
    expect(lastCommands(one)).toEqual([]);
    expect(one.state.phase.at).toBe("OBSERVE");
    const run = playOn(one, [childFinished("c2", SPENT)]);
    expect(outcomeOf(run)).toBe("INTERRUPTED run.cancelled");
    expect(observed(run)).toEqual([
      ["c1", "child.finished"],
      ["c2", "child.finished"],
    ]);
    expect(lastEntry(run, "COMMIT").decided).toMatchObject({
      skipped: notPerformed(["c3"]),
      budget: { inferences: 3, tokens: 815, spendMicrousd: 43, performed: 2, succeeded: 1 },
    });
    expect(lastTypes(run)).toEqual(["finish"]);
  });

  test("waits for a child that only reads as well: it spends", () => {
    const reading = delegation("c1", SHARE, { risk: "read_only", idempotency: "read_only" });
    const run = play(contractOf(), [...begin(), ...batch(1, [reading]), cancel()]);
    expect(lastTypes(run)).toEqual(["stop-work"]);
    expect(outcomeOf(playOn(run, [childFinished("c1", SPENT)]))).toBe("INTERRUPTED run.cancelled");
  });

  test("happens once", () => {
    expect(isIgnored(cancelled(), cancel())).toBe(true);
  });
});
