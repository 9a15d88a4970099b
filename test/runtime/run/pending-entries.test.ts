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

/** The passages of a run, none of them linked yet. */
function passagesOf({ contract, events }: History): readonly PendingEntries[] {
  const passages: PendingEntries[] = [];
  let state = startRun(RUN_ID, contract);
  let end: { readonly head: PendingEntries["head"] } = { head: state.chain.linked.hash };
  for (const event of events) {
    const decision = decide(state, event);
    end = new PendingEntries(end, decision.transitions);
    passages.push(end as PendingEntries);
    state = decision.state;
  }
  return passages;
}

describe("a pending", () => {
  verifies(["M-P5.1", "M-E"], "is linked as the machine links it at once, whichever is asked for first", () => {
    fc.assert(
      fc.property(anyHistory, fc.infiniteStream(fc.nat()), (history, choices) => {
        const passages = passagesOf(history);
        const order = passages.toSorted(() => (choices.next().value % 2 === 0 ? -1 : 1));
        for (const pending of order) expect(pending.head).toMatch(/^[0-9a-f]{64}$/);
        expect(passages.flatMap(({ entries }) => entries)).toEqual(history.entries);
        expect(passages.map(({ head }) => head)).toEqual(history.steps.map(({ state }) => state.chain.linked.hash));
        expect(passages.map(({ prev }) => prev)).toEqual(history.steps.map(({ before }) => before.chain.linked.hash));
      }),
      { numRuns: 50 },
    );
  });

  test("has the lines of its entries, for who asks twice as well", () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        for (const pending of passagesOf(history)) {
          const { lines } = pending;
          expect(lines).toEqual(pending.entries.map(toLine));
          expect(pending.lines).toEqual(lines);
        }
      }),
      { numRuns: 20 },
    );
  });

  test("is committed as what follows its predecessor", () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        for (const [index, pending] of passagesOf(history).entries()) {
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

test("what a run decides is the same, linked at once or later", () => {
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
