import { describe, expect, test } from "vitest";
import { STATES } from "../../../src/kernel/journal/entry.ts";
import type { RunEvent } from "../../../src/kernel/journal/event.ts";
import { isEdge } from "../../../src/kernel/machine/edges.ts";
import { foldRun } from "../../../src/kernel/machine/fold.ts";
import { startRun } from "../../../src/kernel/machine/state.ts";
import { step } from "../../../src/kernel/machine/step.ts";
import { Defect } from "../../../src/kernel/vocabulary/defect.ts";
import { hashBytes, hashCanonical } from "../../../src/kernel/vocabulary/hash.ts";
import { verifies } from "../../requirements.ts";
import {
  ASKING,
  accepted,
  answered,
  at,
  backendOk,
  batch,
  begin,
  contractOf,
  finished,
  inStep,
  lastEntry,
  lastTypes,
  NO_SIDE_EFFECTS,
  narrowed,
  outcomeOf,
  type Played,
  path,
  plan,
  planned,
  play,
  playOn,
  RUN_ID,
} from "./scripted-run.ts";

const READ = { id: "c1", tool: "fs.read_text", args: "a" };
const OTHER = { id: "c9", tool: "fs.read_text", args: "a" };
const contract = contractOf();

verifies(
  ["M-5/edges", "M-5/terminate"],
  "the edges are the seed's, any failing state's to COMMIT, and the batch's own loop; TERMINATE from COMMIT only",
  () => {
    const edges = STATES.flatMap((from) => STATES.filter((to) => isEdge(from, to)).map((to) => `${from} → ${to}`));
    expect(edges).toEqual([
      "PRECHECK → INFER",
      "PRECHECK → COMMIT",
      "INFER → VALIDATE_CALLS",
      "INFER → COMMIT",
      "VALIDATE_CALLS → EXECUTE",
      "VALIDATE_CALLS → COMMIT",
      "EXECUTE → OBSERVE",
      "EXECUTE → COMMIT",
      "OBSERVE → EXECUTE",
      "OBSERVE → COMMIT",
      "COMMIT → INFER",
      "COMMIT → TERMINATE",
    ]);
  },
);

describe("time", () => {
  test("never runs backwards: an event from before counts as now", () => {
    const run = play(contract, [accepted(), at(500, backendOk()), at(200, answered(1, { text: "hi" }))]);
    expect(run.entries.map(({ elapsedMs }) => elapsedMs)).toEqual([500, 500, 500, 500, 500]);
  });

  test("is the event's own, for people too", () => {
    const ts = "2030-01-01T00:00:00.000Z";
    const run = play(contract, [...begin(), { ...at(9, answered(1, { text: "hi" })), ts }]);
    expect(lastEntry(run, "TERMINATE")).toMatchObject({ ts, elapsedMs: 9 });
    expect(run.state).toMatchObject({ ts, elapsedMs: 9 });
  });

  test("a time that is no number counts as now", () => {
    const run = playOn(play(contract, [accepted(), at(500, backendOk())]), [
      at(Number.NaN, answered(1, { text: "hi" })),
    ]);
    expect(run.state.elapsedMs).toBe(500);
  });
});

describe("policy that narrows", () => {
  test("is heard in every state, and quoted by the next entry", () => {
    const event = narrowed(NO_SIDE_EFFECTS);
    const waiting: readonly Played[] = [
      play(contract, []),
      play(contract, [accepted()]),
      play(contract, begin()),
      play(contract, [...begin(), answered(1, { calls: [READ] })]),
      play(contractOf(ASKING), [...begin(), ...batch(1, [plan({ ...READ, tool: "fs.write_text" })])]),
      play(contract, [...begin(), ...batch(1, [plan(READ)])]),
    ];
    for (const run of waiting) {
      const { state, commands, entries } = step(run.state, event);
      expect(state).toEqual({ ...run.state, ts: event.ts, live: NO_SIDE_EFFECTS, heard: [...run.state.heard, event] });
      expect([commands, entries]).toEqual([[], []]);
    }
  });
});

