import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toLine } from "../../../src/kernel/journal/journal-lines.ts";
import { startRun } from "../../../src/kernel/machine/state.ts";
import { decide, step } from "../../../src/kernel/machine/step.ts";
import { asRunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { AppendPendingEntries, PendingEntries } from "../../../src/runtime/run/pending-entries.ts";
import { anyHistory, type History } from "../../kernel/machine/any-history.ts";
import { RUN_ID } from "../../kernel/machine/scripted-run.ts";
import { verifies } from "../../requirements.ts";

/** The pending entries of a run, step by step, none of them linked yet. */
function pendingStepsOf({ contract, events }: History): readonly PendingEntries[] {
  const steps: PendingEntries[] = [];
  let state = startRun(RUN_ID, contract);
  let end: { readonly head: PendingEntries["head"] } = { head: state.chain.linked.hash };
  for (const event of events) {
    const decision = decide(state, event);
    end = new PendingEntries(end, decision.transitions);
    steps.push(end as PendingEntries);
    state = decision.state;
  }
  return steps;
}

describe("pending entries", () => {
  verifies(
    ["M-P5.1", "M-E"],
    "are linked as the machine links them immediately, in whatever order they are read",
    () => {
      fc.assert(
        fc.property(anyHistory, fc.infiniteStream(fc.nat()), (history, choices) => {
          const steps = pendingStepsOf(history);
          const order = steps.toSorted(() => (choices.next().value % 2 === 0 ? -1 : 1));
          for (const pending of order) expect(pending.head).toMatch(/^[0-9a-f]{64}$/);
          expect(steps.flatMap(({ entries }) => entries)).toEqual(history.entries);
          expect(steps.map(({ head }) => head)).toEqual(history.steps.map(({ state }) => state.chain.linked.hash));
          expect(steps.map(({ prev }) => prev)).toEqual(history.steps.map(({ before }) => before.chain.linked.hash));
        }),
        { numRuns: 50 },
      );
    },
  );

  test("have the lines of their entries, also when read twice", () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        for (const pending of pendingStepsOf(history)) {
          const { lines } = pending;
          expect(lines).toEqual(pending.entries.map(toLine));
          expect(pending.lines).toEqual(lines);
        }
      }),
      { numRuns: 20 },
    );
  });

  test("are appended after their predecessor", () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        for (const [index, pending] of pendingStepsOf(history).entries()) {
          const { before, entries, state } = history.steps[index] as History["steps"][number];
          const { seq, linked } = before.chain;
          const appending = new AppendPendingEntries({ runId: asRunId("run_1"), epoch: 3 }, seq, pending, []);
          expect(appending).toMatchObject({ type: "append-entries", runId: "run_1", epoch: 3, bodies: [] });
          expect(appending.after).toEqual(linked);
          expect(appending.lines).toEqual(entries.map(toLine));
          expect(appending.head).toBe(state.chain.linked.hash);
        }
      }),
      { numRuns: 20 },
    );
  });
});

test("a run decides the same, whether its entries are linked immediately or later", () => {
  fc.assert(
    fc.property(anyHistory, ({ steps }) => {
      for (const { before, event } of steps) {
        const { transitions, ...decided } = decide(before, event);
        const { entries, ...stepped } = step(before, event);
        expect(transitions.map(({ seq, kind }) => [seq, kind])).toEqual(entries.map(({ seq, kind }) => [seq, kind]));
        expect(decided.commands).toEqual(stepped.commands);
        expect({ ...decided.state, chain: null }).toEqual({ ...stepped.state, chain: null });
      }
    }),
    { numRuns: 20 },
  );
});
