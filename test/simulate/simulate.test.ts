/** A short cut of `npm run simulate`: every invariant over some hundred worlds, which between them try everything. */
import { describe, expect, test } from "vitest";
import { INFER_MODES } from "../../src/kernel/journal/entry.ts";
import { EventSchemas } from "../../src/kernel/journal/event.ts";
import { toLine } from "../../src/kernel/journal/journal-lines.ts";
import type { Command } from "../../src/kernel/machine/command.ts";
import { FAILURES } from "../../src/kernel/vocabulary/failures.ts";
import { OUTCOMES } from "../../src/kernel/vocabulary/outcome.ts";
import { verifies } from "../requirements.ts";
import { generateWorld } from "./generate-world.ts";
import { INVARIANTS } from "./invariants.ts";
import { describeViolation, simulate, violationsOf } from "./simulate.ts";
import { simulateRun } from "./simulate-run.ts";
import type { SimulatedRun } from "./simulated-run.ts";
import { MODEL_MOODS } from "./world.ts";

const SEEDS = 600;
const runs: readonly SimulatedRun[] = Array.from({ length: SEEDS }, (_, index) =>
  simulateRun(generateWorld(index + 1)),
);

describe("what holds of every simulated run", () => {
  for (const invariant of INVARIANTS) {
    const body = (): void => {
      const broken = runs.flatMap((run) =>
        violationsOf(run, [invariant]).map((violation) => describeViolation(violation, run)),
      );
      expect(broken).toEqual([]);
    };
    if (invariant.ids.length === 0) test(invariant.name, body);
    else verifies(invariant.ids, invariant.name, body);
  }
});

describe("the simulated worlds try everything", () => {
  const seen = <T>(pick: (run: SimulatedRun) => readonly T[]): ReadonlySet<T> => new Set(runs.flatMap(pick));
  const endings = seen(({ state: { phase } }) => (phase.at === "TERMINATE" ? [phase.outcome] : []));

  verifies("M-4.5/ten", "all ten outcomes are reached", () => {
    expect([...endings].sort()).toEqual([...OUTCOMES].sort());
  });

  test("every failure a world can cause is reached", () => {
    const reasons = seen(({ state: { phase } }) => (phase.at === "TERMINATE" ? [phase.reason] : []));
    // Only our own mistakes and a broken disk lead to the others.
    const impossible = ["contract.tampered", "defect", "machine.diverged"];
    expect(Object.keys(FAILURES).filter((reason) => !reasons.has(reason as keyof typeof FAILURES))).toEqual(impossible);
  });

  test("every event is told but that of a defect, every command is given, in every mode", () => {
    const events = seen(({ happenings }) => happenings.flatMap((it) => (it.kind === "heard" ? [it.event.type] : [])));
    expect([...events].sort()).toEqual(
      Object.keys(EventSchemas)
        .filter((type) => type !== "defect.found")
        .sort(),
    );
    const commands = seen<Command>(({ happenings }) =>
      happenings.flatMap((it) => (it.kind === "dispatched" ? [it.command] : [])),
    );
    expect([...new Set([...commands].map(({ type }) => type))].sort()).toEqual([
      "ask-approval",
      "call-model",
      "check-backend",
      "compact",
      "finish",
      "plan-calls",
      "run-tool",
      "spawn-child",
      "stop-work",
    ]);
    const modes = new Set([...commands].flatMap((command) => (command.type === "call-model" ? [command.mode] : [])));
    expect([...modes].sort()).toEqual([...INFER_MODES].sort());
  });

  test("crashes leave every kind of trace, and people give every kind of answer", () => {
    const traces = seen(({ happenings }) => happenings.flatMap((it) => (it.kind === "crashed" ? [it.trace] : [])));
    expect([...traces].sort()).toEqual(["hidden", "in-doubt", "restored", "shifted"]);
    const approvals = seen(({ happenings }) =>
      happenings.flatMap((it) => (it.kind === "approved" ? [it.decision] : [])),
    );
    expect([...approvals].sort()).toEqual(["allow", "deny", "expired", "unreachable"]);
    const resolutions = seen(({ happenings }) =>
      happenings.flatMap((it) => (it.kind === "resolved" ? [it.decision] : [])),
    );
    expect([...resolutions].sort()).toEqual(["done", "expired", "fail", "retry"]);
  });

  test("models have every mood, contracts every policy, adapter and version", () => {
    expect(seen(({ world }) => [world.model.mood]).size).toBe(MODEL_MOODS.length);
    expect([...seen(({ world }) => [world.contract.toolPolicy])].sort()).toEqual(["forbidden", "optional", "required"]);
    expect([...seen(({ world }) => [world.contract.version])].sort()).toEqual(["2.1", "2.3"]);
    const statuses = seen(({ entries }) =>
      entries.flatMap(({ result }) =>
        result?.type === "model.answered" ? [`${result.adapter.version} ${result.adapter.status}`] : [],
      ),
    );
    expect([...statuses].sort()).toEqual([
      "grammar-json@1 rejected",
      "marker-json@1 native",
      "marker-json@1 recovered",
      "marker-json@1 rejected",
      "marker-json@2 native",
      "marker-json@2 recovered",
      "marker-json@2 rejected",
      "native-tools@1 native",
      "native-tools@1 recovered",
      "native-tools@1 rejected",
      "native-tools@2 native",
      "native-tools@2 recovered",
      "native-tools@2 rejected",
    ]);
  });
});

describe("a seed is a run", () => {
  test("the same seed gives the same journal, byte for byte, and other seeds give others", () => {
    const journal = (seed: number): string => simulate(seed).run.entries.map(toLine).join("\n");
    for (let seed = 1; seed <= 60; seed += 1)
      expect(journal(seed)).toBe(runs[seed - 1]?.entries.map(toLine).join("\n"));
    expect(new Set(runs.map(({ entries }) => entries.at(-1)?.hash)).size).toBe(SEEDS);
  });

  test("a violation prints its seed, the invariant and the history that led there", () => {
    const { run } = simulate(3);
    const text = describeViolation({ seed: 3, invariant: "something holds", problem: "it does not" }, run);
    expect(text.split("\n").slice(0, 2)).toEqual(["seed 3: something holds", "  it does not"]);
    for (const happening of run.happenings)
      if (happening.kind === "heard") expect(text).toContain(`"type":"${happening.event.type}"`);
  });
});
