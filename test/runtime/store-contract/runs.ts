/** The store's contract: sessions, runs and their lists. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { asApprovalId, asRunId, asSessionId, type RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import {
  RUN_STATUSES,
  type RunFilter,
  type RunStatus,
  type Store,
  type Write,
} from "../../../src/runtime/ports/store.ts";
import {
  ENDED_AT,
  ENDING,
  fresh,
  hashOf,
  newBody,
  newRun,
  newSession,
  runOfItsOwn,
  SampleJournal,
  sealed,
} from "../store-samples.ts";
import { expectRefused, type StoreFixture } from "./store-fixture.ts";

export function describeRuns(fixture: StoreFixture): void {
  const { barrier, insertRun } = fixture;
  describe("runs", () => {
    test("a run is found as it was inserted: by id, by key, by message", async () => {
      const key = fresh("key");
      const message = fresh("msg");
      const { runId, sessionId } = await insertRun({ key, message, parentRunId: asRunId("run_parent") });
      const found = await fixture.store.findRun(runId);
      expect(found).toEqual({
        ...newRun(runId, sessionId, { parentRunId: asRunId("run_parent") }).run,
        position: expect.any(Number),
        status: "queued",
        epoch: 0,
        outcome: null,
        reason: null,
        answerRef: null,
        endedAt: null,
        ended: null,
        cancelledBy: null,
      });
      expect(await fixture.store.findRunByKey(hashOf(key))).toEqual({
        run: found,
        requestHash: hashOf(`request ${key}`),
      });
      expect(await fixture.store.findRunByMessage("telegram", message)).toEqual(found);
      expect(await fixture.store.findRunIds(runId.slice(0, -1), 500)).toContain(runId);
      expect(await fixture.store.findRunIds(`${runId}0`, 500)).toEqual([]);
      expect(await fixture.store.firstRunOf(sessionId)).toEqual(found);
      expect(await fixture.store.hasSession(sessionId)).toBe(true);
    });

    test("unknown ids find nothing", async () => {
      expect(await fixture.store.findRun(asRunId("run_none"))).toBeNull();
      expect(await fixture.store.findRunByKey(hashOf("none"))).toBeNull();
      expect(await fixture.store.findRunByMessage("telegram", "none")).toBeNull();
      expect(await fixture.store.firstRunOf(asSessionId("session_none"))).toBeNull();
      expect(await fixture.store.hasSession(asSessionId("ses_none"))).toBe(false);
      expect(await fixture.store.readEntries(asRunId("run_none"), 0, 10)).toEqual([]);
      expect(await fixture.store.headOf(asRunId("run_none"))).toBeNull();
      expect(await fixture.store.findApproval(asApprovalId("apr_none"))).toBeNull();
      expect(await fixture.store.approvalsOf(asRunId("run_none"))).toEqual([]);
    });

    test.each([
      ["id", "run", "key", "msg"],
      ["idempotency key", "key", "msg", "run"],
      ["inbound message", "msg", "run", "key"],
    ])("the same %s a second time is a conflict, also when both arrive at once", async (_, ...names) => {
      const [same] = names;
      const id = fresh("run");
      const key = fresh("key");
      const message = fresh("msg");
      const sessionId = asSessionId(fresh("ses"));
      await barrier(newSession(sessionId));
      const attempts = [1, 2, 3].map(() =>
        barrier(
          newRun(asRunId(same === "run" ? id : fresh("run")), sessionId, {
            key: same === "key" ? key : fresh("key"),
            message: same === "msg" ? message : fresh("msg"),
          }),
        ),
      );
      const ended = await Promise.allSettled(attempts);
      expect(ended.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
      await expectRefused(attempts[1], "store.conflict");
    });

    test("positions grow in the order of insertion", async () => {
      const runs = await Promise.all([insertRun(), insertRun(), insertRun()]);
      const positions = await Promise.all(
        runs.map(async ({ runId }) => (await fixture.store.findRun(runId))?.position ?? 0),
      );
      expect(positions).toEqual([...positions].sort((a, b) => a - b));
      expect(new Set(positions).size).toBe(3);
    });

    test("inserting an existing session changes nothing", async () => {
      const { sessionId } = await insertRun();
      await barrier(newSession(sessionId));
      expect(await fixture.store.hasSession(sessionId)).toBe(true);
    });

    test("an unknown run can be neither claimed, changed nor appended to", async () => {
      const runId = asRunId("run_none");
      const journal = new SampleJournal(runId);
      await expectRefused(barrier({ type: "claim-run", runId, epoch: 1 }), "store.conflict");
      await expectRefused(barrier({ type: "set-status", runId, status: "running" }), "store.conflict");
      await expectRefused(barrier(journal.append(1)), "store.conflict");
      await expectRefused(barrier(newRun(asRunId(fresh("run")), asSessionId("ses_none"))), "store.conflict");
    });

    test("a cancellation is recorded once, and never for an ended run", async () => {
      const { runId } = await insertRun();
      await barrier({ type: "request-cancel", runId, by: "anna" });
      await barrier({ type: "request-cancel", runId, by: "bert" });
      expect((await fixture.store.findRun(runId))?.cancelledBy).toBe("anna");

      const { runId: ended } = await insertRun();
      await barrier(sealed(ended, "COMPLETED_CHAT_ONLY"));
      await barrier({ type: "request-cancel", runId: ended, by: "anna" });
      expect((await fixture.store.findRun(ended))?.cancelledBy).toBeNull();
    });

    test("an ended run keeps its outcome and status", async () => {
      const { runId } = await insertRun();
      const answer = newBody("the answer");
      const seal = { ...sealed(runId, "FAILED_TIMEOUT"), reason: "step", answerRef: answer.ref } as const;
      await barrier(seal);
      const found = await fixture.store.findRun(runId);
      expect(found).toMatchObject({
        status: "failed",
        outcome: "FAILED_TIMEOUT",
        reason: "step",
        answerRef: answer.ref,
        endedAt: ENDED_AT,
        ended: ENDING,
      });
      expect((await fixture.store.listRuns({ limit: 1, offset: 0 })).runs).toEqual([found]);
      await barrier(seal);
      await expectRefused(barrier(sealed(runId, "INTERRUPTED")), "store.conflict");
      await expectRefused(barrier({ type: "set-status", runId, status: "running" }), "store.conflict");
      expect(await fixture.store.findRun(runId)).toEqual(found);
    });
  });

  describe("lists", () => {
    test("lists show every status, newest first, with correct totals", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.constantFrom(...RUN_STATUSES), { maxLength: 12 }), async (statuses) => {
          const before = await totals(fixture.store);
          const runs = statuses.map((status) => ({ status, ...runOfItsOwn() }));
          await barrier(...runs.flatMap(({ writes }) => writes));
          await Promise.all(runs.map(({ runId, status }) => barrier(...changesTo(runId, status))));
          for (const status of [undefined, ...RUN_STATUSES]) {
            const expected = runs.filter((run) => status === undefined || run.status === status).reverse();
            const filter = status === undefined ? {} : { status };
            const { runs: found, total } = await fixture.store.listRuns({
              ...filter,
              limit: expected.length,
              offset: 0,
            });
            expect(found.map(({ runId }) => runId)).toEqual(expected.map(({ runId }) => runId));
            expect(total).toBe((before.get(status) ?? 0) + expected.length);
          }
        }),
        { numRuns: 12 },
      );
    });

    test("lists show what fits every filter: agent, session, text of the message or the id, status", async () => {
      const word = fresh("Überweisung_50%");
      const agentId = fresh("agent");
      const insert = async (text: string, accepted?: string) => {
        const body = newBody(text);
        const event = { messageRef: body.ref };
        const run = await insertRun({ agentId, accepted: accepted ?? JSON.stringify({ event }) });
        await barrier({ type: "put-bodies", sessionId: run.sessionId, bodies: [body] });
        return run;
      };
      const one = await insert(`pay the ${word} today`);
      const other = await insert("the weather today");
      const damaged = await insert(`a ${word} that no run names`, "{damaged");
      await barrier(...changesTo(one.runId, "failed"));
      const list = async (filter: RunFilter) => {
        const { runs, total } = await fixture.store.listRuns({ ...filter, limit: 10, offset: 0 });
        expect(total).toBe(runs.length);
        return runs.map(({ runId }) => runId);
      };
      expect(await list({ agentId })).toEqual([damaged.runId, other.runId, one.runId]);
      expect(await list({ agentId, text: "TODAY" })).toEqual([other.runId, one.runId]);
      expect(await list({ text: word })).toEqual([one.runId]);
      expect(await list({ text: word.replace("_", "x") })).toEqual([]);
      expect(await list({ text: other.runId.slice(2) })).toEqual([other.runId]);
      expect(await list({ sessionId: other.sessionId })).toEqual([other.runId]);
      expect(await list({ agentId, status: "failed" })).toEqual([one.runId]);
      expect(await list({ sessionId: asSessionId("ses_none") })).toEqual([]);
      const page = await fixture.store.listRuns({ agentId, limit: 1, offset: 1 });
      expect(page).toMatchObject({ total: 3, runs: [{ runId: other.runId }] });
    });

    test("lists are paged, and a page past the end is empty", async () => {
      const inserted: RunId[] = [];
      for (let index = 0; index < 5; index += 1) inserted.push((await insertRun()).runId);
      const page = async (limit: number, offset: number) =>
        (await fixture.store.listRuns({ limit, offset })).runs.map(({ runId }) => runId);
      expect(await page(5, 0)).toEqual([...inserted].reverse());
      expect([...(await page(2, 0)), ...(await page(2, 2)), ...(await page(1, 4))]).toEqual([...inserted].reverse());
      const { runs, total } = await fixture.store.listRuns({ limit: 5, offset: 1_000_000 });
      expect(runs).toEqual([]);
      expect(total).toBeGreaterThanOrEqual(5);
    });

    test("open runs are listed in order of position, without ended ones", async () => {
      const all = [await insertRun(), await insertRun(), await insertRun(), await insertRun()].map(
        ({ runId }) => runId,
      );
      await barrier(sealed(all[1] ?? asRunId(""), "COMPLETED_CHAT_ONLY"));
      await barrier({ type: "set-status", runId: all[2] ?? asRunId(""), status: "waiting_approval" });
      const start = ((await fixture.store.findRun(all[0] ?? asRunId("")))?.position ?? 0) - 1;
      const open = await fixture.store.openRuns(start, 10);
      expect(open.map(({ runId }) => runId)).toEqual([all[0], all[2], all[3]]);
      const second = await fixture.store.openRuns(open[0]?.position ?? 0, 1);
      expect(second.map(({ runId }) => runId)).toEqual([all[2]]);
    });

    test("all runs are listed in order of position, ended ones too", async () => {
      const all = [await insertRun(), await insertRun(), await insertRun()].map(({ runId }) => runId);
      await barrier(sealed(all[1] ?? asRunId(""), "COMPLETED_CHAT_ONLY"));
      const start = ((await fixture.store.findRun(all[0] ?? asRunId("")))?.position ?? 0) - 1;
      const page = await fixture.store.runsAfter(start, 2);
      expect(page.map(({ runId }) => runId)).toEqual(all.slice(0, 2));
      const rest = await fixture.store.runsAfter(page[1]?.position ?? 0, 10);
      expect(rest.map(({ runId }) => runId)).toEqual(all.slice(2));
    });

    test("a session lists its last ended runs, oldest first", async () => {
      const { sessionId, runId: first } = await insertRun();
      const later = [1, 2, 3].map(() => asRunId(fresh("run")));
      await barrier(...later.map((runId) => newRun(runId, sessionId)));
      await barrier(...[first, ...later.slice(0, 2)].map((runId) => sealed(runId, "COMPLETED_CHAT_ONLY")));
      const ids = async (limit: number) =>
        (await fixture.store.sessionRuns(sessionId, ALL, limit)).map(({ runId }) => runId);
      expect(await ids(10)).toEqual([first, later[0], later[1]]);
      expect(await ids(2)).toEqual([later[0], later[1]]);
      expect(await fixture.store.sessionRuns(asSessionId("ses_none"), ALL, 5)).toEqual([]);
    });
  });
}

const ALL = { after: 0, before: Number.MAX_SAFE_INTEGER };

async function totals(store: Store): Promise<ReadonlyMap<RunStatus | undefined, number>> {
  const found = new Map<RunStatus | undefined, number>();
  for (const status of [undefined, ...RUN_STATUSES]) {
    const filter = status === undefined ? {} : { status };
    found.set(status, (await store.listRuns({ ...filter, limit: 0, offset: 0 })).total);
  }
  return found;
}

function changesTo(runId: RunId, status: RunStatus): readonly Write[] {
  switch (status) {
    case "queued":
      return [];
    case "running":
    case "waiting_approval":
      return [{ type: "set-status", runId, status }];
    case "completed":
      return [{ type: "set-status", runId, status: "running" }, sealed(runId, "COMPLETED_CHAT_ONLY")];
    case "failed":
      return [sealed(runId, "FAILED_TIMEOUT")];
    case "cancelled":
      return [sealed(runId, "INTERRUPTED")];
  }
}
