/** What a journal must look like, whatever happened: it ends once, it chains, it folds, and it leaves no call out. */
import { type Entry, type EntryOf, eventsOf } from "../../../src/kernel/journal/entry.ts";
import { toLine } from "../../../src/kernel/journal/journal-lines.ts";
import { verifyEntries, verifyJournal } from "../../../src/kernel/journal/verify-journal.ts";
import { isEdge } from "../../../src/kernel/machine/edges.ts";
import { foldRun } from "../../../src/kernel/machine/fold.ts";
import { canonicalJson } from "../../../src/kernel/vocabulary/canonical-json.ts";
import { FAILURES, type FailureReason } from "../../../src/kernel/vocabulary/failures.ts";
import { OUTCOMES, type Outcome } from "../../../src/kernel/vocabulary/outcome.ts";
import type { SimulatedRun } from "../simulated-run.ts";
import {
  endingOf,
  firstProblem,
  heardIn,
  type Invariant,
  isCompleted,
  ofKind,
  performedResult,
  turnsOf,
} from "./invariant.ts";

export const endsOnce: Invariant = {
  name: "a run ends, once, in one of the ten outcomes",
  ids: ["M-4.5"],
  check: (run) => {
    if (run.givenUp !== null) return run.givenUp;
    const ending = endingOf(run);
    if (ending === null || ofKind(run.entries, "TERMINATE").length !== 1) return "not exactly one TERMINATE at the end";
    const { outcome, reason } = ending.decided;
    if (!OUTCOMES.includes(outcome as Outcome)) return `${outcome} is no outcome`;
    const expected = reason === null ? /^COMPLETED_/.test(outcome) : outcomeFor(reason) === outcome;
    if (!expected) return `${outcome} does not go with the reason ${reason}`;
    const finished = heardIn(run).flatMap((heard) => heard.commands.filter((command) => command.type === "finish"));
    if (finished.length !== 1) return `finished ${finished.length} times`;
    return finished[0]?.outcome === outcome ? null : "the outcome told is not the one recorded";
  },
};

function outcomeFor(reason: string): string | null {
  return Object.hasOwn(FAILURES, reason) ? FAILURES[reason as FailureReason].outcome : null;
}

export const hasNoDefect: Invariant = {
  name: "no step finds a defect in our own code",
  ids: [],
  check: (run) => firstProblem(heardIn(run), (heard) => heard.defect),
};

export const terminatesFromCommit: Invariant = {
  name: "TERMINATE is entered from COMMIT only",
  ids: ["M-5"],
  check: ({ entries }) =>
    firstProblem(entries.entries(), ([index, entry]) =>
      entry.kind === "TERMINATE" && entries[index - 1]?.kind !== "COMMIT"
        ? `entry ${index + 1}: no COMMIT before`
        : null,
    ),
};

export const keepsToEdges: Invariant = {
  name: "states follow one another along the contract's edges",
  ids: ["M-5"],
  check: ({ entries }) => {
    if (entries.length > 0 && entries[0]?.kind !== "run.created") return "the journal does not begin with run.created";
    return firstProblem(entries.entries(), ([index, entry]) => {
      const before = entries[index - 1];
      return before === undefined || mayFollow(before, entry)
        ? null
        : `entry ${index + 1}: ${before.state} → ${entry.state}`;
    });
  },
};

/** Calls that are dispatched together make one entry each on both sides of the edge. */
function mayFollow(before: Entry, entry: Entry): boolean {
  if (before.kind === "COMMIT") return before.decided.next === entry.state;
  if (before.kind === entry.kind) return entry.kind === "EXECUTE" || entry.kind === "OBSERVE";
  return isEdge(before.state, entry.state);
}

export const recordsEveryTransition: Invariant = {
  name: "every transition appends entries, all under the run's contract",
  ids: ["M-E"],
  check: (run) => {
    const { contractHash } = run.world.contract;
    const stranger = run.entries.find((entry) => entry.contractHash !== contractHash || entry.stepId === "");
    if (stranger !== undefined) return `entry ${stranger.seq} does not name its contract and step`;
    return firstProblem(heardIn(run), ({ before, after, entries, event }) =>
      before.phase.at !== after.phase.at && entries.length === 0
        ? `${before.phase.at} → ${after.phase.at} at ${event.type} left no entry`
        : null,
    );
  },
};

export const chains: Invariant = {
  name: "entries count without gaps and chain from the contract's hash",
  ids: ["M-P5.1"],
  check: ({ entries, world: { contract } }) => {
    const verified = verifyEntries(entries, { contractHash: contract.contractHash });
    if (!verified.ok) return `entry ${verified.entry}: ${verified.problem}`;
    return verified.sealed ? null : "not sealed";
  },
};

