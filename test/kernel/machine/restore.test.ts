/** A restored run hears nothing until a person says whether it may go on, whatever it was waiting for. */
import { describe, expect, test } from "vitest";
import type { EventOf, RunEvent } from "../../../src/kernel/journal/event.ts";
import { nextDeadline } from "../../../src/kernel/machine/deadline.ts";
import { foldRun } from "../../../src/kernel/machine/fold.ts";
import { effectsInDoubt, outstandingCommands } from "../../../src/kernel/machine/outstanding.ts";
import { isParked } from "../../../src/kernel/machine/waiting.ts";
import {
  accepted,
  answered,
  backendOk,
  batch,
  begin,
  cancel,
  contractOf,
  finished,
  isIgnored,
  lastTypes,
  outcomeOf,
  type Played,
  plan,
  play,
  playOn,
  RUN_ID,
  resolved,
} from "./scripted-run.ts";

const TIME = { ts: "2026-01-02T03:04:05.000Z", elapsedMs: 0 } as const;
const restored = (restoreId = "restore_1"): RunEvent => ({ type: "run.restored", ...TIME, restoreId });
const decided = (run: Played, decision: EventOf<"restore.resolved">["decision"]): RunEvent => ({
  ...{ type: "restore.resolved", ...TIME, elapsedMs: run.state.elapsedMs },
  ...{ step: run.state.step, decision, by: "operator" },
});

const write = plan({ id: "c1", tool: "fs.write_text", args: "c1" }, { idempotency: "opaque" });
const read = plan({ id: "c1", tool: "fs.read_text", args: "c1" });
const PLACES: readonly (readonly [string, readonly RunEvent[]])[] = [
  ["queued", []],
  ["checking its backend", [accepted()]],
  ["asking the model", begin()],
  ["planning", [...begin(), answered(1, { calls: [{ id: "c1", tool: "fs.write_text" }] })]],
  ["reading", [...begin(), ...batch(1, [read])]],
  ["acting", [...begin(), ...batch(1, [write])]],
];

describe.each(PLACES)("a run that was %s", (_, events) => {
  const asked = playOn(play(contractOf(), events), [restored()]);

  test("parks with one question, and neither acts nor times out", () => {
    expect(lastTypes(asked)).toEqual(["ask-approval"]);
    expect(outstandingCommands(asked.state)).toMatchObject([{ type: "ask-approval", kind: "resolve", aboutRun: true }]);
    expect([isParked(asked.state), nextDeadline(asked.state), effectsInDoubt(asked.state)]).toEqual([true, null, []]);
    for (const late of [backendOk(), answered(1, { text: "late" }), finished("c1"), restored()]) {
      expect(isIgnored(asked, late)).toBe(true);
    }
    const told = asked.state.accepted === null ? playOn(asked, [accepted()]) : asked;
    expect([isParked(told.state), told.state.accepted === null]).toEqual([true, false]);
    if (told !== asked) expect(lastTypes(told)).toEqual([]);
  });

  test.each(["done", "fail", "expired"] as const)("ends when the answer is %s, and its journal folds", (decision) => {
    const run = playOn(asked, [decided(asked, decision)]);
    expect(outcomeOf(run)).toBe("INTERRUPTED run.restored");
    expect(foldRun(RUN_ID, contractOf(), run.entries).ok).toBe(true);
  });

  test("goes on as it would have, once: the same restore is not asked about again", () => {
    const told = asked.state.accepted === null ? playOn(asked, [accepted()]) : asked;
    const run = playOn(told, [decided(told, "retry")]);
    const before = play(contractOf(), events.length === 0 ? [accepted()] : events);
    const isInDoubt = effectsInDoubt(before.state).length > 0;
    expect(lastTypes(run)).toEqual(
      isInDoubt ? ["ask-approval"] : outstandingCommands(before.state).map(({ type }) => type),
    );
    expect(isIgnored(run, restored())).toBe(true);
    expect(isIgnored(run, decided(run, "done"))).toBe(true);
    expect(lastTypes(playOn(run, [restored("restore_2")]))).toEqual(["ask-approval"]);
  });

  test("can be cancelled meanwhile", () => {
    const run = playOn(asked, [cancel()]);
    expect(isParked(run.state)).toBe(false);
  });
});

test("an effect that was in flight is asked about by itself before the run goes on", () => {
  const asked = playOn(play(contractOf(), [...begin(), ...batch(1, [write])]), [restored()]);
  const run = playOn(asked, [decided(asked, "retry")]);
  expect(outstandingCommands(run.state)).toMatchObject([{ kind: "resolve", callId: "c1" }]);
  expect(outcomeOf(playOn(run, [resolved("c1", "done")]))).toBe("INFER");
});

test("a run that may call no tools has nothing to ask about", () => {
  for (const terms of [{ toolPolicy: "forbidden" as const }, { allowedTools: [] }]) {
    expect(isIgnored(play(contractOf(terms), begin()), restored())).toBe(true);
  }
});
