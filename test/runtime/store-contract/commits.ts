/** The store's contract: commits and closing: order, atomicity, durability. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toLedgerLine, verifyLedger } from "../../../src/kernel/journal/ledger.ts";
import { asApprovalId, asRunId, type asSessionId, type RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { type Store, StoreError, type Write } from "../../../src/runtime/ports/store.ts";
import {
  budgetScope,
  created,
  decides,
  fresh,
  hashOf,
  newApproval,
  newBody,
  newRun,
  runOfItsOwn,
  SampleJournal,
} from "../store-samples.ts";
import { expectRefused, type StoreFixture, wholeLedger } from "./store-fixture.ts";

export function describeCommits(fixture: StoreFixture): void {
  const { barrier, insertRun } = fixture;
  describe("commits", () => {
    test("the writes of one commit take effect together or not at all, whatever shares its transaction", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(anyCommit, { minLength: 1, maxLength: 25 }), async (plans) => {
          const taken = await insertRun({ key: fresh("key") });
          const commits = plans.map((plan) => prepareCommit(plan, taken.runId));
          const ended = await Promise.allSettled(
            commits.map(({ writes, plan }) => fixture.store.commit(writes, plan.urgency)),
          );
          for (const [index, { plan, traces }] of commits.entries()) {
            const outcome = ended[index];
            expect(outcome?.status).toBe(plan.fault === null ? "fulfilled" : "rejected");
            if (outcome?.status === "rejected") expect(outcome.reason).toBeInstanceOf(StoreError);
            expect(await countTraces(fixture.store, traces)).toBe(plan.fault === null ? 4 : 0);
          }
        }),
        { numRuns: 20 },
      );
    });

    test("commits take effect in the order in which they were given, lazy or not", async () => {
      const { runId, journal } = await insertRun();
      const urgencies = ["lazy", "barrier", "lazy", "lazy", "barrier", "barrier", "lazy", "barrier"] as const;
      // Each stands on the head of the one before: out of order, one of them would be fenced.
      await Promise.all(urgencies.map((urgency) => fixture.store.commit([journal.append(2)], urgency)));
      expect(await fixture.store.readEntries(runId, 0, 100)).toEqual(journal.lines);
    });

    test("commits are acknowledged in that order, whatever their results", async () => {
      const { runId } = await insertRun();
      const scopes = [budgetScope(fresh("scope"), 10)];
      const reserve = (attempt: number): Write => {
        return { type: "reserve-spend", runId, epoch: 0, attempt, amount: { microusd: 1, tokens: 1 }, scopes };
      };
      const acknowledged: number[] = [];
      const commits = [
        fixture.store.commit([created(runId)], "lazy"),
        fixture.store.commit([reserve(1)], "lazy"),
        fixture.store.commit([created(runId)], "lazy"),
        fixture.store.commit([{ type: "claim-run", runId, epoch: 0 }], "lazy"),
        fixture.store.commit([created(runId)], "barrier"),
        fixture.store.commit([reserve(2)], "barrier"),
      ];
      const noted = commits.map((commit, index) => commit.catch(() => {}).then(() => acknowledged.push(index)));
      await Promise.all(noted);
      expect(acknowledged).toEqual(commits.map((_, index) => index));
    });

    test("a barrier also flushes earlier lazy commits", async () => {
      const { runId, journal } = await insertRun();
      const lazily = fixture.store.commit([journal.append(1)], "lazy");
      await barrier();
      expect(await fixture.store.readEntries(runId, 0, 10)).toEqual(journal.lines);
      await lazily;
    });

    test("a lazy commit becomes durable without a barrier", async () => {
      const { runId, journal } = await insertRun();
      await fixture.store.commit([journal.append(1)], "lazy");
      expect(await fixture.store.headOf(runId)).toEqual(journal.head);
    });

    test("a commit without a reservation returns spend: null", async () => {
      expect(await barrier()).toEqual({ spend: null });
    });
  });

  describe("closing", () => {
    test("closing flushes; a closed store refuses everything, a reopened one has everything", async () => {
      const { runId, sessionId, journal } = await insertRun();
      const body = newBody("kept");
      const approval = newApproval(runId, sessionId);
      await barrier(journal.append(3), { type: "put-bodies", sessionId, bodies: [body] });
      await barrier({ type: "insert-approval", approval }, { type: "claim-run", runId, epoch: 4 }, created(runId));
      const lazily = fixture.store.commit([journal.append(2, 4)], "lazy");
      const { homeId } = fixture.store;
      const head = await fixture.store.ledgerHead();
      const old = fixture.store;
      await fixture.reopen();
      await lazily;

      await expectRefused(old.commit([], "barrier"), "store.closed");
      await expectRefused(old.findRun(runId), "store.closed");
      await expectRefused(old.listRuns({ limit: 1, offset: 0 }), "store.closed");

      expect(fixture.store.homeId).toBe(homeId);
      expect(await fixture.store.ledgerHead()).toEqual(head);
      expect(await fixture.store.readEntries(runId, 0, 10)).toEqual(journal.lines);
      expect((await fixture.store.readBodies(sessionId, [body.ref], null)).get(body.ref)?.text).toBe("kept");
      expect(await fixture.store.findApproval(approval.id)).toEqual(approval);
      await expectRefused(barrier(journal.append(1, 3)), "store.fenced");
    });

    test("a new writer continues where the last one stopped", async () => {
      const { runId, journal } = await insertRun();
      await barrier(journal.append(3), created(runId));
      await fixture.reopen();
      await barrier(journal.append(2), created(runId));
      expect(await fixture.store.readEntries(runId, 0, 10)).toEqual(journal.lines);
      const whole = await wholeLedger(fixture.store);
      const file = whole.map((entry) => `${toLedgerLine(entry)}\n`).join("");
      expect(verifyLedger(file, { homeId: fixture.store.homeId })).toMatchObject({ ok: true });
    });
  });
}

type Fault = "stale head" | "wrong epoch" | "taken id" | "no such run" | "decided twice" | "not consumable";
interface CommitPlan {
  readonly urgency: "barrier" | "lazy";
  readonly fault: Fault | null;
  /** Before which of the good writes the fault stands. */
  readonly at: number;
}

