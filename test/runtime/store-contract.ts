/**
 * What every store owes the runtime (src/runtime/ports/store.ts): one suite for SQLite and whatever comes after it.
 * It waits for promises only: no clock, no sleep.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type LedgerEntry, startLedger, toLedgerLine, verifyLedger } from "../../src/kernel/journal/ledger.ts";
import { MAX_PENDING_CAPABILITIES } from "../../src/kernel/protocol/checkpoint-state.ts";
import {
  asApprovalId,
  asRunId,
  asSessionId,
  type RunId,
  type SessionId,
} from "../../src/kernel/vocabulary/identifiers.ts";
import {
  type CommitResult,
  RUN_STATUSES,
  type RunStatus,
  type SpendScope,
  type Store,
  type StoredApproval,
  StoreError,
  type StoreErrorCode,
  type Write,
} from "../../src/runtime/ports/store.ts";
import {
  asksFor,
  created,
  ENDED_AT,
  ENDING,
  fresh,
  grants,
  hashOf,
  newApproval,
  newBody,
  newRun,
  newSession,
  purse,
  runOfItsOwn,
  SampleJournal,
  sealed,
  takes,
} from "./store-samples.ts";

export interface OpenedStore {
  readonly store: Store;
  /** Closes it and opens it again. */
  reopen(): Promise<Store>;
  dispose(): Promise<void>;
}

