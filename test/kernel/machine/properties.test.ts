/** What holds for every history, also those no driver would ever produce. */
import fc from "fast-check";
import { describe, expect } from "vitest";
import { genesisHash, writeEntry } from "../../../src/kernel/journal/chain.ts";
import { type Entry, eventsOf } from "../../../src/kernel/journal/entry.ts";
import { lineOf } from "../../../src/kernel/journal/entry-encoding.ts";
import { toLine } from "../../../src/kernel/journal/journal-lines.ts";
import { lifecycleEvents } from "../../../src/kernel/journal/views/lifecycle-events.ts";
import { digestOf, snapshotOfEntries } from "../../../src/kernel/journal/views/run-snapshot.ts";
import { isEdge } from "../../../src/kernel/machine/edges.ts";
import { foldRun } from "../../../src/kernel/machine/fold.ts";
import { snapshotOf } from "../../../src/kernel/machine/snapshot.ts";
import { step } from "../../../src/kernel/machine/step.ts";
import { canonicalJson } from "../../../src/kernel/vocabulary/canonical-json.ts";
import { OUTCOMES } from "../../../src/kernel/vocabulary/outcome.ts";
import { verifies } from "../../requirements.ts";
import { anyHistory, type History } from "./any-history.ts";
import { RUN_ID } from "./scripted-run.ts";

function always(check: (history: History) => void, numRuns = 300): void {
  fc.assert(fc.property(anyHistory, check), { numRuns });
}

const completed = ({ last }: History): boolean =>
  last.phase.at === "TERMINATE" && last.phase.outcome.startsWith("COMPLETED");

