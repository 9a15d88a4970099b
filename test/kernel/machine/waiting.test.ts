import { expect, test } from "vitest";
import { isParked, waitingFor } from "../../../src/kernel/machine/waiting.ts";
import {
  ASKING,
  accepted,
  answered,
  approval,
  batch,
  begin,
  cancel,
  compacted,
  contractOf,
  delegation,
  finished,
  type Played,
  plan,
  play,
  playOn,
  unknownEffect,
} from "./scripted-run.ts";

const READ = plan({ id: "c1", tool: "fs.read_text" });
const WRITE = plan({ id: "c1", tool: "fs.write_text" });
const OTHER = plan({ id: "c2", tool: "fs.write_text", args: "b" });
const CHILD = delegation("c1", { inferences: 1, tokens: 1, spendMicrousd: 0 });
const contextBudget = { contextWindow: 1_000, reservedSystem: 0, reservedSynthesis: 0, forceSynthesisAtRatio: 0.5 };
const full = () =>
  play(contractOf({ contextBudget }), [...begin(), ...batch(1, [READ]), finished("c1", { tokens: 400 })]);
const acting = (...calls: Parameters<typeof batch>[1]) => play(contractOf(), [...begin(), ...batch(1, calls)]);
const asking = () => play(contractOf(ASKING), [...begin(), ...batch(1, [WRITE, OTHER])]);

const ROWS: readonly (readonly [string, boolean, () => Played])[] = [
  ["backend", false, () => play(contractOf(), [])],
  ["backend", false, () => play(contractOf(), [accepted()])],
  ["model", false, () => play(contractOf(), begin())],
  ["compaction", false, full],
  ["model", false, () => playOn(full(), [compacted(10)])],
  ["plan", false, () => play(contractOf(), [...begin(), answered(1, { calls: [{ id: "c1", tool: "x" }] })])],
  ["approval", true, asking],
  ["approval", true, () => playOn(asking(), [approval(OTHER)])],
  ["plan", false, () => playOn(asking(), [approval(OTHER), approval(WRITE)])],
  ["tools", false, () => acting(READ)],
  ["tools", false, () => acting(WRITE)],
  ["tools", false, () => playOn(acting(WRITE), [cancel()])],
  ["resolution", true, () => playOn(acting(WRITE), [unknownEffect("c1")])],
  ["children", true, () => acting(CHILD)],
  ["children", true, () => playOn(acting(CHILD), [cancel()])],
  ["nothing", false, () => play(contractOf(), [cancel()])],
];

test("a run says what it waits for, and is parked for people and children only", () => {
  expect(ROWS.map(([, , run]) => [waitingFor(run().state), isParked(run().state)])).toEqual(
    ROWS.map(([waiting, parked]) => [waiting, parked]),
  );
});