export function describeStoreContract(name: string, open: () => Promise<OpenedStore>): void {
  describe(`${name} keeps the store's contract`, () => {
    let opened: OpenedStore;
    let store: Store;
    beforeAll(async () => {
      opened = await open();
      store = opened.store;
    });
    afterAll(() => opened.dispose());

    const barrier = (...writes: readonly Write[]): Promise<CommitResult> => store.commit(writes, "barrier");

    async function insertRun(also: Parameters<typeof runOfItsOwn>[0] = {}) {
      const { writes, ...ids } = runOfItsOwn(also);
      await barrier(...writes);
      return { ...ids, journal: new SampleJournal(ids.runId) };
    }

    describe("commits", () => {
      test("the writes of one commit take effect together or not at all, whatever shared its transaction", async () => {
        await fc.assert(
          fc.asyncProperty(fc.array(anyCommit, { minLength: 1, maxLength: 25 }), async (plans) => {
            const taken = await insertRun({ key: fresh("key") });
            const commits = plans.map((plan) => prepareCommit(plan, taken.runId));
            const ended = await Promise.allSettled(
              commits.map(({ writes, plan }) => store.commit(writes, plan.urgency)),
            );
            for (const [index, { plan, traces }] of commits.entries()) {
              const outcome = ended[index];
              expect(outcome?.status).toBe(plan.fault === null ? "fulfilled" : "rejected");
              if (outcome?.status === "rejected") expect(outcome.reason).toBeInstanceOf(StoreError);
              expect(await countTraces(store, traces)).toBe(plan.fault === null ? 4 : 0);
            }
          }),
          { numRuns: 20 },
        );
      });

      test("commits take effect in the order in which they were given, lazy or not", async () => {
        const { runId, journal } = await insertRun();
        const urgencies = ["lazy", "barrier", "lazy", "lazy", "barrier", "barrier", "lazy", "barrier"] as const;
        // Each stands on the head of the one before: out of order, one of them would be fenced.
        await Promise.all(urgencies.map((urgency) => store.commit([journal.append(2)], urgency)));
        expect(await store.readEntries(runId, 0, 100)).toEqual(journal.lines);
      });

      test("commits are acknowledged in that order, whatever each of them has to say", async () => {
        const { runId } = await insertRun();
        const scopes = [purse(fresh("scope"), 10)];
        const reserve = (attempt: number): Write => {
          return { type: "reserve-spend", runId, epoch: 0, attempt, amount: { microusd: 1, tokens: 1 }, scopes };
        };
        const acknowledged: number[] = [];
        const commits = [
          store.commit([created(runId)], "lazy"),
          store.commit([reserve(1)], "lazy"),
          store.commit([created(runId)], "lazy"),
          store.commit([{ type: "claim-run", runId, epoch: 0 }], "lazy"),
          store.commit([created(runId)], "barrier"),
          store.commit([reserve(2)], "barrier"),
        ];
        const noted = commits.map((commit, index) => commit.catch(() => {}).then(() => acknowledged.push(index)));
        await Promise.all(noted);
        expect(acknowledged).toEqual(commits.map((_, index) => index));
      });

      test("a barrier takes what was given before it along", async () => {
        const { runId, journal } = await insertRun();
        const lazily = store.commit([journal.append(1)], "lazy");
        await barrier();
        expect(await store.readEntries(runId, 0, 10)).toEqual(journal.lines);
        await lazily;
      });

      test("a lazy commit needs no barrier to become durable", async () => {
        const { runId, journal } = await insertRun();
        await store.commit([journal.append(1)], "lazy");
        expect(await store.headOf(runId)).toEqual(journal.head);
      });

      test("a commit that reserved nothing says so", async () => {
        expect(await barrier()).toEqual({ spend: null });
      });
    });

    describe("runs", () => {
      test("a run is found as it was inserted: by id, by key, by message", async () => {
        const key = fresh("key");
        const message = fresh("msg");
        const { runId, sessionId } = await insertRun({ key, message, parentRunId: asRunId("run_parent") });
        const found = await store.findRun(runId);
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
        expect(await store.findRunByKey(hashOf(key))).toEqual({ run: found, requestHash: hashOf(`request ${key}`) });
        expect(await store.findRunByMessage("telegram", message)).toEqual(found);
        expect(await store.hasSession(sessionId)).toBe(true);
      });

      test("what is not there is not found", async () => {
        expect(await store.findRun(asRunId("run_none"))).toBeNull();
        expect(await store.findRunByKey(hashOf("none"))).toBeNull();
        expect(await store.findRunByMessage("telegram", "none")).toBeNull();
        expect(await store.hasSession(asSessionId("ses_none"))).toBe(false);
        expect(await store.readEntries(asRunId("run_none"), 0, 10)).toEqual([]);
        expect(await store.headOf(asRunId("run_none"))).toBeNull();
        expect(await store.findApproval(asApprovalId("apr_none"))).toBeNull();
        expect(await store.approvalsOf(asRunId("run_none"))).toEqual([]);
      });

      test.each([
        ["id", "run", "key", "msg"],
        ["idempotency key", "key", "msg", "run"],
        ["inbound message", "msg", "run", "key"],
      ])("the same %s a second time is a conflict, also when both are given at once", async (_, ...names) => {
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
        const positions = await Promise.all(runs.map(async ({ runId }) => (await store.findRun(runId))?.position ?? 0));
        expect(positions).toEqual([...positions].sort((a, b) => a - b));
        expect(new Set(positions).size).toBe(3);
      });

      test("a session that is there already is left as it is", async () => {
        const { sessionId } = await insertRun();
        await barrier(newSession(sessionId));
        expect(await store.hasSession(sessionId)).toBe(true);
      });

      test("a run that is not there can be neither claimed, changed nor appended to", async () => {
        const runId = asRunId("run_none");
        const journal = new SampleJournal(runId);
        await expectRefused(barrier({ type: "claim-run", runId, epoch: 1 }), "store.conflict");
        await expectRefused(barrier({ type: "set-status", runId, status: "running" }), "store.conflict");
        await expectRefused(barrier(journal.append(1)), "store.conflict");
        await expectRefused(barrier(newRun(asRunId(fresh("run")), asSessionId("ses_none"))), "store.conflict");
      });

      test("a cancellation is noted once, and of an ended run not at all", async () => {
        const { runId } = await insertRun();
        await barrier({ type: "request-cancel", runId, by: "anna" });
        await barrier({ type: "request-cancel", runId, by: "bert" });
        expect((await store.findRun(runId))?.cancelledBy).toBe("anna");

        const { runId: ended } = await insertRun();
        await barrier(sealed(ended, "COMPLETED_CHAT_ONLY"));
        await barrier({ type: "request-cancel", runId: ended, by: "anna" });
        expect((await store.findRun(ended))?.cancelledBy).toBeNull();
      });

      test("a run that has ended stays as it ended", async () => {
        const { runId } = await insertRun();
        const answer = newBody("the answer");
        const seal = { ...sealed(runId, "FAILED_TIMEOUT"), reason: "step", answerRef: answer.ref } as const;
        await barrier(seal);
        const found = await store.findRun(runId);
        expect(found).toMatchObject({
          status: "failed",
          outcome: "FAILED_TIMEOUT",
          reason: "step",
          answerRef: answer.ref,
          endedAt: ENDED_AT,
          ended: ENDING,
        });
        expect((await store.listRuns({ limit: 1, offset: 0 })).runs).toEqual([found]);
        await barrier(seal);
        await expectRefused(barrier(sealed(runId, "INTERRUPTED")), "store.conflict");
        await expectRefused(barrier({ type: "set-status", runId, status: "running" }), "store.conflict");
        expect(await store.findRun(runId)).toEqual(found);
      });
    });

    describe("journals", () => {
      test("lines come back in order, page by page, however they were appended", async () => {
        const { runId, journal } = await insertRun();
        for (const count of [1, 5, 2, 1, 7]) await barrier(journal.append(count));
        expect(await store.readEntries(runId, 0, 100)).toEqual(journal.lines);
        for (const after of [0, 1, 3, 5, 6, 15, 16, 99]) {
          for (const limit of [0, 1, 3, 4, 50]) {
            expect(await store.readEntries(runId, after, limit)).toEqual(journal.lines.slice(after, after + limit));
          }
        }
        expect(await store.headOf(runId)).toEqual(journal.head);
      });

      test("an append on another head than the last is fenced, and leaves nothing behind", async () => {
        const { runId, journal } = await insertRun();
        await barrier(journal.append(2));
        const rival = new SampleJournal(runId);
        await expectRefused(barrier(rival.append(1)), "store.fenced");
        await expectRefused(barrier(rival.append(1)), "store.fenced");
        await expectRefused(barrier(rival.append(1)), "store.fenced");
        const ahead = { ...journal.append(1), after: { seq: 7, hash: journal.head.hash } };
        await expectRefused(barrier(ahead), "store.fenced");
        expect(await store.readEntries(runId, 0, 10)).toEqual(journal.lines.slice(0, 2));
      });

      test("the first append stands on the chain's beginning", async () => {
        const { runId, journal } = await insertRun();
        const elsewhere = { ...journal.append(1), after: { seq: 0, hash: hashOf("another contract") } };
        await expectRefused(barrier(elsewhere), "store.fenced");
        expect(await store.headOf(runId)).toBeNull();
      });

      test("the same append repeated succeeds and changes nothing, also when the run has gone on", async () => {
        const { runId, journal } = await insertRun();
        const first = journal.append(3);
        await barrier(first);
        await barrier(first);
        await barrier(journal.append(2));
        await barrier(first);
        expect(await store.readEntries(runId, 0, 100)).toEqual(journal.lines);
        const longer = { ...first, lines: [...first.lines, "{}"], head: hashOf("x") };
        await expectRefused(barrier(longer), "store.fenced");
      });

      test("a claim shuts out whoever wrote before, repeats included", async () => {
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
        expect((await store.readEntries(runId, 0, 10)).length).toBe(written + 1);
        expect((await store.findRun(runId))?.epoch).toBe(1);
      });

      test("of two writers that stand on one head, one wins", async () => {
        const { runId, journal } = await insertRun();
        const rival = new SampleJournal(runId);
        const ended = await Promise.allSettled([barrier(journal.append(2)), barrier(rival.append(2))]);
        expect(ended.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
        expect(await store.readEntries(runId, 0, 10)).toEqual(journal.lines);
      });
    });

    describe("bodies", () => {
      test("come back by ref, byte for byte; what is missing is left out", async () => {
        const { sessionId } = await insertRun();
        const bodies = ["", "plain", "zero\u0000inside", "emoji 🜁 and ü", "x".repeat(300_000)].map(newBody);
        await barrier({ type: "put-bodies", sessionId, bodies });
        const missing = newBody("never written");
        const refs = [...bodies, missing].map(({ ref }) => ref);
        const found = await store.readBodies(sessionId, refs, null);
        expect([...found]).toEqual(bodies.map(({ ref, salt, text }) => [ref, { salt, text }]));
      });

      test("one that is there already is left as it is", async () => {
        const { sessionId } = await insertRun();
        const body = newBody("first");
        await barrier({ type: "put-bodies", sessionId, bodies: [body] });
        await barrier({ type: "put-bodies", sessionId, bodies: [{ ...body, text: "second" }] });
        expect((await store.readBodies(sessionId, [body.ref], null)).get(body.ref)?.text).toBe("first");
      });

      test("that came with entries are found through their run, beside those of its session", async () => {
        const { runId, sessionId } = await insertRun();
        const other = await insertRun();
        const journal = new SampleJournal(runId);
        const [early, late, put] = [newBody("early"), newBody("late \n and \u0000"), newBody("put")];
        await barrier({ ...journal.append(2), bodies: [early] });
        await barrier(journal.append(1), { type: "put-bodies", sessionId, bodies: [put] });
        await barrier({ ...journal.append(1), bodies: [late] });
        const refs = [late, newBody("never written"), put, early].map(({ ref }) => ref);
        const found = await store.readBodies(sessionId, refs, runId);
        expect(found).toEqual(new Map([early, late, put].map(({ ref, salt, text }) => [ref, { salt, text }])));
        expect([...(await store.readBodies(sessionId, refs, null)).keys()]).toEqual([put.ref]);
        expect((await store.readBodies(other.sessionId, refs, other.runId)).size).toBe(0);
      });

      test("are a session's own", async () => {
        const { sessionId } = await insertRun();
        const other = await insertRun();
        const body = newBody("mine");
        await barrier({ type: "put-bodies", sessionId, bodies: [body] });
        expect((await store.readBodies(other.sessionId, [body.ref], null)).size).toBe(0);
      });
    });

    describe("send slots", () => {
      const HOUR_MS = 3_600_000;
      let day = 0;
      /** Each test has a day of its own: slots are counted over the whole home. */
      const aDay = (): number => {
        day += 1;
        return day * 24 * HOUR_MS;
      };
      const take = (name: string, atMs: number, limit: number): Promise<CommitResult> =>
        barrier({ type: "take-send-slot", id: hashOf(name), atMs, sinceMs: atMs - HOUR_MS, limit });

      test("no more than the limit are taken in an hour, however many ask at once", async () => {
        const atMs = aDay();
        const names = Array.from({ length: 9 }, () => fresh("slot"));
        const taken = await Promise.allSettled(names.map((name) => take(name, atMs, 4)));
        expect(taken.map(({ status }) => status === "fulfilled")).toEqual(names.map((_, index) => index < 4));
        await expectRefused(take(fresh("slot"), atMs + HOUR_MS - 1, 4), "store.conflict");
        await take(fresh("slot"), atMs + HOUR_MS, 4);
      });

      test("one that was taken is not counted again within its hour, and is another one after it", async () => {
        const atMs = aDay();
        const [mine, other] = [fresh("slot"), fresh("slot")];
        await take(mine, atMs, 1);
        await take(mine, atMs + 1, 1);
        await expectRefused(take(other, atMs + 2, 1), "store.conflict");
        // Not moved by being asked for again: its hour is over.
        await take(other, atMs + HOUR_MS, 1);
        await expectRefused(take(mine, atMs + HOUR_MS + 1, 1), "store.conflict");
      });

      test("a limit of nothing, or of no number, refuses; what is refused leaves nothing behind", async () => {
        const atMs = aDay();
        for (const limit of [0, Number.NaN]) await expectRefused(take(fresh("slot"), atMs, limit), "store.conflict");
        await take(fresh("slot"), atMs, 1);
      });

      test("survive reopening", async () => {
        const atMs = aDay();
        await take(fresh("slot"), atMs, 1);
        store = await opened.reopen();
        await expectRefused(take(fresh("slot"), atMs, 1), "store.conflict");
      });
    });

    describe("approvals", () => {
      async function insertApproval(also: Parameters<typeof newApproval>[2] = {}) {
        const { runId, sessionId } = await insertRun();
        const approval = newApproval(runId, sessionId, also);
        await barrier({ type: "insert-approval", approval });
        return approval;
      }
      const decide = (id: string, state: "allowed" | "denied" | "expired", by = "anna"): Promise<CommitResult> =>
        barrier({ type: "decide-approval", id: asApprovalId(id), state, by, atMs: 5 });

      test("come back as they were given; the same one repeated is left as it is", async () => {
        const approval = await insertApproval({ kind: "resolve" });
        await decide(approval.id, "denied");
        await barrier({ type: "insert-approval", approval });
        const decided = { ...approval, state: "denied", decidedBy: "anna", decidedAtMs: 5 };
        expect(await store.findApproval(approval.id)).toEqual(decided);
        expect(await store.approvalsOf(approval.runId)).toEqual([decided]);
        const another = { ...approval, planHash: hashOf("another plan") };
        await expectRefused(barrier({ type: "insert-approval", approval: another }), "store.conflict");
      });

      test("are decided once, by whoever comes first", async () => {
        const { id } = await insertApproval();
        const ended = await Promise.allSettled([
          decide(id, "allowed"),
          decide(id, "denied", "bert"),
          decide(id, "expired"),
        ]);
        expect(ended.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
        expect(await store.findApproval(id)).toMatchObject({ state: "allowed", decidedBy: "anna" });
        await expectRefused(decide("apr_none", "allowed"), "store.conflict");
      });

      test("are used up once, by the plan they were given for, and only when allowed", async () => {
        const { id, planHash, expiresAtMs } = await insertApproval();
        const atMs = expiresAtMs - 1;
        await expectRefused(barrier({ type: "consume-approval", id, planHash, atMs }), "store.conflict");
        await decide(id, "allowed");
        const otherPlan = hashOf("another plan");
        await expectRefused(barrier({ type: "consume-approval", id, planHash: otherPlan, atMs }), "store.conflict");
        await barrier({ type: "consume-approval", id, planHash, atMs });
        expect((await store.findApproval(id))?.state).toBe("consumed");
        await barrier({ type: "consume-approval", id, planHash, atMs });
        await expectRefused(barrier({ type: "consume-approval", id, planHash: otherPlan, atMs }), "store.conflict");
        await expectRefused(decide(id, "denied"), "store.conflict");
      });

      test("one that was denied, or has expired, allows nothing", async () => {
        for (const state of ["denied", "expired"] as const) {
          const { id, planHash } = await insertApproval();
          await decide(id, state);
          await expectRefused(barrier({ type: "consume-approval", id, planHash, atMs: 6 }), "store.conflict");
        }
      });

      test("one that was allowed is of no use from its deadline on; what was used in time stays used", async () => {
        const [late, used] = [await insertApproval(), await insertApproval()];
        const consume = ({ id, planHash }: typeof late, atMs: number) =>
          barrier({ type: "consume-approval", id, planHash, atMs });
        await decide(late.id, "allowed");
        await decide(used.id, "allowed");
        await expectRefused(consume(late, late.expiresAtMs), "store.conflict");
        expect((await store.findApproval(late.id))?.state).toBe("allowed");
        await consume(used, used.expiresAtMs - 1);
        await consume(used, used.expiresAtMs);
        expect((await store.findApproval(used.id))?.state).toBe("consumed");
      });

      test("the pending ones of a run expire with it, and no others; the ledger has nothing to say about that", async () => {
        const { runId, sessionId } = await insertRun();
        const [open, allowed] = [newApproval(runId, sessionId), newApproval(runId, sessionId)];
        await barrier(...[open, allowed].map((approval) => ({ type: "insert-approval", approval }) as const));
        await decide(allowed.id, "allowed");
        const other = await insertApproval();
        const head = await store.ledgerHead();
        await barrier(sealed(runId, "INTERRUPTED"));
        const decidedAtMs = Date.parse(ENDED_AT);
        expect(await store.approvalsOf(runId)).toEqual([
          { ...open, state: "expired", decidedBy: "system", decidedAtMs },
          { ...allowed, state: "allowed", decidedBy: "anna", decidedAtMs: 5 },
        ]);
        expect(await store.findApproval(other.id)).toEqual(other);
        expect(await store.ledgerHead()).toEqual(head);
        await expectRefused(decide(open.id, "allowed"), "store.conflict");
      });

      test("the pending ones are listed, page by page, oldest first", async () => {
        for (const { id } of await store.pendingApprovals({ limit: 1000, offset: 0 })) await decide(id, "denied");
        const approvals: StoredApproval[] = [];
        for (let index = 0; index < 5; index += 1) approvals.push(await insertApproval());
        await decide(approvals[1]?.id ?? "", "allowed");
        const pending = approvals.filter((_, index) => index !== 1);
        expect(await store.pendingApprovals({ limit: 10, offset: 0 })).toEqual(pending);
        expect(await store.pendingApprovals({ limit: 2, offset: 1 })).toEqual(pending.slice(1, 3));
        expect(await store.pendingApprovals({ limit: 2, offset: 4 })).toEqual([]);
      });
    });

    describe("capabilities", () => {
      const standing = async (sessionId: SessionId) =>
        Object.fromEntries((await store.capabilitiesOf(sessionId)).map(({ capability, state }) => [capability, state]));
      const saidOf = async (sessionId: SessionId) =>
        (await wholeLedger(store)).filter(({ data }) => "sessionId" in data && data.sessionId === sessionId);

      test("are what was last said of each, by name, with who, when and until when", async () => {
        const { sessionId, runId } = await insertRun();
        const expiresAt = "2026-11-16T00:00:00.000Z";
        await barrier(asksFor(sessionId, "net:b.example", runId), grants(sessionId, "net:a.example", { expiresAt }));
        const at = "2026-11-15T00:00:00.000Z";
        expect(await store.capabilitiesOf(sessionId)).toEqual([
          { capability: "net:a.example", state: "granted", by: "operator", at, expiresAt, runId: null },
          { capability: "net:b.example", state: "pending", by: "model", at, expiresAt: null, runId },
        ]);
        await barrier(
          takes("capability.denied", sessionId, "net:b.example"),
          takes("capability.revoked", sessionId, "net:a.example"),
        );
        expect(await standing(sessionId)).toEqual({ "net:a.example": "revoked", "net:b.example": "denied" });
        expect((await saidOf(sessionId)).map(({ kind }) => kind)).toEqual([
          "capability.requested",
          "capability.granted",
          "capability.denied",
          "capability.revoked",
        ]);
      });

      test("over all sessions: what is asked for, the longest waiting first, and where each stands", async () => {
        const [one, other] = [await insertRun(), await insertRun()];
        const isOurs = ({ sessionId }: { readonly sessionId: SessionId }) =>
          [one, other].some((run) => run.sessionId === sessionId);
        const PAGE = { limit: 1000, offset: 0 };
        const named = (known: Awaited<ReturnType<Store["allCapabilities"]>>) =>
          known.filter(isOurs).map(({ sessionId, capability, state }) => [sessionId, capability, state]);
        await barrier(asksFor(other.sessionId, "net:z.example", other.runId));
        await barrier(asksFor(one.sessionId, "net", one.runId), asksFor(one.sessionId, "net:b.example", one.runId));
        await barrier(takes("capability.denied", one.sessionId, "net"), grants(other.sessionId, "net"));
        const pending = await store.pendingCapabilities(PAGE);
        expect(named(pending)).toEqual([
          [other.sessionId, "net:z.example", "pending"],
          [one.sessionId, "net:b.example", "pending"],
        ]);
        expect(pending.find(isOurs)).toEqual({
          sessionId: other.sessionId,
          ...(await store.capabilitiesOf(other.sessionId)).find(({ state }) => state === "pending"),
        });
        expect(await store.pendingCapabilities({ limit: 1, offset: pending.length - 1 })).toEqual(pending.slice(-1));
        const all = await store.allCapabilities(PAGE);
        expect(named(all)).toEqual([
          [one.sessionId, "net", "denied"],
          [one.sessionId, "net:b.example", "pending"],
          [other.sessionId, "net", "granted"],
          [other.sessionId, "net:z.example", "pending"],
        ]);
        expect(await store.allCapabilities({ limit: 2, offset: all.length - 2 })).toEqual(all.slice(-2));
      });

      test("asking changes nothing about what is granted or asked for already, and the ledger says it once", async () => {
        const { sessionId, runId } = await insertRun();
        const expiresAt = "2026-11-16T00:00:00.000Z";
        await barrier(grants(sessionId, "net"), grants(sessionId, "net:a.example", { expiresAt }));
        await barrier(...["net", "net:a.example", "net:b.example", "net:b.example"].map(asking));
        expect(await standing(sessionId)).toEqual({
          net: "granted",
          "net:a.example": "granted",
          "net:b.example": "pending",
        });
        expect(await saidOf(sessionId)).toHaveLength(3);
        await barrier(asksFor(sessionId, "net:a.example", runId, expiresAt));
        expect(await standing(sessionId)).toMatchObject({ "net:a.example": "pending" });

        function asking(capability: string): Write {
          return asksFor(sessionId, capability, runId);
        }
      });

      test("at most so many await an operator", async () => {
        const { sessionId, runId } = await insertRun();
        const many = Array.from({ length: MAX_PENDING_CAPABILITIES + 5 }, (_, index) => `net:h${index}.example`);
        await barrier(...many.map((capability) => asksFor(sessionId, capability, runId)));
        expect(await store.capabilitiesOf(sessionId)).toHaveLength(MAX_PENDING_CAPABILITIES);
        expect(await saidOf(sessionId)).toHaveLength(MAX_PENDING_CAPABILITIES);
      });

      test("a decision counts once, whatever happened since", async () => {
        const { sessionId } = await insertRun();
        const granting = grants(sessionId, "net");
        await barrier(granting);
        await barrier(takes("capability.revoked", sessionId, "net"));
        await expectRefused(barrier(granting), "store.conflict");
        expect(await standing(sessionId)).toEqual({ net: "revoked" });
        expect(await saidOf(sessionId)).toHaveLength(2);
      });

      test("only what is pending is denied, only what is granted is revoked, and only of a session that is there", async () => {
        const { sessionId, runId } = await insertRun();
        await barrier(grants(sessionId, "net:a.example"), asksFor(sessionId, "net:b.example", runId));
        const nowhere = asSessionId(fresh("ses"));
        for (const write of [
          takes("capability.denied", sessionId, "net:a.example"),
          takes("capability.revoked", sessionId, "net:b.example"),
          takes("capability.denied", sessionId, "net"),
          takes("capability.revoked", sessionId, "net"),
          grants(nowhere, "net"),
          asksFor(nowhere, "net", runId),
        ]) {
          await expectRefused(barrier(write), "store.conflict");
        }
        expect(await standing(sessionId)).toEqual({ "net:a.example": "granted", "net:b.example": "pending" });
        expect(await store.capabilitiesOf(nowhere)).toEqual([]);
      });
    });

    describe("spending", () => {
      const reserve = (
        runId: RunId,
        attempt: number,
        microusd: number,
        scopes: readonly SpendScope[],
        tokens = 1,
        epoch = 0,
      ): Write => ({
        type: "reserve-spend",
        runId,
        epoch,
        attempt,
        amount: { microusd, tokens },
        scopes,
      });
      const settle = (runId: RunId, attempt: number, microusd: number, tokens = 1, epoch = 0): Write => ({
        type: "settle-spend",
        runId,
        epoch,
        attempt,
        amount: { microusd, tokens },
      });
      const totalOf = async (scope: string) =>
        (await store.spendTotals("2026-11-15")).find((total) => total.scope === scope) ?? null;

      test("however many reserve at once, no total passes its limit", async () => {
        const { runId } = await insertRun();
        const scope = fresh("day");
        const wanted = Array.from({ length: 120 }, (_, index) => 1 + ((index * 37) % 90));
        const results = await Promise.all(
          wanted.map((amount, attempt) => barrier(reserve(runId, attempt, amount, [purse(scope, 1000)]))),
        );
        const granted = wanted.filter((_, index) => results[index]?.spend?.granted === true);
        const total = granted.reduce((sum, amount) => sum + amount, 0);
        expect(total).toBeLessThanOrEqual(1000);
        expect(await totalOf(scope)).toMatchObject({ microusd: total, tokens: granted.length });
        const smallestRefused = Math.min(...wanted.filter((_, index) => results[index]?.spend?.granted === false));
        expect(total + smallestRefused).toBeGreaterThan(1000);
      });

      test("what one scope refuses counts against none, and the rest of the commit stands", async () => {
        const { runId, journal } = await insertRun();
        const wide = fresh("all");
        const narrow = fresh("agent");
        const scopes = [purse(wide, null), purse(narrow, 100, 50)];
        const { spend } = await barrier(reserve(runId, 1, 101, scopes), journal.append(1));
        expect(spend).toEqual({ granted: false, scope: narrow, by: "microusd", needed: 101, left: 100 });
        expect(await totalOf(wide)).toBeNull();
        expect(await store.headOf(runId)).toEqual(journal.head);
        expect((await barrier(reserve(runId, 1, 100, scopes, 51))).spend).toMatchObject({
          granted: false,
          by: "tokens",
          needed: 51,
          left: 50,
        });
        expect((await barrier(reserve(runId, 1, 100, scopes, 50))).spend).toEqual({ granted: true });
        expect(await totalOf(narrow)).toMatchObject({ microusd: 100, tokens: 50, period: "2026-11-15" });
      });

      test("settling puts the true cost in the reservation's place, once; nothing settled, nothing given back", async () => {
        const { runId } = await insertRun();
        const scope = fresh("day");
        const scopes = [purse(scope, 1000)];
        await barrier(reserve(runId, 1, 600, scopes, 10), reserve(runId, 2, 300, scopes, 10));
        await barrier(settle(runId, 1, 250, 4));
        await barrier(settle(runId, 1, 0, 0), settle(runId, 9, 0, 0));
        expect(await totalOf(scope)).toMatchObject({ microusd: 550, tokens: 14 });
        await barrier(settle(runId, 2, 0, 0));
        expect(await totalOf(scope)).toMatchObject({ microusd: 250, tokens: 4 });
      });

      test("a larger reservation of the same attempt adds what it is more, or nothing; once settled, nothing", async () => {
        const { runId } = await insertRun();
        const scope = fresh("day");
        const scopes = [purse(scope, 1000, 100)];
        const spendOf = async (microusd: number, tokens: number) =>
          (await barrier(reserve(runId, 1, microusd, scopes, tokens))).spend;
        expect(await spendOf(600, 10)).toEqual({ granted: true });
        expect(await spendOf(700, 5)).toEqual({ granted: true });
        expect(await totalOf(scope)).toMatchObject({ microusd: 700, tokens: 10 });
        expect(await spendOf(650, 90)).toEqual({ granted: true });
        expect(await spendOf(1001, 95)).toMatchObject({ granted: false, by: "microusd", needed: 301, left: 300 });
        expect(await spendOf(700, 101)).toMatchObject({ granted: false, by: "tokens" });
        expect(await totalOf(scope)).toMatchObject({ microusd: 700, tokens: 90 });
        await barrier(settle(runId, 1, 800, 20));
        expect(await spendOf(5000, 5000)).toEqual({ granted: true });
        expect(await totalOf(scope)).toMatchObject({ microusd: 800, tokens: 20 });
      });

      test("one attempt is counted once, however often it is reserved", async () => {
        const { runId } = await insertRun();
        const scope = fresh("day");
        const scopes = [purse(scope, 1000)];
        for (const _ of [1, 2, 3]) {
          expect((await barrier(reserve(runId, 1, 600, scopes))).spend).toEqual({ granted: true });
        }
        await barrier(settle(runId, 1, 500));
        await barrier(reserve(runId, 1, 600, scopes), settle(runId, 1, 100));
        expect(await totalOf(scope)).toMatchObject({ microusd: 500, tokens: 1 });
      });

      test("an attempt is counted anew under another epoch; what the one before left unsettled stays spent", async () => {
        const { runId } = await insertRun();
        const scope = fresh("day");
        const scopes = [purse(scope, 1000)];
        await barrier(reserve(runId, 1, 600, scopes, 10));
        expect((await barrier(reserve(runId, 1, 600, scopes, 10, 1))).spend).toMatchObject({ granted: false });
        expect((await barrier(reserve(runId, 1, 300, scopes, 10, 1))).spend).toEqual({ granted: true });
        await barrier(settle(runId, 1, 100, 2, 1));
        expect(await totalOf(scope)).toMatchObject({ microusd: 700, tokens: 12 });
      });

      test("what is released is all that its epoch reserved and did not settle, once", async () => {
        const { runId } = await insertRun();
        const { runId: other } = await insertRun();
        const scope = fresh("day");
        const scopes = [purse(scope, 1000), purse(fresh("all"), null)];
        await barrier(reserve(runId, 1, 1, scopes), reserve(runId, 1, 20, scopes, 1, 1), settle(runId, 1, 10, 1, 1));
        await barrier(reserve(runId, 2, 200, scopes, 1, 1), reserve(runId, 3, 300, scopes, 1, 1));
        await barrier(reserve(other, 2, 5, scopes, 1, 1));
        for (const _ of [1, 2]) await barrier({ type: "release-spend", runId, epoch: 1 });
        expect(await totalOf(scope)).toMatchObject({ microusd: 16, tokens: 3 });
        // A reservation that was given back is gone: its attempt is not granted on its account.
        await barrier(settle(runId, 2, 400, 9, 1));
        expect(await totalOf(scope)).toMatchObject({ microusd: 16, tokens: 3 });
      });

      test("what is counted without a run counts against limits like anything else, and can be taken back", async () => {
        const { runId } = await insertRun();
        const [first, second] = [purse(fresh("day"), 1000), purse(fresh("day"), null)];
        const count = (microusd: number, tokens: number): Write => ({
          type: "count-spend",
          runId: null,
          amount: { microusd, tokens },
          scopes: [first, second],
        });
        await barrier(count(600, 20));
        expect((await barrier(reserve(runId, 1, 401, [first]))).spend).toMatchObject({ granted: false });
        expect((await barrier(count(-500, -15))).spend).toBeNull();
        expect((await barrier(reserve(runId, 1, 401, [first]))).spend).toEqual({ granted: true });
        expect(await totalOf(first.scope)).toMatchObject({ microusd: 501, tokens: 6 });
        expect(await totalOf(second.scope)).toMatchObject({ microusd: 100, tokens: 5 });
      });

      test("of all that a run has used, what its settled reservations have counted is not counted again", async () => {
        const [{ runId }, other] = [await insertRun(), await insertRun()];
        const [then, now] = [purse(fresh("day"), 1000), purse(fresh("day"), null)];
        await barrier(reserve(runId, 1, 70, [then], 7), settle(runId, 1, 60, 6), reserve(runId, 2, 500, [then], 50));
        await barrier(reserve(other.runId, 1, 9, [then], 9), settle(other.runId, 1, 9, 9));
        const count = (microusd: number, tokens: number): Write => ({
          type: "count-spend",
          runId,
          amount: { microusd, tokens },
          scopes: [now],
        });
        await barrier(count(100, 10));
        expect(await totalOf(now.scope)).toMatchObject({ microusd: 40, tokens: 4 });
        await barrier(count(60, 2));
        expect(await totalOf(now.scope)).toMatchObject({ microusd: 40, tokens: 4 });
        expect(await totalOf(then.scope)).toMatchObject({ microusd: 569, tokens: 65 });
      });

      test("a total tells how much of it is reserved for runs that are under way", async () => {
        const [{ runId, journal }, other] = [await insertRun(), await insertRun()];
        const scope = fresh("day");
        const scopes = [purse(scope, 1000)];
        const reserved = async () => (await totalOf(scope))?.reserved;
        await barrier(reserve(runId, 1, 600, scopes, 10), reserve(other.runId, 1, 100, scopes, 3));
        expect(await reserved()).toEqual({ microusd: 700, tokens: 13 });
        await barrier(settle(runId, 1, 250, 4));
        expect(await reserved()).toEqual({ microusd: 100, tokens: 3 });
        // Its next owner did not reserve it: it is spent.
        await barrier({ type: "claim-run", runId: other.runId, epoch: 1 });
        expect(await totalOf(scope)).toMatchObject({ microusd: 350, reserved: { microusd: 0, tokens: 0 } });
        await barrier(reserve(runId, 2, 50, scopes, 1));
        await barrier(journal.append(1), sealed(runId, "FAILED_TIMEOUT"));
        expect(await reserved()).toEqual({ microusd: 0, tokens: 0 });
      });

      test("totals are of their period alone", async () => {
        const { runId } = await insertRun();
        const scope = fresh("run");
        await barrier(reserve(runId, 1, 5, [purse(scope, null), { ...purse(scope, null), period: "ever" }]));
        expect(await store.spendTotals("ever")).toContainEqual({
          ...{ scope, period: "ever", microusd: 5, tokens: 1 },
          reserved: { microusd: 5, tokens: 1 },
        });
        expect(await store.spendTotals("2001-01-01")).toEqual([]);
      });
    });

    describe("ledger", () => {
      test("is one chain in the order of commits; what was refused is not in it", async () => {
        const before = await store.ledgerHead();
        const { runId } = await insertRun();
        const names = Array.from({ length: 12 }, (_, index) => asRunId(`run_ledger_${index}`));
        const commits = names.map((name, index) =>
          barrier(created(name), ...(index % 4 === 3 ? [new SampleJournal(runId).append(1, 9)] : [])),
        );
        await Promise.allSettled(commits);
        const kept = names.filter((_, index) => index % 4 !== 3);
        const entries = await store.readLedger(before.seq, 100);
        expect(entries.map(({ data }) => ("runId" in data ? data.runId : null))).toEqual(kept);
        const whole = await wholeLedger(store);
        const verified = verifyLedger(whole.map((entry) => `${toLedgerLine(entry)}\n`).join(""), {
          homeId: store.homeId,
        });
        expect(verified).toMatchObject({ ok: true, length: whole.length });
        expect(await store.ledgerHead()).toEqual({ seq: whole.length, hash: whole.at(-1)?.hash });
      });

      test("pages by seq", async () => {
        await barrier(...[1, 2, 3, 4].map((index) => created(asRunId(`run_page_${index}`))));
        const whole = await wholeLedger(store);
        expect(await store.readLedger(whole.length - 3, 2)).toEqual(whole.slice(-3, -1));
        expect(await store.readLedger(whole.length, 2)).toEqual([]);
      });
    });

    describe("outbox", () => {
      test("what waits is listed until it is settled", async () => {
        const { runId } = await insertRun();
        const rows = [1, 2, 3].map(() => ({
          id: fresh("out"),
          runId,
          channel: "telegram",
          bodyRef: newBody("x").ref,
          createdAt: ENDED_AT,
        }));
        await barrier(...rows.map((row) => ({ type: "insert-outbox", ...row }) as const));
        await barrier({ type: "settle-outbox", id: rows[1]?.id ?? "", state: "ambiguous" });
        const waiting = await store.waitingOutbox({ limit: 100, offset: 0 });
        expect(waiting).toEqual([rows[0], rows[2]].map((row) => ({ ...row, state: "waiting" })));
        expect(await store.waitingOutbox({ limit: 1, offset: 1 })).toEqual(waiting.slice(1));
        const [again] = rows.map((row) => ({ type: "insert-outbox", ...row }) as const);
        if (again !== undefined) await expectRefused(barrier(again), "store.conflict");
        await expectRefused(barrier({ type: "settle-outbox", id: "out_none", state: "sent" }), "store.conflict");
      });
    });

    describe("lists", () => {
      test("show every status, newest first, with totals that add up", async () => {
        await fc.assert(
          fc.asyncProperty(fc.array(fc.constantFrom(...RUN_STATUSES), { maxLength: 12 }), async (statuses) => {
            const before = await totals(store);
            const runs = statuses.map((status) => ({ status, ...runOfItsOwn() }));
            await barrier(...runs.flatMap(({ writes }) => writes));
            await Promise.all(runs.map(({ runId, status }) => barrier(...changesTo(runId, status))));
            for (const status of [undefined, ...RUN_STATUSES]) {
              const expected = runs.filter((run) => status === undefined || run.status === status).reverse();
              const filter = status === undefined ? {} : { status };
              const { runs: found, total } = await store.listRuns({ ...filter, limit: expected.length, offset: 0 });
              expect(found.map(({ runId }) => runId)).toEqual(expected.map(({ runId }) => runId));
              expect(total).toBe((before.get(status) ?? 0) + expected.length);
            }
          }),
          { numRuns: 12 },
        );
      });

      test("page, and a page past the end is empty", async () => {
        const inserted: RunId[] = [];
        for (let index = 0; index < 5; index += 1) inserted.push((await insertRun()).runId);
        const page = async (limit: number, offset: number) =>
          (await store.listRuns({ limit, offset })).runs.map(({ runId }) => runId);
        expect(await page(5, 0)).toEqual([...inserted].reverse());
        expect([...(await page(2, 0)), ...(await page(2, 2)), ...(await page(1, 4))]).toEqual([...inserted].reverse());
        const { runs, total } = await store.listRuns({ limit: 5, offset: 1_000_000 });
        expect(runs).toEqual([]);
        expect(total).toBeGreaterThanOrEqual(5);
      });

      test("open runs come in the order of their lanes, ended ones do not", async () => {
        const all = [await insertRun(), await insertRun(), await insertRun(), await insertRun()].map(
          ({ runId }) => runId,
        );
        await barrier(sealed(all[1] ?? asRunId(""), "COMPLETED_CHAT_ONLY"));
        await barrier({ type: "set-status", runId: all[2] ?? asRunId(""), status: "waiting_approval" });
        const start = ((await store.findRun(all[0] ?? asRunId("")))?.position ?? 0) - 1;
        const open = await store.openRuns(start, 10);
        expect(open.map(({ runId }) => runId)).toEqual([all[0], all[2], all[3]]);
        const second = await store.openRuns(open[0]?.position ?? 0, 1);
        expect(second.map(({ runId }) => runId)).toEqual([all[2]]);
      });

      test("a session's runs are its last ended ones, oldest first", async () => {
        const { sessionId, runId: first } = await insertRun();
        const later = [1, 2, 3].map(() => asRunId(fresh("run")));
        await barrier(...later.map((runId) => newRun(runId, sessionId)));
        await barrier(...[first, ...later.slice(0, 2)].map((runId) => sealed(runId, "COMPLETED_CHAT_ONLY")));
        const ids = async (limit: number) => (await store.sessionRuns(sessionId, limit)).map(({ runId }) => runId);
        expect(await ids(10)).toEqual([first, later[0], later[1]]);
        expect(await ids(2)).toEqual([later[0], later[1]]);
        expect(await store.sessionRuns(asSessionId("ses_none"), 5)).toEqual([]);
      });
    });

    describe("closing", () => {
      test("flushes what was given; afterwards everything is refused, and after reopening everything is there", async () => {
        const { runId, sessionId, journal } = await insertRun();
        const body = newBody("kept");
        const approval = newApproval(runId, sessionId);
        await barrier(journal.append(3), { type: "put-bodies", sessionId, bodies: [body] });
        await barrier({ type: "insert-approval", approval }, { type: "claim-run", runId, epoch: 4 }, created(runId));
        const lazily = store.commit([journal.append(2, 4)], "lazy");
        const { homeId } = store;
        const head = await store.ledgerHead();
        const old = store;
        store = await opened.reopen();
        await lazily;

        await expectRefused(old.commit([], "barrier"), "store.closed");
        await expectRefused(old.findRun(runId), "store.closed");
        await expectRefused(old.listRuns({ limit: 1, offset: 0 }), "store.closed");

        expect(store.homeId).toBe(homeId);
        expect(await store.ledgerHead()).toEqual(head);
        expect(await store.readEntries(runId, 0, 10)).toEqual(journal.lines);
        expect((await store.readBodies(sessionId, [body.ref], null)).get(body.ref)?.text).toBe("kept");
        expect(await store.findApproval(approval.id)).toEqual(approval);
        await expectRefused(barrier(journal.append(1, 3)), "store.fenced");
      });

      test("a fresh writer goes on where the last one stopped", async () => {
        const { runId, journal } = await insertRun();
        await barrier(journal.append(3), created(runId));
        store = await opened.reopen();
        await barrier(journal.append(2), created(runId));
        expect(await store.readEntries(runId, 0, 10)).toEqual(journal.lines);
        const whole = await wholeLedger(store);
        const file = whole.map((entry) => `${toLedgerLine(entry)}\n`).join("");
        expect(verifyLedger(file, { homeId: store.homeId })).toMatchObject({ ok: true });
      });
    });
  });

  test(`${name}: an untouched ledger begins with its home`, async () => {
    const { store, dispose } = await open();
    expect(await store.ledgerHead()).toEqual(startLedger(store.homeId));
    await dispose();
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
      return { type: "decide-approval", id: asApprovalId("apr_none"), state: "denied", by: "anna", atMs: 1 };
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

async function wholeLedger(store: Store): Promise<readonly LedgerEntry[]> {
  const entries: LedgerEntry[] = [];
  for (;;) {
    const page = await store.readLedger(entries.length, 500);
    if (page.length === 0) return entries;
    entries.push(...page);
  }
}

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

async function expectRefused(commit: Promise<unknown> | undefined, code: StoreErrorCode): Promise<void> {
  const error = await commit?.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StoreError);
  expect(error).toMatchObject({ code });
}