export const runsForward: Invariant = {
  name: "a run's own time never goes back, whatever crashes did to it",
  ids: [],
  check: ({ entries }) => {
    let latestMs = 0;
    return firstProblem(entries, (entry) => {
      const times = [...eventsOf(entry).map(({ elapsedMs }) => elapsedMs), entry.elapsedMs];
      const early = times.find((elapsedMs) => elapsedMs < latestMs);
      latestMs = Math.max(latestMs, ...times);
      return early === undefined ? null : `entry ${entry.seq}: ${early} ms after ${latestMs} ms`;
    });
  },
};

export const foldsToTheSame: Invariant = {
  name: "folding the recorded events gives the same bytes and the same state",
  ids: ["M-P3", "M-P5.1"],
  check: ({ world, entries, state }) => {
    const folded = foldRun(world.runId, world.contract, entries);
    if (!folded.ok) return `diverges at entry ${folded.divergedAt}`;
    return canonicalJson(folded.state) === canonicalJson(state) ? null : "folds to another state";
  },
};

/** Slow, so only some seeds are looked at this closely. */
export const foldsAtEveryBoundary: Invariant = {
  name: "folding what was durable after any event gives the state of that moment",
  ids: ["X-2"],
  check: (run) => {
    if (run.world.seed % 16 !== 0) return null;
    let durable = 0;
    return firstProblem(heardIn(run), ({ after, entries }) => {
      durable += entries.length;
      if (entries.length === 0) return null;
      const folded = foldRun(run.world.runId, run.world.contract, run.entries.slice(0, durable));
      if (!folded.ok) return `after entry ${durable}: diverges at entry ${folded.divergedAt}`;
      return canonicalJson(folded.state) === canonicalJson(after) ? null : `after entry ${durable}: another state`;
    });
  },
};

export const readsBack: Invariant = {
  name: "the journal file verifies and reads back as it was written",
  ids: ["M-P5.1"],
  check: ({ world, entries }) => {
    if (world.seed % 16 !== 1) return null;
    const file = entries.map((entry) => `${toLine(entry)}\n`).join("");
    const verified = verifyJournal(file, { contractHash: world.contract.contractHash });
    if (!verified.ok) return `entry ${verified.entry}: ${verified.problem}`;
    return canonicalJson(verified.entries) === canonicalJson(entries) ? null : "reads back as something else";
  },
};

export const observesInOrder: Invariant = {
  name: "every dispatched call gets one result, in the order of dispatch",
  ids: [],
  check: ({ entries }) => {
    const open: EntryOf<"EXECUTE">[] = [];
    return firstProblem(entries, (entry) => {
      if (entry.kind === "EXECUTE") open.push(entry);
      if (entry.kind === "COMMIT" && open.length > 0) return `entry ${entry.seq}: ${open[0]?.decided.callId} is open`;
      if (entry.kind !== "OBSERVE") return null;
      const next = open.shift();
      const isNext = next?.decided.callId === entry.decided.callId && next.decided.planHash === entry.decided.planHash;
      return isNext ? null : `entry ${entry.seq}: a result for ${entry.decided.callId} out of order`;
    });
  },
};

export const accountsForEveryCall: Invariant = {
  name: "every allowed call of a turn was performed, shared a performance, or is recorded as skipped",
  ids: ["M-P3"],
  check: ({ entries }) =>
    firstProblem(turnsOf(entries), (turn) => {
      const executed = ofKind(turn, "EXECUTE").flatMap(({ decided }) => [decided.callId, ...decided.sharedBy]);
      const skipped = ofKind(turn, "COMMIT").flatMap(({ decided }) => decided.skipped.map(({ callId }) => callId));
      const allowed = ofKind(turn, "VALIDATE_CALLS").flatMap(({ decided }) =>
        decided.calls.flatMap((call) => (call.decision === "allow" ? [call.callId] : [])),
      );
      const lost = allowed.find((callId) => !executed.includes(callId) && !skipped.includes(callId));
      if (lost !== undefined) return `${turn[0]?.stepId}: nobody knows what became of ${lost}`;
      const made = [...executed, ...skipped].find((callId) => !allowed.includes(callId));
      return made === undefined ? null : `${turn[0]?.stepId}: ${made} was never allowed`;
    }),
};

export const answersOnlyWhenCompleted: Invariant = {
  name: "only a completed run has an answer to tell, and under `required` only after a call that succeeded",
  ids: ["M-F"],
  check: (run) => {
    const ending = endingOf(run);
    if (ending === null || ending.result === null) return null;
    if (!isCompleted(run)) return `${ending.decided.outcome} with an answer`;
    const isProven = ofKind(run.entries, "OBSERVE").some((entry) => performedResult(entry)?.ok);
    return run.world.contract.toolPolicy !== "required" || isProven ? null : "an answer before any successful call";
  },
};

export const ignoresTheUnexpected: Invariant = {
  name: "an event nobody waits for changes nothing",
  ids: [],
  check: ({ happenings }: SimulatedRun) =>
    firstProblem(happenings, (happening) =>
      happening.kind === "noise" && !happening.isIgnored ? `${happening.event.type} was taken` : null,
    ),
};
