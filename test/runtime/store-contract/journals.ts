/** The store's contract: journals and bodies. */
import { describe, expect, test } from "vitest";
import { hashOf, newBody, SampleJournal } from "../store-samples.ts";
import { expectRefused, type StoreFixture } from "./store-fixture.ts";

export function describeJournals(fixture: StoreFixture): void {
  const { barrier, insertRun } = fixture;
  describe("journals", () => {
    test("lines are read in order, page by page, however they were appended", async () => {
      const { runId, journal } = await insertRun();
      for (const count of [1, 5, 2, 1, 7]) await barrier(journal.append(count));
      expect(await fixture.store.readEntries(runId, 0, 100)).toEqual(journal.lines);
      for (const after of [0, 1, 3, 5, 6, 15, 16, 99]) {
        for (const limit of [0, 1, 3, 4, 50]) {
          expect(await fixture.store.readEntries(runId, after, limit)).toEqual(
            journal.lines.slice(after, after + limit),
          );
        }
      }
      expect(await fixture.store.headOf(runId)).toEqual(journal.head);
    });

    test("an append that does not continue the head is fenced and leaves nothing behind", async () => {
      const { runId, journal } = await insertRun();
      await barrier(journal.append(2));
      const rival = new SampleJournal(runId);
      await expectRefused(barrier(rival.append(1)), "store.fenced");
      await expectRefused(barrier(rival.append(1)), "store.fenced");
      await expectRefused(barrier(rival.append(1)), "store.fenced");
      const ahead = { ...journal.append(1), after: { seq: 7, hash: journal.head.hash } };
      await expectRefused(barrier(ahead), "store.fenced");
      expect(await fixture.store.readEntries(runId, 0, 10)).toEqual(journal.lines.slice(0, 2));
    });

    test("the first append must continue the genesis hash", async () => {
      const { runId, journal } = await insertRun();
      const elsewhere = { ...journal.append(1), after: { seq: 0, hash: hashOf("another contract") } };
      await expectRefused(barrier(elsewhere), "store.fenced");
      expect(await fixture.store.headOf(runId)).toBeNull();
    });

    test("a repeated append succeeds and changes nothing, also after later appends", async () => {
      const { runId, journal } = await insertRun();
      const first = journal.append(3);
      await barrier(first);
      await barrier(first);
      await barrier(journal.append(2));
      await barrier(first);
      expect(await fixture.store.readEntries(runId, 0, 100)).toEqual(journal.lines);
      const longer = { ...first, lines: [...first.lines, "{}"], head: hashOf("x") };
      await expectRefused(barrier(longer), "store.fenced");
    });

    test("a claim fences the previous writer, repeats included", async () => {
      const { runId, journal } = await insertRun();
      const before = journal.append(1);
      await barrier(before);
      await barrier({ type: "claim-run", runId, epoch: 1 });
      await expectRefused(barrier(before), "store.fenced");
      await expectRefused(barrier({ type: "claim-run", runId, epoch: 1 }), "store.fenced");
      await expectRefused(barrier({ type: "claim-run", runId, epoch: 0 }), "store.fenced");
      const written = journal.lines.length;
      await expectRefused(barrier(new SampleJournal(runId).append(1, 2)), "store.fenced");
      await barrier(journal.append(1, 1));
      expect((await fixture.store.readEntries(runId, 0, 10)).length).toBe(written + 1);
      expect((await fixture.store.findRun(runId))?.epoch).toBe(1);
    });

    test("of two writers on one head, one wins", async () => {
      const { runId, journal } = await insertRun();
      const rival = new SampleJournal(runId);
      const ended = await Promise.allSettled([barrier(journal.append(2)), barrier(rival.append(2))]);
      expect(ended.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
      expect(await fixture.store.readEntries(runId, 0, 10)).toEqual(journal.lines);
    });
  });

  describe("bodies", () => {
    test("bodies are read by ref, byte for byte; missing ones are left out", async () => {
      const { sessionId } = await insertRun();
      const bodies = ["", "plain", "zero\u0000inside", "emoji 🜁 and ü", "x".repeat(300_000)].map(newBody);
      await barrier({ type: "put-bodies", sessionId, bodies });
      const missing = newBody("never written");
      const refs = [...bodies, missing].map(({ ref }) => ref);
      const found = await fixture.store.readBodies(sessionId, refs, null);
      expect([...found]).toEqual(bodies.map(({ ref, salt, text }) => [ref, { salt, text }]));
    });

    test("putting an existing body changes nothing", async () => {
      const { sessionId } = await insertRun();
      const body = newBody("first");
      await barrier({ type: "put-bodies", sessionId, bodies: [body] });
      await barrier({ type: "put-bodies", sessionId, bodies: [{ ...body, text: "second" }] });
      expect((await fixture.store.readBodies(sessionId, [body.ref], null)).get(body.ref)?.text).toBe("first");
    });

    test("bodies that came with entries are found through their run, beside those of its session", async () => {
      const { runId, sessionId } = await insertRun();
      const other = await insertRun();
      const journal = new SampleJournal(runId);
      const [early, late, put] = [newBody("early"), newBody("late \n and \u0000"), newBody("put")];
      await barrier({ ...journal.append(2), bodies: [early] });
      await barrier(journal.append(1), { type: "put-bodies", sessionId, bodies: [put] });
      await barrier({ ...journal.append(1), bodies: [late] });
      const refs = [late, newBody("never written"), put, early].map(({ ref }) => ref);
      const found = await fixture.store.readBodies(sessionId, refs, runId);
      expect(found).toEqual(new Map([early, late, put].map(({ ref, salt, text }) => [ref, { salt, text }])));
      expect([...(await fixture.store.readBodies(sessionId, refs, null)).keys()]).toEqual([put.ref]);
      expect((await fixture.store.readBodies(other.sessionId, refs, other.runId)).size).toBe(0);
      const upToThree = await fixture.store.readBodies(sessionId, refs, runId, 3);
      expect([...upToThree.keys()].sort()).toEqual([early.ref, put.ref].sort());
      // The row of the first entry holds the second too, with the bodies of both.
      expect((await fixture.store.readBodies(sessionId, refs, runId, 1)).has(early.ref)).toBe(true);
    });

    test("bodies belong to one session", async () => {
      const { sessionId } = await insertRun();
      const other = await insertRun();
      const body = newBody("mine");
      await barrier({ type: "put-bodies", sessionId, bodies: [body] });
      expect((await fixture.store.readBodies(other.sessionId, [body.ref], null)).size).toBe(0);
    });
  });
}
