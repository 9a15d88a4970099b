import { describe, expect, test } from "vitest";
import type { PlannedCall, RunEvent } from "../../../src/kernel/journal/event.ts";
import { effectsInDoubt, outstandingCommands } from "../../../src/kernel/machine/outstanding.ts";
import { hashBytes, hashCanonical } from "../../../src/kernel/vocabulary/hash.ts";
import { verifies } from "../../requirements.ts";
import {
  ASKING,
  accepted,
  answered,
  approval,
  batch,
  begin,
  cancel,
  childFinished,
  contractOf,
  delegation,
  finished,
  lastCommands,
  modelFailed,
  NO_SIDE_EFFECTS,
  narrowed,
  type Played,
  plan,
  planned,
  play,
  playOn,
  timer,
  unknownEffect,
} from "./scripted-run.ts";

const read = (id: string) => plan({ id, tool: "fs.read_text", args: id });
const write = (id: string, over: Partial<PlannedCall> = {}) => plan({ id, tool: "fs.write_text", args: id }, over);
const SHARE = { inferences: 1, tokens: 10, spendMicrousd: 0 };
const contextBudget = { contextWindow: 1_000, reservedSystem: 0, reservedSynthesis: 0, forceSynthesisAtRatio: 0.5 };
const told = (...events: readonly RunEvent[]): Played => play(contractOf(), [...begin(), ...events]);
const asking = () => play(contractOf(ASKING), [...begin(), ...batch(1, [write("c1"), write("c2")])]);

describe("what a waiting run has open", () => {
  const SAME: readonly (readonly [string, () => Played])[] = [
    ["nothing before it was accepted", () => play(contractOf(), [])],
    ["the backend's check", () => play(contractOf(), [accepted()])],
    ["the question to the model", () => told()],
    [
      "a compaction",
      () =>
        play(contractOf({ contextBudget }), [...begin(), ...batch(1, [read("c1")]), finished("c1", { tokens: 400 })]),
    ],
    ["a plan", () => told(answered(1, { calls: [{ id: "c1", tool: "x" }] }))],
    ["its questions", asking],
    ["a plan after the last answer", () => playOn(asking(), [approval(write("c1")), approval(write("c2"))])],
    ["calls that only read", () => told(...batch(1, [read("c1"), read("c2")]))],
    [
      "a call with a key",
      () => told(...batch(1, [write("c1", { idempotency: "keyed", idempotencyKey: hashBytes("k") })])),
    ],
    ["a call on our own store", () => told(...batch(1, [write("c1", { idempotency: "own_store" })]))],
    ["children", () => told(...batch(1, [delegation("c1", SHARE), delegation("c2", SHARE)]))],
    ["the question what became of an effect", () => told(...batch(1, [write("c1")]), unknownEffect("c1"))],
    ["a stopped effect", () => told(...batch(1, [write("c1")]), cancel())],
    ["nothing at the end of a run", () => told(...batch(1, []), cancel())],
  ];
  for (const [name, told] of SAME) {
    verifies("X-2", `${name}: asked for again after a crash, it is what was asked for before`, () => {
      const run = told();
      const asked = lastCommands(run).filter(({ type }) => type !== "finish" && !(run.state.phase.at === "TERMINATE"));
      expect(outstandingCommands(run.state)).toEqual(asked);
    });
  }

  verifies("X-2", "a retry waits out what is left of the provider's wish, and no more", () => {
    const run = told(modelFailed(1, { retryAfterMs: 900 }));
    expect(lastCommands(run)).toMatchObject([{ delayMs: 900 }]);
    expect(outstandingCommands(run.state)).toEqual(lastCommands(run));
    const later = { ...run.state, elapsedMs: run.state.elapsedMs + 600 };
    expect(outstandingCommands(later)).toMatchObject([{ type: "call-model", attempt: 2, delayMs: 300 }]);
    const muchLater = { ...run.state, elapsedMs: run.state.elapsedMs + 9_000 };
    expect(outstandingCommands(muchLater)).toMatchObject([{ delayMs: 0 }]);
  });

  test("are only the questions without an answer", () => {
    const one = playOn(asking(), [approval(write("c1"))]);
    expect(outstandingCommands(one.state)).toMatchObject([{ type: "ask-approval", callId: "c2" }]);
  });

  test("are only the results still to come", () => {
    const reads = told(...batch(1, [read("c1"), read("c2")]), finished("c1"));
    expect(outstandingCommands(reads.state)).toMatchObject([{ type: "run-tool", callId: "c2" }]);
    const children = told(...batch(1, [delegation("c1", SHARE), delegation("c2", SHARE)]), childFinished("c1", SHARE));
    expect(outstandingCommands(children.state)).toMatchObject([{ type: "spawn-child", callId: "c2" }]);
  });

  verifies("X-2", "is not what policy has closed meanwhile, unless a person let that very plan through", () => {
    const keyed = write("c1", { idempotency: "keyed", idempotencyKey: hashBytes("k") });
    const running = (contract: ReturnType<typeof contractOf>, ...events: readonly RunEvent[]) =>
      play(contract, [...begin(), ...batch(1, [keyed]), ...events]);
    const idsOf = ({ state }: Played) => outstandingCommands(state).map(({ type }) => type);
    const asks = { policy: contractOf(ASKING).policy, capabilities: [] };
    expect(idsOf(running(contractOf(), narrowed(asks)))).toEqual([]);
    expect(idsOf(running(contractOf(), narrowed(NO_SIDE_EFFECTS)))).toEqual([]);
    const approved = [approval(keyed), planned([keyed])];
    expect(idsOf(running(contractOf(ASKING), ...approved))).toEqual(["run-tool"]);
    expect(idsOf(running(contractOf(ASKING), ...approved, narrowed(NO_SIDE_EFFECTS)))).toEqual([]);
    const child = told(...batch(1, [delegation("c1", SHARE)]), narrowed(NO_SIDE_EFFECTS));
    expect(idsOf(child)).toEqual(["spawn-child"]);
  });

  verifies("X-2", "is never an opaque effect: that one is in doubt", () => {
    const run = told(...batch(1, [write("c1")]));
    expect(outstandingCommands(run.state)).toEqual([]);
    expect(effectsInDoubt(run.state).map(({ callId }) => callId)).toEqual(["c1"]);
  });
});

describe("effects in doubt", () => {
  const idsOf = ({ state }: Played) => effectsInDoubt(state).map(({ callId }) => callId);

  test("are opaque calls in flight, also while they are being stopped", () => {
    const stopped = told(...batch(1, [write("c1")]), timer("tool", 30_000));
    expect(idsOf(stopped)).toEqual(["c1"]);
    expect(outstandingCommands(stopped.state)).toEqual([{ type: "stop-work" }]);
  });

  test("are not what may be done again, nor what a person has been asked about", () => {
    expect(idsOf(told(...batch(1, [read("c1"), read("c2")])))).toEqual([]);
    expect(
      idsOf(told(...batch(1, [write("c1", { idempotency: "keyed", idempotencyKey: hashCanonical("key") })]))),
    ).toEqual([]);
    expect(idsOf(told(...batch(1, [delegation("c1", SHARE)])))).toEqual([]);
    expect(idsOf(told(...batch(1, [write("c1")]), unknownEffect("c1")))).toEqual([]);
    expect(idsOf(told())).toEqual([]);
  });
});
