import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Entry } from "../../../src/kernel/journal/entry.ts";
import { verifyJournal } from "../../../src/kernel/journal/verify-journal.ts";
import { verifies } from "../../requirements.ts";
import { anyOpenJournal, anySealedJournal, CONTRACT, fileOf, forge, SMALL_JOURNAL } from "./any-journal.ts";
import {
  anyTampering,
  cut,
  encode,
  everyByteTampering,
  everyLineTampering,
  misplaced,
  type Tampered,
} from "./tamper.ts";

const { contractHash } = CONTRACT;
const LONG = 60_000;

const linesOf = (entries: readonly Entry[]): readonly string[] => entries.map((entry) => fileOf([entry]));

/** Changes that verification against the journal's own head does not find, or not where they are. */
function missed(entries: readonly Entry[], tamperings: Iterable<Tampered>): readonly string[] {
  const anchor = { seq: entries.length, hash: (entries.at(-1) as Entry).hash };
  return misplaced(encode(fileOf(entries)), tamperings, (bytes) => {
    const verdict = verifyJournal(bytes, { contractHash, anchor });
    return verdict.ok ? 0 : verdict.entry;
  });
}

describe("a changed journal", () => {
  const original = encode(fileOf(SMALL_JOURNAL));

  verifies(
    ["M-E/immutable", "M-P5.1/divergence"],
    "every replaced, deleted or inserted byte and every truncation is found in the entry where it is",
    () => expect(missed(SMALL_JOURNAL, everyByteTampering(original))).toEqual([]),
    LONG,
  );

  verifies(
    ["M-E/immutable", "M-P5.1"],
    "every missing, repeated or swapped line is found where the order breaks",
    () => {
      expect(missed(SMALL_JOURNAL, everyLineTampering(linesOf(SMALL_JOURNAL)))).toEqual([]);
    },
  );

  verifies(
    "M-P5.1",
    "random changes of large journals are found in the entry where they are",
    () => {
      fc.assert(
        fc.property(anySealedJournal(10), fc.infiniteStream(fc.nat()), (entries, choices) => {
          const bytes = encode(fileOf(entries));
          const tamperings = Array.from({ length: 25 }, () => anyTampering(bytes, () => choices.next().value));
          expect(missed(entries, tamperings)).toEqual([]);
          const swaps = [...everyLineTampering(linesOf(entries))].filter(({ how }) => how.endsWith("swapped"));
          expect(missed(entries, swaps.slice(0, 8))).toEqual([]);
        }),
        { numRuns: 12 },
      );
    },
    LONG,
  );

  test("a tail torn at any byte is set apart, never called tampering, and the prefix stays whole", () => {
    const lines = linesOf(SMALL_JOURNAL);
    const prefix = encode(lines.slice(0, -1).join(""));
    for (let at = prefix.length; at < original.length; at += 1) {
      const verdict = verifyJournal(cut(original, at).bytes, { contractHash });
      const torn = new TextDecoder().decode(original.subarray(prefix.length, at));
      expect(verdict).toMatchObject({ ok: true, length: 2, sealed: false, torn: torn === "" ? null : torn });
      expect(verdict.ok && verdict.entries).toEqual(SMALL_JOURNAL.slice(0, -1));
    }
  });

  test("a tail torn inside a character is shown with U+FFFD", () => {
    const name = original.indexOf(0xc3);
    expect(verifyJournal(original.subarray(0, name + 1), { contractHash })).toMatchObject({
      ok: true,
      length: 0,
      torn: expect.stringMatching(/Zo\ufffd$/),
    });
  });

  test("a chain that was wholly recomputed is refused by an anchor only, at the anchored entry", () => {
    fc.assert(
      fc.property(anyOpenJournal(), fc.nat(), (entries, choice) => {
        const from = choice % entries.length;
        const rewritten = [...entries];
        for (let at = from; at < entries.length; at += 1) {
          const prev = rewritten[at - 1]?.hash ?? entries[at]?.prev;
          const entry = entries[at] as Entry;
          rewritten[at] = forge(entry, { prev, ...(at === from && { actor: `${entry.actor}!` }) });
        }
        const { hash } = entries.at(-1) as Entry;
        const anchor = { seq: entries.length, hash };
        expect(verifyJournal(fileOf(rewritten), { contractHash }).ok).toBe(true);
        expect(verifyJournal(fileOf(rewritten), { contractHash, anchor })).toEqual({
          ok: false,
          entry: entries.length,
          problem: "hash is not the anchored one",
        });
      }),
      { numRuns: 30 },
    );
  });
});
