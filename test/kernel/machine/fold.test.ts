import { describe, expect, test } from "vitest";
import type { Entry } from "../../../src/kernel/journal/entry.ts";
import type { RunEvent } from "../../../src/kernel/journal/event.ts";
import { foldRun } from "../../../src/kernel/machine/fold.ts";
import { startRun } from "../../../src/kernel/machine/state.ts";
import { hashBytes } from "../../../src/kernel/vocabulary/hash.ts";
import { asRunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { verifies } from "../../requirements.ts";
import {
  ASKING,
  answered,
  approval,
  at,
  batch,
  begin,
  cancel,
  childFinished,
  compacted,
  contractOf,
  delegation,
  finished,
  modelFailed,
  NO_SIDE_EFFECTS,
  narrowed,
  plan,
  planned,
  play,
  RUN_ID,
  rejected,
  resolved,
  timer,
  toolTurn,
  unknownEffect,
} from "./scripted-run.ts";

const READ = { id: "c1", tool: "fs.read_text", args: "a" };
const WRITE = plan({ id: "c2", tool: "fs.write_text", args: "b" });
const SHARE = { inferences: 2, tokens: 100, spendMicrousd: 5 };
const contract = contractOf({
  ...ASKING,
  contextBudget: { contextWindow: 1_000, reservedSystem: 0, reservedSynthesis: 0, forceSynthesisAtRatio: 0.5 },
});

const STORIES: Readonly<Record<string, readonly RunEvent[]>> = {
  "nothing yet": [],
  "an answer": [...begin(), at(7, answered(1, { text: "hi" }))],
  "a tool turn": [...begin(), ...toolTurn(1, READ), answered(2, { text: "hi" })],
  "retries of both kinds": [...begin(), modelFailed(1), at(9, rejected(2)), answered(3, { text: "hi" })],
  "an approval, policy and a cancel": [
    ...begin(),
    ...batch(1, [plan(READ), WRITE]),
    narrowed(NO_SIDE_EFFECTS),
    at(3, approval(WRITE)),
    at(4, planned([plan(READ), WRITE])),
    at(5, finished("c1")),
    at(6, cancel()),
    at(7, finished("c2")),
  ],
  "doubt, retry and a timeout": [
    ...begin(),
    ...batch(1, [WRITE]),
    approval(WRITE),
    planned([WRITE]),
    unknownEffect("c2"),
    resolved("c2", "retry"),
    planned([WRITE], 1),
    timer("tool", 30_000),
    timer("grace", 32_000),
    answered(2, { text: "hi" }),
  ],
  "a child and a compaction": [
    ...begin(),
    ...batch(1, [delegation("c3", SHARE, { risk: "read_only" })]),
    childFinished("c3", SHARE, { tokens: 500 }),
    compacted(100),
    answered(2, { text: "hi" }),
  ],
  "a cancel while queued": [cancel()],
};

describe("folding a journal", () => {
  for (const [name, events] of Object.entries(STORIES)) {
    verifies(["M-P3", "X-2"], `of ${name} gives the same run`, () => {
      const run = play(contract, events);
      expect(foldRun(RUN_ID, contract, run.entries)).toEqual({ ok: true, state: run.state });
    });
  }

  test("of a run that waits gives its state as of the last entry", () => {
    const whole = play(contract, [...begin(), ...batch(1, [WRITE])]);
    const recorded = play(contract, [...begin(), ...batch(1, [WRITE]).slice(0, 1)]);
    expect(foldRun(RUN_ID, contract, whole.entries)).toEqual({ ok: true, state: recorded.state });
  });
});

describe("a journal that does not replay", () => {
  const journal = () => play(contract, [...begin(), ...toolTurn(1, READ), answered(2, { text: "hi" })]).entries;
  const changed = (index: number, change: Partial<Entry>): readonly Entry[] =>
    journal().map((entry, at) => (at === index ? ({ ...entry, ...change } as Entry) : entry));

  verifies("M-P5.1/divergence", "names the first entry that differs, whichever it is", () => {
    for (const index of journal().keys()) {
      const folded = foldRun(RUN_ID, contract, changed(index, { hash: hashBytes("forged") }));
      expect(folded).toMatchObject({ ok: false, divergedAt: index + 1 });
    }
  });

  test("stops before the event that diverged, and acts on nothing", () => {
    const { state } = play(contract, begin());
    expect(foldRun(RUN_ID, contract, changed(1, { hash: hashBytes("forged") }))).toEqual({
      ok: false,
      divergedAt: 2,
      state,
    });
    expect(foldRun(RUN_ID, contract, changed(0, { hash: hashBytes("forged") }))).toMatchObject({
      state: { phase: { at: "PRECHECK", verdicts: [{}, {}, {}, {}] }, elapsedMs: 0 },
    });
  });

  test("with an entry too many names that one", () => {
    const entries = journal();
    const [first] = entries;
    const extra = { ...first, decided: { ...first?.decided, heard: [] }, result: null } as unknown as Entry;
    expect(foldRun(RUN_ID, contract, [...entries, extra])).toMatchObject({ ok: false, divergedAt: entries.length + 1 });
  });

  test("with its end cut off in the middle of a turn names the entry that is missing", () => {
    const entries = journal();
    expect(foldRun(RUN_ID, contract, entries.slice(0, -1))).toMatchObject({ ok: false, divergedAt: entries.length });
  });

  test("under another contract or for another run differs from the first entry on", () => {
    expect(foldRun(asRunId("run_2"), contract, journal())).toMatchObject({ ok: false, divergedAt: 1 });
    expect(foldRun(RUN_ID, contractOf(), journal())).toMatchObject({ ok: false, divergedAt: 1 });
  });

  test("of no entries is a run that has not begun", () => {
    expect(foldRun(RUN_ID, contract, [])).toEqual({ ok: true, state: startRun(RUN_ID, contract) });
  });
});
