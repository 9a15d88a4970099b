import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { writeEntry } from "../../../src/kernel/journal/chain.ts";
import type { Entry } from "../../../src/kernel/journal/entry.ts";
import { hashNamedIn, lineOf } from "../../../src/kernel/journal/entry-encoding.ts";
import { parseLine, toLine } from "../../../src/kernel/journal/journal-lines.ts";
import { verifyJournal } from "../../../src/kernel/journal/verify-journal.ts";
import type { Hash } from "../../../src/kernel/vocabulary/identifiers.ts";
import { verifies } from "../../requirements.ts";
import { anySealedJournal } from "./any-journal.ts";

function keptOf(entry: Entry): string {
  return writeEntry(entry.prev, { ...entry, frame: entry } as never).encoded;
}

describe("a kept entry", () => {
  verifies("M-P5.1", "is its line, byte for byte, and shorter", () => {
    fc.assert(
      fc.property(anySealedJournal(), (entries) => {
        for (const entry of entries) {
          const kept = keptOf(entry);
          expect(lineOf(entry, entry.prev, kept)).toBe(toLine(entry));
          expect([hashNamedIn(kept), hashNamedIn(toLine(entry))]).toEqual([entry.hash, entry.hash]);
          expect(kept.length).toBeLessThan(toLine(entry).length - 300);
        }
      }),
      { numRuns: 50 },
    );
  });

  verifies("M-P5.1", "that was changed anywhere is found where it stands", () => {
    fc.assert(
      fc.property(
        anySealedJournal(),
        fc.nat(),
        fc.nat(),
        fc.constantFrom(...'0aZ" \\{,\t'),
        (entries, which, place, put) => {
          const kept = entries.map(keptOf);
          const at = which % kept.length;
          const text = kept[at] ?? "";
          const changed = text.slice(0, place % text.length) + put + text.slice((place % text.length) + 1);
          fc.pre(changed !== text);
          const lines = kept.with(at, changed).map((each, index) => {
            const entry = entries[index] as Entry;
            return `${lineOf(entry, entry.prev, each)}\n`;
          });
          const verified = verifyJournal(lines.join(""), { contractHash: entries[0]?.contractHash as Hash });
          expect(verified).toMatchObject({ ok: false, entry: at + 1 });
        },
      ),
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
