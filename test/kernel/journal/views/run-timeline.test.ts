/** Which approval, result and reason belongs to which call of a batch, in runs the machine itself wrote. */
import { describe, expect, test } from "vitest";
import type { Entry } from "../../../../src/kernel/journal/entry.ts";
import { lifecycleEvents } from "../../../../src/kernel/journal/views/lifecycle-events.ts";
import { hashBytes } from "../../../../src/kernel/vocabulary/hash.ts";
import { verifies } from "../../../requirements.ts";
import {
  ASKING,
  approval,
  batch,
  begin,
  cancel,
  contractOf,
  finished,
  NO_SIDE_EFFECTS,
  narrowed,
  notPerformed,
  type Played,
  plan,
  planned,
  play,
  playOn,
  ref,
  resolved,
  unknownEffect,
} from "../../machine/scripted-run.ts";

const read = (id: string) => plan({ id, tool: "fs.read_text", args: id });
const write = (id: string) => plan({ id, tool: "fs.write_text", args: id });
const acting = (calls: Parameters<typeof batch>[1], terms: Parameters<typeof contractOf>[0] = {}): Played =>
  play(contractOf(terms), [...begin(), ...batch(1, calls)]);

const callsIn = ({ entries }: Pick<Played, "entries">) =>
  lifecycleEvents(entries).flatMap((event) => (event.event_type === "tool.call" ? [event.payload] : []));
const resultsIn = ({ entries }: Pick<Played, "entries">) =>
  lifecycleEvents(entries).flatMap((event) => (event.event_type === "tool.result" ? [event.payload] : []));

describe("a call that was asked about", () => {
  const approvalsIn = (run: Played) => callsIn(run).map(({ call_id, approval }) => [call_id, approval]);

  verifies("O-2.1", "carries who decided what", () => {
    const run = playOn(acting([write("c1")], ASKING), [
      approval(write("c1"), "allow", { by: "ada" }),
      planned([write("c1")]),
    ]);
    expect(callsIn(run)).toMatchObject([
      {
        call_id: "c1",
        decision: "allow",
        policy_id: "policy.risk.side_effect",
        approval: { id: "approval_c1", decision: "allow", by: "ada" },
      },
    ]);
  });

  verifies("O-2.1", "keeps its approval to itself: its neighbours needed none", () => {
    const calls = [read("c1"), write("c2"), read("c3")];
    const run = playOn(acting(calls, ASKING), [approval(write("c2")), planned(calls)]);
    expect(approvalsIn(run)).toEqual([
      ["c1", null],
      ["c2", { id: "approval_c2", decision: "allow", by: "operator" }],
      ["c3", null],
    ]);
  });

  verifies("O-2.1", "carries its own answer where its neighbour got another, in whatever order they came", () => {
    const calls = [write("c1"), write("c2")];
    const run = playOn(acting(calls, ASKING), [
      approval(write("c2"), "allow", { by: "ada" }),
      approval(write("c1"), "deny", { by: "grace" }),
      planned(calls),
    ]);
    expect(approvalsIn(run)).toEqual([
      ["c1", { id: "approval_c1", decision: "deny", by: "grace" }],
      ["c2", { id: "approval_c2", decision: "allow", by: "ada" }],
    ]);
    expect(callsIn(run).map(({ decision }) => decision)).toEqual(["deny", "allow"]);
  });

  test("carries no approval while policy alone decides", () => {
    expect(approvalsIn(acting([write("c1")]))).toEqual([["c1", null]]);
  });
});

