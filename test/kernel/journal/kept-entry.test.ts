import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { frameOf, writeEntry } from "../../../src/kernel/journal/chain.ts";
import type { Entry } from "../../../src/kernel/journal/entry.ts";
import { parseLine, toLine } from "../../../src/kernel/journal/journal-lines.ts";
import { hashOfKept, lineOf } from "../../../src/kernel/journal/kept-entry.ts";
import { verifies } from "../../requirements.ts";
import { anySealedJournal } from "./any-journal.ts";

function keptOf(entry: Entry): string {
  return writeEntry(entry.prev, { ...entry, frame: frameOf(entry) } as never).kept;
}

describe("a kept entry", () => {
  verifies("M-P5.1", "is its line, byte for byte, and shorter", () => {
    fc.assert(
      fc.property(anySealedJournal(), (entries) => {
        for (const entry of entries) {
          const kept = keptOf(entry);
          expect(lineOf(entry, entry.prev, kept)).toBe(toLine(entry));
          expect(hashOfKept(kept)).toBe(entry.hash);
          expect(kept.length).toBeLessThan(toLine(entry).length - 300);
        }
      }),
      { numRuns: 50 },
    );
  });

  verifies("M-P5.1", "that was changed anywhere is not its line", () => {
    fc.assert(
      fc.property(anySealedJournal(), fc.nat(), fc.constantFrom(...'0aZ" \\{,\t\n'), (entries, place, character) => {
        for (const entry of entries) {
          const kept = keptOf(entry);
          const at = place % kept.length;
          const changed = kept.slice(0, at) + character + kept.slice(at + 1);
          fc.pre(changed !== kept);
          expect(lineOf(entry, entry.prev, changed)).not.toBe(toLine(entry));
        }
      }),
    );
  });

  test.each(["", "x", "\t\t\t", `${"0".repeat(64)}\t""\t{"actor":"system"}\tnull`])(
    "%j is none, and no line",
    (text) => {
      const frame = { contractHash: "c".repeat(64), adapterVersion: "a@1", modelProfileId: "p" };
      expect(parseLine(lineOf(frame as never, "0".repeat(64) as never, text)).ok).toBe(false);
    },
  );
});
