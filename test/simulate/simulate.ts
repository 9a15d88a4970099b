/**
 * One seed, simulated and checked: the entry to everything in this folder.
 *
 * A violation names its seed; `simulate(seed)` gives the same run again, byte for byte.
 */
import type { RunEvent } from "../../src/kernel/journal/event.ts";
import { generateWorld } from "./generate-world.ts";
import type { Invariant } from "./invariants/invariant.ts";
import { INVARIANTS } from "./invariants.ts";
import type { StepFunction } from "./scene.ts";
import { simulateRun } from "./simulate-run.ts";
import type { Happening, SimulatedRun } from "./simulated-run.ts";

export interface Violation {
  readonly seed: number;
  readonly invariant: string;
  readonly problem: string;
}

export interface Simulation {
  readonly run: SimulatedRun;
  readonly violations: readonly Violation[];
}

export function simulate(seed: number, step?: StepFunction): Simulation {
  const run = simulateRun(generateWorld(seed), step);
  return { run, violations: violationsOf(run) };
}

export function violationsOf(run: SimulatedRun, invariants: readonly Invariant[] = INVARIANTS): readonly Violation[] {
  return invariants.flatMap(({ name, check }) => {
    const problem = check(run);
    return problem === null ? [] : [{ seed: run.world.seed, invariant: name, problem }];
  });
}

/** The seed, what was broken, and everything that happened on the way there. */
export function describeViolation({ seed, invariant, problem }: Violation, run: SimulatedRun): string {
  return `seed ${seed}: ${invariant}\n  ${problem}\n${describeRun(run)}`;
}

export function describeRun({ happenings }: SimulatedRun): string {
  return happenings.map((happening) => `    ${shortened(lineOf(happening))}`).join("\n");
}

function shortened(line: string): string {
  return line.replaceAll(/[0-9a-f]{64}/g, (hash) => `${hash.slice(0, 6)}…`);
}

function lineOf(happening: Happening): string {
  switch (happening.kind) {
    case "heard": {
      const { event, entries, after } = happening;
      const kinds = entries.map(({ kind }) => kind).join(" ");
      return `${event.elapsedMs} ms ${subject(event)} → ${after.phase.at}${kinds === "" ? "" : ` [${kinds}]`}`;
    }
    case "noise":
      return `noise: ${subject(happening.event)}`;
    case "dispatched":
      return `${happening.isRepeat ? "again: " : ""}${JSON.stringify(happening.command)}`;
    case "performed":
      return `performed: ${happening.effect.tool} ${happening.effect.callId}`;
    case "approved":
    case "resolved":
      return `${happening.kind}: ${happening.callId} ${happening.decision}`;
    case "crashed":
      return `crashed (${happening.trace}), resumed after entry ${happening.resumed.chain.seq}`;
  }
}

/** Event and what it is about, without what fills the lines. */
function subject({ ts: _ts, elapsedMs: _elapsedMs, ...event }: RunEvent): string {
  return JSON.stringify(event);
}
