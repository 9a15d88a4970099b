/**
 * A run that crashed, held against its twin: the same world without the crashes.
 *
 * A world answers by what it is asked, not by when. So:
 * T1. When every crash was `hidden` (crash-trace.ts), both journals end with the same hash: nobody can tell.
 * T2. When no effect was left in doubt and neither time nor an outside hand decided anything (no timer fired in either
 *     run, nothing was cancelled or narrowed, plans stayed what they were), both end in the same outcome for the same
 *     reason, having performed the same calls with the same results. Crashes shift the run's clock, which such worlds
 *     do not look at.
 * Beyond that nothing is promised: an effect in doubt, or a run of a restored home, is decided by a person, and a shifted clock can meet a deadline.
 */
import { endingOf, heardIn, type Invariant, ofKind, performedResult } from "./invariants/invariant.ts";
import { simulateRun } from "./simulate-run.ts";
import type { CrashTrace, SimulatedRun } from "./simulated-run.ts";

export const survivesCrashes: Invariant = {
  name: "a crash and a resume give the same outcome; a crash that leaves no trace gives the same journal",
  ids: ["X-2", "M-P3"],
  check: (run) => {
    const traces = crashTraces(run);
    if (traces.length === 0 || traces.includes("in-doubt") || traces.includes("restored")) return null;
    const isHidden = traces.every((trace) => trace === "hidden");
    if (!isHidden && !isTimeless(run)) return null;
    const twin = simulateRun({ ...run.world, crashes: [] });
    if (isHidden) return headOf(run) === headOf(twin) ? null : "the crash changed the journal";
    if (!isTimeless(twin)) return null;
    return whatCameOut(run) === whatCameOut(twin) ? null : `${whatCameOut(run)} instead of ${whatCameOut(twin)}`;
  },
};

function crashTraces({ happenings }: SimulatedRun): readonly CrashTrace[] {
  return happenings.flatMap((happening) => (happening.kind === "crashed" ? [happening.trace] : []));
}

function isTimeless(run: SimulatedRun): boolean {
  const { cancel, narrowings, plansChange } = run.world;
  if (cancel !== null || narrowings.length > 0 || plansChange) return false;
  return !heardIn(run).some(({ event }) => event.type === "timer.fired");
}

function headOf({ entries }: SimulatedRun): string | undefined {
  return entries.at(-1)?.hash;
}

function whatCameOut(run: SimulatedRun): string {
  const ending = endingOf(run)?.decided;
  const calls = ofKind(run.entries, "OBSERVE").map((entry) => {
    return `${entry.stepId} ${entry.decided.callId} ${performedResult(entry)?.identity}`;
  });
  return [`${ending?.outcome} ${ending?.reason}`, ...calls].join("; ");
}