const anyCommit: fc.Arbitrary<CommitPlan> = fc.record({
  urgency: fc.constantFrom("barrier" as const, "lazy" as const),
  fault: fc.option(
    fc.constantFrom<Fault>("stale head", "wrong epoch", "taken id", "no such run", "decided twice", "not consumable"),
  ),
  at: fc.nat({ max: 6 }),
});

/** One good commit of many kinds of writes, with a bad write in the middle of it where the plan says so. */
function prepareCommit(plan: CommitPlan, taken: RunId) {
  const { runId, sessionId, writes } = runOfItsOwn();
  const journal = new SampleJournal(runId);
  const body = newBody("trace");
  const good: readonly Write[] = [
    ...writes,
    journal.append(2),
    { type: "put-bodies", sessionId, bodies: [body] },
    created(runId),
    { type: "set-status", runId, status: "running" },
  ];
  const bad = plan.fault === null ? [] : [faultyWrite(plan.fault, taken, sessionId)];
  return {
    plan,
    traces: { runId, sessionId, bodyRef: body.ref },
    writes: [...good.slice(0, plan.at), ...bad, ...good.slice(plan.at)],
  };
}

function faultyWrite(fault: Fault, taken: RunId, sessionId: ReturnType<typeof asSessionId>): Write {
  switch (fault) {
    case "stale head":
      return { ...new SampleJournal(taken).append(1), after: { seq: 5, hash: hashOf("nothing") } };
    case "wrong epoch":
      return new SampleJournal(taken).append(1, 7);
    case "taken id":
      return newRun(taken, sessionId);
    case "no such run":
      return { type: "claim-run", runId: asRunId("run_none"), epoch: 1 };
    case "decided twice":
      return decides(newApproval(taken, sessionId), "deny");
    case "not consumable":
      return { type: "consume-approval", id: asApprovalId("apr_none"), planHash: hashOf("plan"), atMs: 1 };
  }
}

/** How many of a commit's four traces are there. */
async function countTraces(
  store: Store,
  { runId, sessionId, bodyRef }: ReturnType<typeof prepareCommit>["traces"],
): Promise<number> {
  const ledger = await wholeLedger(store);
  const traces = [
    (await store.findRun(runId)) !== null,
    (await store.readEntries(runId, 0, 10)).length === 2,
    (await store.readBodies(sessionId, [bodyRef], null)).size === 1,
    ledger.some(({ data }) => "runId" in data && data.runId === runId),
  ];
  return traces.filter(Boolean).length;
}
