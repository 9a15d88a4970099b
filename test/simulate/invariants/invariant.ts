/** A property every simulated run must have. `check` says what is wrong, or null. */
import type { Entry, EntryOf } from "../../../src/kernel/journal/entry.ts";
import type { DispatchedHappening, HeardHappening, SimulatedRun } from "../simulated-run.ts";

export interface Invariant {
  readonly name: string;
  /** The requirements it bears out. */
  readonly ids: readonly string[];
  readonly check: (run: SimulatedRun) => string | null;
}

/** The first problem among many things to look at. */
export function firstProblem<T>(items: Iterable<T>, problemOf: (item: T) => string | null): string | null {
  for (const item of items) {
    const problem = problemOf(item);
    if (problem !== null) return problem;
  }
  return null;
}

export function endingOf({ entries }: Pick<SimulatedRun, "entries">): EntryOf<"TERMINATE"> | null {
  const last = entries.at(-1);
  return last?.kind === "TERMINATE" ? last : null;
}

export function isCompleted(run: Pick<SimulatedRun, "entries">): boolean {
  return endingOf(run)?.decided.outcome.startsWith("COMPLETED_") ?? false;
}

export function heardIn({ happenings }: SimulatedRun): readonly HeardHappening[] {
  return happenings.filter((happening) => happening.kind === "heard");
}

export function dispatchedIn({ happenings }: SimulatedRun): readonly DispatchedHappening[] {
  return happenings.filter((happening) => happening.kind === "dispatched");
}

/** How a dispatched call ended, where it was performed: null for one that was given up, retried or cut short. */
export function performedResult({
  result,
  decided,
}: EntryOf<"OBSERVE">): { readonly ok: boolean; readonly identity: string } | null {
  switch (result?.type) {
    case "tool.finished":
    case "child.finished": {
      const { ok, outputRef, error } = result.response;
      return { ok, identity: ok ? `${outputRef ?? "done"}` : `${error?.code} ${error?.messageRef}` };
    }
    case "effect.resolved":
      if (result.decision === "done") return { ok: true, identity: "done" };
      return result.decision === "fail" ? { ok: false, identity: "internal.error null" } : null;
    case "timer.fired":
      return result.timer === "tool" || result.timer === "grace" ? { ok: false, identity: "timeout null" } : null;
    case "calls.planned":
    case "approval.decided":
      // It was not tried again; otherwise its next attempt has the result.
      return decided.error === undefined ? null : { ok: false, identity: "internal.error null" };
    case "effect.unknown":
    case "tool.malformed":
      return { ok: false, identity: "internal.error null" };
    default:
      return null;
  }
}

/** The entries, cut into turns: each ends with its COMMIT. */
export function turnsOf(entries: readonly Entry[]): readonly (readonly Entry[])[] {
  const turns: Entry[][] = [[]];
  for (const entry of entries) {
    turns.at(-1)?.push(entry);
    if (entry.kind === "COMMIT") turns.push([]);
  }
  return turns.filter((turn) => turn.length > 0);
}

export function ofKind<Kind extends Entry["kind"]>(entries: readonly Entry[], kind: Kind): readonly EntryOf<Kind>[] {
  return entries.filter((entry) => entry.kind === kind) as readonly Entry[] as readonly EntryOf<Kind>[];
}