describe("a call that was skipped", () => {
  const reasonsIn = (run: Played) =>
    resultsIn(run).flatMap(({ call_id, ended_by, error }) =>
      ended_by === "call.skipped" ? [[call_id, error?.code]] : [],
    );
  /** c1 ran; policy then stands against c2, lets c3 pass, and would stand against c4 if its turn came. */
  const halfway = (): Played =>
    playOn(acting([write("c1"), write("c2"), read("c3"), write("c4")]), [narrowed(NO_SIDE_EFFECTS), finished("c1")]);

  test("is denied where a rule stood against it, and not where the turn ended first", () => {
    const run = playOn(halfway(), [cancel()]);
    const skipped = run.entries.flatMap((entry) => (entry.kind === "COMMIT" ? entry.decided.skipped : []));
    expect(skipped).toEqual([...notPerformed(["c2"], "policy.kill-switch"), ...notPerformed(["c4"])]);
    expect(reasonsIn(run)).toEqual([
      ["c2", "policy.denied"],
      ["c4", "invalid.request"],
    ]);
  });

  test("is denied like its neighbour where the same rule stood against both", () => {
    expect(reasonsIn(playOn(halfway(), [finished("c3")]))).toEqual([
      ["c2", "policy.denied"],
      ["c4", "policy.denied"],
    ]);
  });

  verifies("O-2.1", "says nothing but that it was not performed", () => {
    const [result] = resultsIn(playOn(acting([read("c1"), write("c2")]), [cancel()])).slice(-1);
    expect(result).toEqual({
      step_id: "step-1",
      call_id: "c2",
      tool: "fs.write_text",
      ok: false,
      ended_by: "call.skipped",
      output_ref: null,
      output_bytes: 0,
      truncated: false,
      duration_ms: 0,
      error: {
        code: "invalid.request",
        message: "Not run: the turn ended first.",
        message_ref: null,
        ...{ retryable: false, details: {}, details_ref: null },
      },
      child: null,
    });
  });
});

describe("an effect in doubt", () => {
  const parked = (): Played => playOn(acting([write("c1"), write("c2")]), [unknownEffect("c1")]);
  const endingsIn = (run: Pick<Played, "entries">) =>
    resultsIn(run).map(({ call_id, ok, ended_by }) => [call_id, ok, ended_by]);

  verifies("O-2.1", "that is to be tried again has no result until the new attempt has one", () => {
    const retried = playOn(parked(), [resolved("c1", "retry"), planned([write("c1")])]);
    expect(retried.entries.slice(-2).map(({ kind }) => kind)).toEqual(["OBSERVE", "EXECUTE"]);
    expect(endingsIn(retried)).toEqual([]);
    const answered = playOn(retried, [finished("c1", { output: "second try" })]);
    expect(endingsIn(answered)).toEqual([["c1", true, "tool.finished"]]);
    expect(resultsIn(answered)[0]?.output_ref).toBe(ref("second try"));
    expect(endingsIn(playOn(answered, [finished("c2")]))).toEqual([
      ["c1", true, "tool.finished"],
      ["c2", true, "tool.finished"],
    ]);
  });

  test("may be tried again more than once", () => {
    const retry = [resolved("c1", "retry"), planned([write("c1")])];
    const again = [...retry, unknownEffect("c1"), ...retry];
    expect(endingsIn(playOn(parked(), again))).toEqual([]);
    expect(endingsIn(playOn(parked(), [...again, finished("c1")]))).toEqual([["c1", true, "tool.finished"]]);
  });

  test("that is not tried again because it would do something else has an unknown result", () => {
    const changed = { ...write("c1"), planHash: hashBytes("changed") };
    const run = playOn(parked(), [resolved("c1", "retry"), planned([changed]), approval(changed, "deny")]);
    expect(resultsIn(run)).toMatchObject([
      { call_id: "c1", ok: false, ended_by: "approval.decided", error: { details: { outcome: "unknown" } } },
    ]);
    expect(resultsIn(run)[0]?.error?.message).toContain("It was not tried again");
  });

  test.each([
    ["done", true],
    ["fail", false],
    ["expired", false],
  ] as const)("resolved as %s has its result at once", (decision, ok) => {
    expect(endingsIn(playOn(parked(), [resolved("c1", decision)]))[0]).toEqual(["c1", ok, "effect.resolved"]);
  });
});

test("an observation of nothing is told as a call given up", () => {
  const { entries } = playOn(acting([read("c1")]), [finished("c1")]);
  const silent = entries.map((entry): Entry => (entry.kind === "OBSERVE" ? { ...entry, result: null } : entry));
  expect(resultsIn({ entries: silent })).toMatchObject([{ call_id: "c1", ok: false, ended_by: "call.abandoned" }]);
});
