import { expect, test } from "vitest";
import { type LoopSurroundings, loopState } from "../../../../src/kernel/journal/views/loop-state.ts";
import { verifies } from "../../../requirements.ts";
import { call, calls } from "./run-script.ts";
import { writeRun } from "./write-run.ts";

const around: LoopSurroundings = {
  goals: ["ship it", "rest"],
  openLoops: ["write tests"],
  closedLoops: ["read the seed"],
  maxInferences: 7,
  isCompacting: false,
};
const { entries } = writeRun([calls(call("http.get"), call("fs.read_text"))], "answered");

verifies("T-3.1", "the phase is a projection of the machine's state, the iteration of its turns", () => {
  const told = [undefined, ...entries].map((entry, count) => {
    const { phase, iteration } = loopState(entries.slice(0, count), around);
    return [entry?.kind, phase, iteration];
  });
  expect(told).toEqual([
    [undefined, "planning", 0],
    ["run.created", "planning", 1],
    ["INFER", "deciding", 1],
    ["VALIDATE_CALLS", "executing", 1],
    ["EXECUTE", "executing", 1],
    ["OBSERVE", "evaluating", 1],
    ["EXECUTE", "executing", 1],
    ["OBSERVE", "evaluating", 1],
    ["COMMIT", "planning", 2],
    ["INFER", "deciding", 2],
    ["VALIDATE_CALLS", "evaluating", 2],
    ["COMMIT", "done", 2],
    ["TERMINATE", "done", 2],
  ]);
});

verifies(
  "T-3.1",
  "goals, loops and limit come from the session and the contract, spending from the last commit",
  () => {
    expect(loopState(entries, around)).toEqual({
      phase: "done",
      iteration: 2,
      maxIterations: 7,
      goal: "ship it; rest",
      pending: ["write tests"],
      completed: ["read the seed"],
      totalTokensUsed: 20,
      totalCost: 0.000006,
    });
    expect(loopState([], around)).toMatchObject({ totalTokensUsed: 0, totalCost: 0 });
  },
);

test("while the context is compacted the loop is compressing", () => {
  expect(loopState(entries.slice(0, 1), { ...around, isCompacting: true }).phase).toBe("compressing");
});
