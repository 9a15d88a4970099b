/** What people are shown, held against what the runtime knows. */
import { type LifecycleEvent, lifecycleEvents } from "../../../src/kernel/journal/views/lifecycle-events.ts";
import { digestOf, snapshotOfEntries } from "../../../src/kernel/journal/views/run-snapshot.ts";
import { snapshotOf } from "../../../src/kernel/machine/snapshot.ts";
import { canonicalJson } from "../../../src/kernel/vocabulary/canonical-json.ts";
import { type Outcome, terminalStatus } from "../../../src/kernel/vocabulary/outcome.ts";
import { endingOf, firstProblem, heardIn, type Invariant, ofKind, performedResult, turnsOf } from "./invariant.ts";

export const tellsTheLifecycleInOrder: Invariant = {
  name: "lifecycle events come in O-2.1's order, each result after its call, one terminal event last",
  ids: ["O-2.1"],
  check: (run) => {
    const events = lifecycleEvents(run.entries);
    const gap = events.findIndex((event, index) => event.seq !== index + 1);
    if (gap !== -1) return `event ${gap + 1} has seq ${events[gap]?.seq}`;
    const types = events.map(({ event_type }) => event_type).join(" ");
    const ending = endingOf(run)?.decided.outcome;
    if (ending === undefined) return "no end";
    const terminal = `run.${terminalStatus(ending as Outcome)}`;
    const order = new RegExp(
      `^run\\.created( run\\.started( (model\\.requested|tool\\.call|tool\\.result))*)? ${terminal}$`,
    );
    return order.test(types) ? problemOfCalls(events) : `out of order: ${types}`;
  },
};

function problemOfCalls(events: readonly LifecycleEvent[]): string | null {
  let open: readonly string[] = [];
  const problem = firstProblem(events, (event) => {
    if (event.event_type === "model.requested") return open.length === 0 ? null : `${open[0]} has no result`;
    if (event.event_type === "tool.call") open = [...open, event.payload.call_id];
    if (event.event_type !== "tool.result") return null;
    const { call_id: callId } = event.payload;
    if (!open.includes(callId)) return `a result of ${callId} without its call`;
    open = open.filter((other) => other !== callId);
    return null;
  });
  return problem ?? (open.length === 0 ? null : `${open[0]} has no result`);
}

export const tellsResultsAsTheyWere: Invariant = {
  name: "the result shown for a call is the one it had in the end",
  ids: ["O-2.1"],
  check: ({ entries }) => {
    const shown = lifecycleEvents(entries).filter((event) => event.event_type === "tool.result");
    return firstProblem(turnsOf(entries), (turn) => {
      const observed = ofKind(turn, "OBSERVE");
      return firstProblem(observed, ({ stepId, decided: { callId } }) => {
        const last = observed.findLast((entry) => entry.decided.callId === callId);
        const wasOk = (last && performedResult(last)?.ok) ?? false;
        const told = shown.find(({ payload }) => payload.step_id === stepId && payload.call_id === callId);
        return told?.payload.ok === wasOk ? null : `${stepId} ${callId}: told ok=${told?.payload.ok}, was ok=${wasOk}`;
      });
    });
  },
};

/** Slow, so only some seeds are looked at this closely. */
export const appendsToItsViews: Invariant = {
  name: "a journal that grew only appends lifecycle events",
  ids: ["O-2.1"],
  check: ({ world, entries }) => {
    if (world.seed % 16 !== 2) return null;
    const whole = lifecycleEvents(entries).map((event) => canonicalJson(event));
    return firstProblem(entries, ({ seq }) => {
      const before = lifecycleEvents(entries.slice(0, seq)).map((event) => canonicalJson(event));
      return before.every((event, index) => event === whole[index]) ? null : `after entry ${seq} events changed`;
    });
  },
};

export const showsTheStateItIsIn: Invariant = {
  name: "after every event the digest of the runtime's state is the digest of the view",
  ids: ["M-D", "M-P3"],
  check: (run) => {
    const { runId, contract } = run.world;
    let durable = 0;
    return firstProblem(heardIn(run), ({ after, entries, event }) => {
      durable += entries.length;
      const shown = snapshotOfEntries(runId, contract.contractHash, run.entries.slice(0, durable));
      const actual = snapshotOf(after);
      if (digestOf(shown) === digestOf(actual)) return null;
      return `after ${event.type} and ${durable} entries: ${canonicalJson(shown)} is shown for ${canonicalJson(actual)}`;
    });
  },
};