describe("for every history", () => {
  verifies(
    ["M-4.5/one", "M-5/terminate"],
    "a run ends at most once, in one of the ten outcomes, and from COMMIT only",
    () => {
      always(({ entries, last }) => {
        const ends = entries.filter((entry) => entry.kind === "TERMINATE");
        expect(ends.length).toBe(last.phase.at === "TERMINATE" ? 1 : 0);
        for (const end of ends) {
          expect(OUTCOMES).toContain(end.decided.outcome);
          expect(entries.at(-1)).toBe(end);
          expect(entries.at(-2)?.kind).toBe("COMMIT");
        }
      });
    },
  );

  verifies(
    ["M-5/edges", "M-E/append"],
    "entries follow the edges, one after the other, without a gap in the chain",
    () => {
      always(({ contract, entries }) => {
        let prev = genesisHash(contract.contractHash);
        for (const [index, entry] of entries.entries()) {
          expect(entry.seq).toBe(index + 1);
          expect(entry.prev).toBe(prev);
          expect(entry.contractHash).toBe(contract.contractHash);
          const before = entries[index - 1];
          // Entries of one group follow each other: EXECUTE EXECUTE OBSERVE OBSERVE.
          const isGroup = before?.state === entry.state && (entry.state === "EXECUTE" || entry.state === "OBSERVE");
          if (before !== undefined && !isGroup)
            expect([before.state, entry.state, isEdge(before.state, entry.state)]).toEqual([
              before.state,
              entry.state,
              true,
            ]);
          prev = entry.hash;
        }
      });
    },
  );

  verifies("M-P5.1", "each entry is what appending it again gives", () => {
    always(({ entries }) => {
      for (const entry of entries) {
        const written = writeEntry(entry.prev, { ...entry, frame: entry } as never);
        expect(canonicalJson(written.entry)).toBe(canonicalJson(entry));
        expect(lineOf(entry, entry.prev, written.encoded)).toBe(toLine(entry));
      }
    }, 50);
  });

  verifies(
    ["M-P3/replay", "X-2"],
    "folding what stands in the entries gives the same bytes and the same outcome",
    () => {
      always(({ contract, entries, last }) => {
        const folded = foldRun(RUN_ID, contract, entries);
        expect(folded.ok).toBe(true);
        expect(folded.state.chain).toEqual(last.chain);
        if (last.phase.at === "TERMINATE") expect(folded.state.phase).toEqual(last.phase);
      });
    },
  );

  verifies(["P-0/determinism", "M-P3"], "step is deterministic and never throws", () => {
    always(({ steps }) => {
      for (const { before, event, state, entries, commands } of steps) {
        const again = step(before, event);
        expect(canonicalJson([again.entries, again.commands])).toBe(canonicalJson([entries, commands]));
        expect(again.state).toEqual(state);
      }
    }, 60);
  });

  verifies(
    "M-E",
    "an event that changes nothing is not recorded, and every one that does stands in an entry or is still heard",
    () => {
      always(({ steps, entries, last }) => {
        const changing = steps.filter(({ before, state }) => before !== state).map(({ recordedAs }) => recordedAs);
        const told = [...entries.flatMap(eventsOf), ...last.heard].map((event) => event.type);
        expect(told).toEqual(changing);
      });
    },
  );

  verifies("M-C", "required never completes without a performed call that succeeded", () => {
    always((history) => {
      if (history.contract.toolPolicy !== "required" || !completed(history)) return;
      expect(history.last.budget.succeeded).toBeGreaterThan(0);
      expect(history.entries.some((entry) => entry.kind === "EXECUTE")).toBe(true);
    });
  });

  verifies("X-1/required", "a required effect is proven by a performed call before a run completes", () => {
    always((history) => {
      if (history.contract.requiredEffects.length === 0 || !completed(history)) return;
      const proven = history.entries.filter(
        (entry) => entry.kind === "EXECUTE" && entry.decided.tool === "fs.write_text",
      );
      expect(proven.length).toBeGreaterThan(0);
    });
  });

  verifies("M-P2b", "forbidden never performs a call", () => {
    always(({ contract, entries }) => {
      if (contract.toolPolicy === "forbidden") expect(entries.filter((entry) => entry.kind === "EXECUTE")).toEqual([]);
    });
  });

  verifies("M-F/kernel", "under required with the token gate no text is told before a validated call", () => {
    always(({ contract, entries }) => {
      if (contract.toolPolicy !== "required" || !contract.tokenGate) return;
      const told = entries.some((entry) => entry.kind === "TERMINATE" && entry.result !== null);
      if (told) expect(entries.some((entry) => entry.kind === "EXECUTE")).toBe(true);
    });
  });

  verifies("X-2", "every performed call was allowed, stated as an intent, and observed once", () => {
    always(({ entries, last }) => {
      const allowed = entries.flatMap((entry) =>
        entry.kind === "VALIDATE_CALLS" ? entry.decided.calls.filter((call) => call.decision === "allow") : [],
      );
      const intents = entries.filter((entry) => entry.kind === "EXECUTE");
      const observed = entries.filter((entry) => entry.kind === "OBSERVE");
      for (const intent of intents) expect(allowed.map((call) => call.planHash)).toContain(intent.decided.planHash);
      const open = last.phase.at === "OBSERVE" ? last.phase.inFlight.length : 0;
      expect(observed.length).toBe(intents.length - open);
    });
  });

  verifies(
    ["M-P3/budget", "T-3.2/configurable"],
    "a completed run is within its budgets, and no run asks more often than it may",
    () => {
      always((history) => {
        const { contract, last, steps } = history;
        const answered = history.entries.filter(
          (entry) => entry.kind === "INFER" && entry.result?.type === "model.answered",
        );
        expect(answered.length).toBeLessThanOrEqual(contract.maxInferences);
        expect(last.budget.formatRetries).toBeLessThanOrEqual(contract.maxFormatRetries + 1);
        for (const { commands, state } of steps) {
          const acts = commands.some(
            ({ type }) => type === "call-model" || type === "run-tool" || type === "spawn-child",
          );
          if (acts) expect(state.elapsedMs).toBeLessThan(contract.totalTimeoutMs);
        }
        if (!completed(history)) return;
        expect(last.budget.tokens).toBeLessThanOrEqual(contract.maxTokensConsumed);
        expect(last.budget.spendMicrousd).toBeLessThanOrEqual(contract.maxSpendMicrousd ?? Number.POSITIVE_INFINITY);
      });
    },
  );

  verifies(
    ["M-P3/digest", "M-D"],
    "the digest a view derives from entries is the runtime's own, after every step",
    () => {
      always(({ contract, steps }) => {
        const seen: Entry[] = [];
        for (const { state, entries } of steps) {
          seen.push(...entries);
          expect(digestOf(snapshotOf(state))).toBe(digestOf(snapshotOfEntries(RUN_ID, contract.contractHash, seen)));
        }
      }, 60);
    },
  );

  verifies("O-2.1/seq", "lifecycle events keep their order with strictly increasing seq, whatever happened", () => {
    always(({ entries }) => {
      const events = lifecycleEvents(entries);
      expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
      if (events.length > 0) expect(events[0]?.event_type).toBe("run.created");
    }, 100);
  });
});