describe("a defect in our own code", () => {
  const waiting = () => play(contract, [...begin(), answered(1, { calls: [READ] })]);
  const CASES: readonly (readonly [string, readonly RunEvent[]])[] = [
    ["other calls", [planned([plan(OTHER)])]],
    ["more calls", [planned([plan(READ), plan(OTHER)])]],
    ["fewer calls", [planned([])]],
  ];
  test("a plan that differs in one call of several is for other calls too", () => {
    const two = play(contract, [...begin(), answered(1, { calls: [READ, { ...READ, id: "c2" }] })]);
    expect(outcomeOf(playOn(two, [planned([plan(READ), plan(OTHER)])]))).toBe("FAILED_CONTRACT_VIOLATION defect");
    expect(outcomeOf(playOn(two, [planned([plan(OTHER), plan({ ...READ, id: "c2" })])]))).toBe(
      "FAILED_CONTRACT_VIOLATION defect",
    );
  });

  for (const [name, [event]] of CASES) {
    verifies(
      "M-5",
      `a plan for ${name} than proposed ends FAILED_CONTRACT_VIOLATION with a sealed journal and an error id`,
      () => {
        if (event === undefined) throw new Error("no event");
        const { defect, ...result } = step(waiting().state, inStep(1, event));
        const { chain, elapsedMs } = waiting().state;
        const place = `${RUN_ID} ${chain.seq} ${elapsedMs}`;
        const errorId = hashBytes(`${place} Defect: the plan is for other calls than were proposed`).slice(0, 16);
        expect(defect).toEqual({ errorId, error: new Defect("the plan is for other calls than were proposed") });
        expect(result.state.phase).toMatchObject({ outcome: "FAILED_CONTRACT_VIOLATION", reason: "defect" });
        expect(result.entries.map(({ kind }) => kind)).toEqual(["COMMIT", "TERMINATE"]);
        expect(result.entries[0]).toMatchObject({
          decided: { heard: [{ type: "defect.found", ts: waiting().state.ts, elapsedMs: 0, errorId }] },
        });
        expect(result.commands.map(({ type }) => type)).toEqual(["stop-work", "finish"]);
      },
    );
  }

  verifies("M-P3", "is found again by folding, which ends where the run did", () => {
    const run = playOn(waiting(), [narrowed(NO_SIDE_EFFECTS), planned([plan(OTHER)])]);
    expect(outcomeOf(run)).toBe("FAILED_CONTRACT_VIOLATION defect");
    expect(lastEntry(run, "COMMIT").decided.heard.map(({ type }) => type)).toEqual(["policy.narrowed", "defect.found"]);
    expect(foldRun(RUN_ID, contract, run.entries)).toEqual({ ok: true, state: run.state });
  });

  test("before the run was created still leaves a journal that begins with run.created", () => {
    const broken = { ...accepted(), tools: null } as unknown as RunEvent;
    const run = play(contract, [broken]);
    expect(outcomeOf(run)).toBe("FAILED_CONTRACT_VIOLATION defect");
    expect(path(run)).toEqual(["PRECHECK", "COMMIT", "TERMINATE"]);
    expect(lastEntry(run, "run.created").decided).toMatchObject({ principal: "system", verdicts: [] });
    expect(lastEntry(run, "run.created").decided.heard).toMatchObject([{ type: "defect.found", ts: "", elapsedMs: 0 }]);
    expect(foldRun(RUN_ID, contract, run.entries)).toEqual({ ok: true, state: run.state });
  });

  test("after it was accepted keeps what was checked", () => {
    const broken = { ...backendOk(), responsive: false, detail: undefined } as unknown as RunEvent;
    const run = play(contract, [accepted(), broken]);
    expect(outcomeOf(run)).toBe("FAILED_CONTRACT_VIOLATION defect");
    expect(lastEntry(run, "run.created").decided.verdicts).toHaveLength(4);
  });

  test("while an effect is in flight stops it", () => {
    const run = playOn(play(contract, [...begin(), ...batch(1, [plan({ ...READ, tool: "fs.write_text" })])]), [
      { ...finished("c1"), response: null } as unknown as RunEvent,
    ]);
    expect(outcomeOf(run)).toBe("FAILED_CONTRACT_VIOLATION defect");
    expect(lastTypes(run)).toEqual(["stop-work", "finish"]);
  });

  test("is caught as well where a state waits for nothing", () => {
    const { state } = play(contract, [...begin(), ...batch(1, [plan(READ)])]);
    if (state.phase.at !== "OBSERVE") throw new Error(state.phase.at);
    const result = step({ ...state, phase: { ...state.phase, inFlight: [] } }, inStep(1, finished("c1")));
    expect(result.defect?.error).toEqual(new Defect("OBSERVE waits for no call"));
    expect(result.state.phase).toMatchObject({ reason: "defect" });
  });

  test("has an id of its own in every place", () => {
    const elsewhere = play(contract, [...begin(), at(1, answered(1, { calls: [READ] }))]);
    const ids = [waiting(), elsewhere].map(({ state }) => step(state, planned([]))?.defect?.errorId);
    expect(new Set(ids).size).toBe(2);
    expect(ids[0]).toMatch(/^[0-9a-f]{16}$/);
  });
});

describe("the chain", () => {
  verifies("M-E", "links every entry to the one before, from the contract's hash on", () => {
    const run = play(contract, [...begin(), ...batch(1, [plan(READ)]), finished("c1"), answered(2, { text: "hi" })]);
    const prevs = run.entries.map(({ prev }) => prev);
    expect(prevs).toEqual([hashCanonical(contract.contractHash), ...run.entries.slice(0, -1).map(({ hash }) => hash)]);
    expect(run.entries.map(({ seq }) => seq)).toEqual(run.entries.map((_, index) => index + 1));
    expect(new Set(run.entries.map(({ contractHash }) => contractHash))).toEqual(new Set([contract.contractHash]));
    expect(run.entries.map(({ stepId }) => stepId)).toEqual([
      "step-0",
      ...Array(5).fill("step-1"),
      ...Array(4).fill("step-2"),
    ]);
    expect(run.state.chain).toMatchObject({ seq: 10, linked: { seq: 10, hash: run.entries.at(-1)?.hash } });
  });
});

test("a run starts with nothing but its contract", () => {
  expect(startRun(RUN_ID, contract)).toMatchObject({
    phase: { at: "PRECHECK", verdicts: [] },
    heard: [],
    ts: "",
    elapsedMs: 0,
    step: 0,
    attempt: 0,
    transportFailures: 0,
    accepted: null,
    labels: { integrity: "operator", confidentiality: "public" },
    live: null,
    prompt: { head: contract.contractHash, tokens: 0 },
    history: [],
    skipped: [],
    lastTool: null,
    failedAttempts: [],
    effects: { proven: [], attempted: [] },
  });
});

test("the same state and event give the same bytes, and leave the state as it was", () => {
  const { state } = play(contract, [...begin(), ...batch(1, [plan(READ)])]);
  const before = structuredClone(state);
  expect(step(state, finished("c1"))).toEqual(step(state, finished("c1")));
  expect(state).toEqual(before);
});
