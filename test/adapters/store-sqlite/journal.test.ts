/** Journals in the database: encoded entries beside lines, and damaged rows. */
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { databaseFile } from "../../../src/adapters/store-sqlite/connection.ts";
import { writeEntry } from "../../../src/kernel/journal/chain.ts";
import type { Entry } from "../../../src/kernel/journal/entry.ts";
import { toLine } from "../../../src/kernel/journal/journal-lines.ts";
import { verifyJournal } from "../../../src/kernel/journal/verify-journal.ts";
import type { RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { canonicalWire } from "../../../src/kernel/vocabulary/wire-case.ts";
import type { Store } from "../../../src/runtime/ports/store.ts";
import { CONTRACT, chainOf, SMALL_JOURNAL } from "../../kernel/journal/any-journal.ts";
import { verifies } from "../../requirements.ts";
import { runOfItsOwn, SampleJournal } from "../../runtime/store-samples.ts";
import { temporaryHome } from "./temporary-home.ts";

const temporary = temporaryHome();
afterEach(() => temporary.dispose());

describe("with lines or encoded entries in its rows", () => {
  test("a journal reads the same, from any position and at any length", async () => {
    const store = await temporary.open();
    const append = fc.record({ count: fc.integer({ min: 1, max: 4 }), asLines: fc.boolean(), isLazy: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(append, { maxLength: 6 }), async (appends) => {
        const { runId, writes } = runOfItsOwn();
        const journal = new SampleJournal(runId);
        await store.commit(writes, "barrier");
        const written = appends.map(({ count, asLines, isLazy }) =>
          store.commit([asLines ? journal.appendLines(count) : journal.append(count)], isLazy ? "lazy" : "barrier"),
        );
        await store.commit([], "barrier");
        await Promise.all(written);
        const { lines } = journal;
        for (let after = 0; after <= lines.length; after += 1) {
          for (const limit of [0, 1, 2, 5, 50]) {
            expect(await store.readEntries(runId, after, limit)).toEqual(lines.slice(after, after + limit));
          }
        }
      }),
      { numRuns: 30 },
    );
  });

  test("an append repeated in the other form is recognised", async () => {
    const store = await temporary.open();
    const { runId, writes } = runOfItsOwn();
    const journal = new SampleJournal(runId);
    await store.commit(writes, "barrier");
    const kept = journal.append(2);
    await store.commit([kept], "barrier");
    const lines = journal.appendLines(2);
    await store.commit([lines], "barrier");
    for (const repeated of [kept, { ...kept, takeEncoded: undefined as never }, lines]) {
      await store.commit([repeated], "barrier");
    }
    expect(await store.readEntries(runId, 0, 10)).toEqual(journal.lines);
  });
});

describe("with damaged rows", () => {
  /** A real journal, of which each entry is a row of its own. */
  async function homeWithRun(form: "kept" | "lines"): Promise<{ readonly runId: RunId; readonly store: Store }> {
    const contract = canonicalWire(CONTRACT);
    const { runId, writes } = runOfItsOwn({ contractHash: CONTRACT.contractHash, contract });
    const store = await temporary.open();
    await store.commit(writes, "barrier");
    const entries = chainOf(SMALL_JOURNAL, runId);
    for (const entry of entries) {
      const after = { seq: entry.seq - 1, hash: entry.prev };
      const append = { type: "append-entries", runId, epoch: 0, after, head: entry.hash, bodies: [] } as const;
      const lines = [toLine(entry)];
      const withKept = { ...append, lines, takeEncoded: () => [keptOf(entry)] };
      await store.commit([form === "kept" ? withKept : { ...append, lines }], "barrier");
    }
    return { runId, store };
  }

  function keptOf(entry: Entry): string {
    return writeEntry(entry.prev, { ...entry, frame: entry } as never).encoded;
  }

  async function firstBad(store: Store, runId: RunId): Promise<number | null> {
    const lines = await store.readEntries(runId, 0, 100);
    const verified = verifyJournal(lines.map((line) => `${line}\n`).join(""), { contractHash: CONTRACT.contractHash });
    return verified.ok ? null : verified.entry;
  }

  function rowsOf(): { readonly db: DatabaseSync; readonly texts: readonly string[] } {
    const db = new DatabaseSync(databaseFile(temporary.home));
    return {
      db,
      texts: db
        .prepare("SELECT lines FROM appends ORDER BY place")
        .all()
        .map((row) => String(row["lines"])),
    };
  }

  for (const form of ["kept", "lines"] as const) {
    verifies("M-P5.1", `${form}: a character that was changed is found in its entry, and reading goes on`, async () => {
      const { runId, store } = await homeWithRun(form);
      const { db, texts } = rowsOf();
      const put = db.prepare("UPDATE appends SET lines = ? WHERE position = ?");
      for (const [index, text] of texts.entries()) {
        for (let at = 0; at < text.length; at += form === "kept" ? 3 : 7) {
          for (const character of ["{", "\n", "\t", "Z", '"']) {
            const changed = text.slice(0, at) + character + text.slice(at + 1);
            if (changed === text) continue;
            put.run(changed, index + 1);
            expect([at, character, await firstBad(store, runId)]).toEqual([at, character, index + 1]);
            expect(await store.headOf(runId)).toMatchObject({ seq: texts.length });
          }
        }
        put.run(text, index + 1);
      }
      expect(await firstBad(store, runId)).toBeNull();
      db.close();
    });
  }

  test.each([
    ["lost", "DELETE FROM appends WHERE position = 2", 2],
    ["moved on", "UPDATE appends SET place = place + 1 WHERE position = (SELECT max(position) FROM appends)", "last"],
    ["with a line before its first", "UPDATE appends SET lines = char(10) || lines WHERE position = 1", 1],
    ["empty", "UPDATE appends SET lines = '' WHERE position = 2", 2],
    ["with an unreadable contract", "UPDATE runs SET contract = 'null'", 1],
    ["with no contract", "UPDATE runs SET contract = ''", 1],
  ])("a row that is %s is named", async (_, sql, entry) => {
    const { runId, store } = await homeWithRun("kept");
    const { db, texts } = rowsOf();
    db.exec(sql);
    db.close();
    expect(await firstBad(store, runId)).toBe(entry === "last" ? texts.length : entry);
  });
});
