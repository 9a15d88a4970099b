import { describe, expect, test } from "vitest";
import type { PlannedCall } from "../../../src/kernel/journal/event.ts";
import { GRACE_MS, isDue, nextDeadline, stepDeadline } from "../../../src/kernel/machine/deadline.ts";
import { verifies } from "../../requirements.ts";
import {
  ASKING,
  accepted,
  answered,
  at,
  batch,
  begin,
  cancel,
  contractOf,
  delegation,
  finished,
  type Played,
  plan,
  play,
  playOn,
  timer,
  unknownEffect,
} from "./scripted-run.ts";

const read = (id: string, over: Partial<PlannedCall> = {}) => plan({ id, tool: "fs.read_text", args: id }, over);
const write = plan({ id: "c1", tool: "fs.write_text" });
const acting = (terms: Parameters<typeof contractOf>[0], ...calls: readonly PlannedCall[]): Played =>
  play(contractOf(terms), [...begin(), ...batch(1, calls)]);
const next = ({ state }: Played): string => {
  const deadline = nextDeadline(state);
  return deadline === null ? "none" : `${deadline.timer} ${deadline.atMs}`;
};
const TIMERS = ["tool", "step", "run", "grace"] as const;
const dueAt = ({ state }: Played, elapsedMs: number): readonly string[] =>
  TIMERS.filter((name) => isDue({ ...state, elapsedMs }, name));

describe("the next deadline", () => {
  const SHARE = { inferences: 1, tokens: 1, spendMicrousd: 0 };
  const stopped = () => playOn(acting({}, write), [at(500, cancel())]);
  const ROWS: readonly (readonly [string, () => Played, string])[] = [
    ["in PRECHECK is the first step's", () => play(contractOf(), [accepted()]), "step 120000"],
    [
      "in INFER is the step's",
      () =>
        play(contractOf(), [
          accepted(),
          ...begin()
            .slice(1)
            .map((e) => at(40, e)),
        ]),
      "step 120040",
    ],
    ["is the run's where that comes first", () => play(contractOf({ totalTimeoutMs: 50 }), begin()), "run 50"],
    [
      "while planning is the step's",
      () => play(contractOf(), [...begin(), answered(1, { calls: [{ id: "c1", tool: "x" }] })]),
      "step 120000",
    ],
    ["of a tool in flight is its own", () => acting({}, read("c1", { timeoutMs: 70 })), "tool 70"],
    [
      "of a group is its first call's",
      () => acting({}, read("c1", { timeoutMs: 90 }), read("c2", { timeoutMs: 70 })),
      "tool 90",
    ],
    [
      "of a group's second call counts from dispatch too",
      () => playOn(acting({}, read("c1", { timeoutMs: 90 }), read("c2", { timeoutMs: 70 })), [at(30, finished("c1"))]),
      "tool 70",
    ],
    [
      "of a tool that may take all the step's time is the tool's",
      () => acting({ stepTimeoutMs: 30 }, read("c1")),
      "tool 30",
    ],
    ["of a stopped effect is its grace", stopped, `grace ${500 + GRACE_MS}`],
    ["of a parked run is none: approval", () => acting(ASKING, write), "none"],
    ["of a parked run is none: resolution", () => playOn(acting({}, write), [unknownEffect("c1")]), "none"],
    ["of a parked run is none: children", () => acting({}, delegation("c1", SHARE)), "none"],
    [
      "of a parked run is none: cancelled children",
      () => playOn(acting({}, delegation("c1", SHARE)), [cancel()]),
      "none",
    ],
    ["of an ended run is none", () => play(contractOf(), [cancel()]), "none"],
  ];
  test.each(ROWS)("%s", (_, run, expected) => {
    expect(next(run())).toBe(expected);
  });
});

describe("a timer", () => {
  verifies("M-P3", "is due at its deadline and not a millisecond before", () => {
    const run = acting({ totalTimeoutMs: 200_000 }, read("c1"));
    expect(dueAt(run, 29_999)).toEqual([]);
    expect(dueAt(run, 30_000)).toEqual(["tool"]);
    expect(dueAt(run, 119_999)).toEqual(["tool"]);
    expect(dueAt(run, 120_000)).toEqual(["tool", "step"]);
    expect(dueAt(run, 200_000)).toEqual(["tool", "step", "run"]);
  });

  test("for a tool or a grace is never due where there is none", () => {
    expect(dueAt(play(contractOf(), begin()), 9_999_999)).toEqual(["step", "run"]);
    expect(dueAt(acting(ASKING, write), 9_999_999)).toEqual([]);
    expect(dueAt(play(contractOf(), [cancel()]), 9_999_999)).toEqual([]);
  });

  test("while an effect is being stopped only its grace counts", () => {
    const run = playOn(acting({}, write), [timer("tool", 30_000)]);
    expect(dueAt(run, 30_000 + GRACE_MS - 1)).toEqual([]);
    expect(dueAt(run, 9_999_999)).toEqual(["grace"]);
  });
});

test("a step's deadline counts from the step's begin", () => {
  const run = play(contractOf({ stepTimeoutMs: 10 }), [
    accepted(),
    ...begin()
      .slice(1)
      .map((e) => at(7, e)),
  ]);
  expect(stepDeadline(run.state)).toBe(17);
});

test("the grace is two seconds", () => {
  expect(GRACE_MS).toBe(2_000);
});
