/** The store's contract: the ledger. */
import { describe, expect, test } from "vitest";
import { toLedgerLine, verifyLedger } from "../../../src/kernel/journal/ledger.ts";
import { asRunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { created, SampleJournal, sealed } from "../store-samples.ts";
import { type StoreFixture, wholeLedger } from "./store-fixture.ts";

export function describeLedger(fixture: StoreFixture): void {
  const { barrier, insertRun } = fixture;
  describe("ledger", () => {
    test("the ledger is one chain in the order of commits, without refused ones", async () => {
      const before = await fixture.store.ledgerHead();
      const { runId } = await insertRun();
      const names = Array.from({ length: 12 }, (_, index) => asRunId(`run_ledger_${index}`));
      const commits = names.map((name, index) =>
        barrier(created(name), ...(index % 4 === 3 ? [new SampleJournal(runId).append(1, 9)] : [])),
      );
      await Promise.allSettled(commits);
      const kept = names.filter((_, index) => index % 4 !== 3);
      const all = await fixture.store.readLedger(before.seq, 100);
      const entries = all.filter(({ kind }) => kind !== "row.recorded");
      expect(entries.map(({ data }) => ("runId" in data ? data.runId : null))).toEqual(kept);
      const whole = await wholeLedger(fixture.store);
      const verified = verifyLedger(whole.map((entry) => `${toLedgerLine(entry)}\n`).join(""), {
        homeId: fixture.store.homeId,
      });
      expect(verified).toMatchObject({ ok: true, length: whole.length });
      expect(await fixture.store.ledgerHead()).toEqual({ seq: whole.length, hash: whole.at(-1)?.hash });
    });

    test("the home's state is the ledger's head and the head of each run that has not ended", async () => {
      const [waits, works, ended] = [await insertRun(), await insertRun(), await insertRun()];
      await barrier(works.journal.append(2), sealed(ended.runId, "INTERRUPTED"), created(ended.runId));
      const { ledgerSeq, ledgerHead, openRuns } = await fixture.store.homeState();
      expect({ seq: ledgerSeq, hash: ledgerHead }).toEqual(await fixture.store.ledgerHead());
      const stated = new Map(openRuns.map(({ runId, seq, head }) => [runId, { seq, hash: head }]));
      expect(stated.get(waits.runId)).toEqual(waits.journal.head);
      expect(stated.get(works.runId)).toEqual(works.journal.head);
      expect(stated.has(ended.runId)).toBe(false);
    });

    test("the ledger is paged by seq", async () => {
      await barrier(...[1, 2, 3, 4].map((index) => created(asRunId(`run_page_${index}`))));
      const whole = await wholeLedger(fixture.store);
      expect(await fixture.store.readLedger(whole.length - 3, 2)).toEqual(whole.slice(-3, -1));
      expect(await fixture.store.readLedger(whole.length, 2)).toEqual([]);
    });
  });
}
