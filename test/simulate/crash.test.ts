/** Crashes at every point, not only where a seed happens to put one. */
import { describe, expect, test } from "vitest";
import { verifies } from "../requirements.ts";
import { generateWorld } from "./generate-world.ts";
import { describeViolation, violationsOf } from "./simulate.ts";
import { simulateRun } from "./simulate-run.ts";
import type { CrashTrace, SimulatedRun } from "./simulated-run.ts";
import type { Crash, World } from "./world.ts";

const calm = (seed: number): World => ({ ...generateWorld(seed), crashes: [] });
const crashed = (world: World, ...crashes: readonly Crash[]): SimulatedRun => simulateRun({ ...world, crashes });
const tracesOf = ({ happenings }: SimulatedRun): readonly CrashTrace[] =>
  happenings.flatMap((happening) => (happening.kind === "crashed" ? [happening.trace] : []));
const headOf = ({ entries }: SimulatedRun): string | undefined => entries.at(-1)?.hash;
const problemsOf = (run: SimulatedRun): readonly string[] =>
  violationsOf(run).map((violation) => describeViolation(violation, run));

/** Runs long enough to be worth cutting everywhere, short enough to be cut everywhere. */
const longWorlds: readonly World[] = Array.from({ length: 400 }, (_, index) => calm(index + 1))
  .filter((world) => {
    const { length } = simulateRun(world).happenings;
    return length >= 40 && length <= 90;
  })
  .slice(0, 5);

describe("a crash between any two events", () => {
  verifies("X-2", "breaks no invariant, wherever it strikes and whatever was under way", () => {
    const seen = new Set<CrashTrace>();
    for (const world of longWorlds) {
      const events = simulateRun(world).happenings.filter(({ kind }) => kind === "heard").length;
      for (let afterEvent = 0; afterEvent < events; afterEvent += 1) {
        for (const beforeCommands of [true, false]) {
          const run = crashed(world, { afterEvent, afterMs: 7 * afterEvent, beforeCommands });
          expect(problemsOf(run)).toEqual([]);
          expect(tracesOf(run)).toHaveLength(1);
          for (const trace of tracesOf(run)) seen.add(trace);
        }
      }
    }
    expect([...seen].sort()).toEqual(["hidden", "in-doubt", "shifted"]);
  });

  verifies(["X-2", "M-P3"], "that leaves nothing in doubt is invisible: the journal ends with the same hash", () => {
    let hidden = 0;
    for (const world of longWorlds) {
      const head = headOf(simulateRun(world));
      const crashes = Array.from({ length: 8 }, (_, index) => ({
        afterEvent: index * 3,
        afterMs: 5,
        beforeCommands: index % 2 === 0,
      }));
      for (const crash of crashes) {
        const run = crashed(world, crash);
        if (!tracesOf(run).every((trace) => trace === "hidden")) continue;
        hidden += 1;
        expect(headOf(run)).toBe(head);
      }
    }
    expect(hidden).toBeGreaterThan(15);
  });

  test("again and again is survived too", () => {
    const everywhere = Array.from({ length: 60 }, (_, index) => ({
      afterEvent: index,
      afterMs: index,
      beforeCommands: index % 3 === 0,
    }));
    for (const world of longWorlds) {
      const run = crashed(world, ...everywhere);
      expect(problemsOf(run)).toEqual([]);
      expect(tracesOf(run).length).toBeGreaterThan(10);
    }
  });
});

describe("an opaque effect under way when the process dies", () => {
  const dyingWorlds = Array.from({ length: 600 }, (_, index) => calm(index + 1))
    .map((world) => crashed(world, { afterEvent: null, afterMs: 400, beforeCommands: false }))
    .filter((run) => tracesOf(run).includes("in-doubt"));

  verifies("X-2", "is asked about, and what a person says is what counts", () => {
    expect(dyingWorlds.length).toBeGreaterThan(40);
    const decisions = new Set<string>();
    for (const run of dyingWorlds) {
      expect(problemsOf(run)).toEqual([]);
      for (const happening of run.happenings) if (happening.kind === "resolved") decisions.add(happening.decision);
    }
    expect([...decisions].sort()).toEqual(["done", "expired", "fail", "retry"]);
  });

  verifies("X-2", "is never run again by itself: every repeat in the world was a person's wish", () => {
    const repeats = dyingWorlds.filter(({ happenings }) => {
      const effects = happenings.flatMap((it) =>
        it.kind === "performed" ? [`${it.effect.turn} ${it.effect.callId}`] : [],
      );
      return new Set(effects).size < effects.length;
    });
    expect(repeats.length).toBeGreaterThan(0);
    for (const { happenings } of repeats) {
      expect(happenings.some((it) => it.kind === "resolved" && it.decision === "retry")).toBe(true);
    }
  });
});
