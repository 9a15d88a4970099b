/** The store's contract: approvals. */
import { describe, expect, test } from "vitest";
import { asApprovalId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { timestampOf } from "../../../src/runtime/ports/clock.ts";
import type { CommitResult, StoredApproval } from "../../../src/runtime/ports/store.ts";
import { decides, ENDED_AT, hashOf, newApproval, sealed } from "../store-samples.ts";
import { expectRefused, type StoreFixture } from "./store-fixture.ts";

export function describeApprovals(fixture: StoreFixture): void {
  const { barrier, insertRun } = fixture;
  describe("approvals", () => {
    async function insertApproval(also: Parameters<typeof newApproval>[2] = {}) {
      const { runId, sessionId } = await insertRun();
      const approval = newApproval(runId, sessionId, also);
      await barrier({ type: "insert-approval", approval });
      return approval;
    }
    const decide = (...decision: Parameters<typeof decides>): Promise<CommitResult> => barrier(decides(...decision));

    test("approvals are read as written; the same one repeated changes nothing", async () => {
      const approval = await insertApproval({ kind: "resolve" });
      await decide(approval, "fail");
      await barrier({ type: "insert-approval", approval });
      const decided = { ...approval, state: "fail", decidedBy: "anna", decidedAtMs: 5 };
      expect(await fixture.store.findApproval(approval.id)).toEqual(decided);
      expect(await fixture.store.approvalsOf(approval.runId)).toEqual([decided]);
      const another = { ...approval, planHash: hashOf("another plan") };
      await expectRefused(barrier({ type: "insert-approval", approval: another }), "store.conflict");
    });

    test("decided approvals are listed, the last decided first", async () => {
      const approvals = [await insertApproval(), await insertApproval(), await insertApproval()] as const;
      const ids = new Set<string>(approvals.map(({ id }) => id));
      await decide(approvals[1], "deny");
      const { draft, ...write } = decides(approvals[0], "allow");
      await barrier({ ...write, draft: { ...draft, ts: timestampOf(6) } });
      const listed = await fixture.store.decidedApprovals({ limit: 500, offset: 0 });
      const expected = [approvals[0].id, approvals[1].id];
      expect(listed.map(({ id }) => id).filter((id) => ids.has(id))).toEqual(expected);
    });

    test("approvals are decided once: the first decision wins", async () => {
      const approval = await insertApproval();
      const { id } = approval;
      const ended = await Promise.allSettled([
        decide(approval, "allow"),
        decide(approval, "deny", "bert"),
        decide(approval, "expired"),
      ]);
      expect(ended.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
      expect(await fixture.store.findApproval(id)).toMatchObject({ state: "allowed", decidedBy: "anna" });
      await expectRefused(decide({ ...approval, id: asApprovalId("apr_none") }, "allow"), "store.conflict");
    });

    test("approvals are consumed once, by the plan they were given for, and only when allowed", async () => {
      const approval = await insertApproval();
      const { id, planHash, expiresAtMs } = approval;
      const atMs = expiresAtMs - 1;
      await expectRefused(barrier({ type: "consume-approval", id, planHash, atMs }), "store.conflict");
      await decide(approval, "allow");
      const otherPlan = hashOf("another plan");
      await expectRefused(barrier({ type: "consume-approval", id, planHash: otherPlan, atMs }), "store.conflict");
      await barrier({ type: "consume-approval", id, planHash, atMs });
      expect((await fixture.store.findApproval(id))?.state).toBe("consumed");
      await barrier({ type: "consume-approval", id, planHash, atMs });
      await expectRefused(barrier({ type: "consume-approval", id, planHash: otherPlan, atMs }), "store.conflict");
      await expectRefused(decide(approval, "deny"), "store.conflict");
    });

    test("a denied or expired approval cannot be consumed", async () => {
      for (const decision of ["deny", "expired"] as const) {
        const approval = await insertApproval();
        const { id, planHash } = approval;
        await decide(approval, decision);
        await expectRefused(barrier({ type: "consume-approval", id, planHash, atMs: 6 }), "store.conflict");
      }
    });

    test("an allowed approval cannot be consumed from its deadline on; one consumed in time stays consumed", async () => {
      const [late, used] = [await insertApproval(), await insertApproval()];
      const consume = ({ id, planHash }: typeof late, atMs: number) =>
        barrier({ type: "consume-approval", id, planHash, atMs });
      await decide(late, "allow");
      await decide(used, "allow");
      await expectRefused(consume(late, late.expiresAtMs), "store.conflict");
      expect((await fixture.store.findApproval(late.id))?.state).toBe("allowed");
      await consume(used, used.expiresAtMs - 1);
      await consume(used, used.expiresAtMs);
      expect((await fixture.store.findApproval(used.id))?.state).toBe("consumed");
    });

    test("pending approvals expire with their run, others do not; the ledger does not change", async () => {
      const { runId, sessionId } = await insertRun();
      const [open, allowed] = [newApproval(runId, sessionId), newApproval(runId, sessionId)];
      await barrier(...[open, allowed].map((approval) => ({ type: "insert-approval", approval }) as const));
      await decide(allowed, "allow");
      const other = await insertApproval();
      const head = await fixture.store.ledgerHead();
      await barrier(sealed(runId, "INTERRUPTED"));
      const decidedAtMs = Date.parse(ENDED_AT);
      expect(await fixture.store.approvalsOf(runId)).toEqual([
        { ...open, state: "expired", decidedBy: "system", decidedAtMs },
        { ...allowed, state: "allowed", decidedBy: "anna", decidedAtMs: 5 },
      ]);
      expect(await fixture.store.findApproval(other.id)).toEqual(other);
      expect(await fixture.store.ledgerHead()).toEqual(head);
      await expectRefused(decide(open, "allow"), "store.conflict");
    });

    test("pending approvals are listed by page, oldest first", async () => {
      for (const each of await fixture.store.pendingApprovals({ limit: 1000, offset: 0 })) await decide(each, "deny");
      const approvals: StoredApproval[] = [];
      for (let index = 0; index < 5; index += 1) approvals.push(await insertApproval());
      await decide(approvals[1] as StoredApproval, "allow");
      const pending = approvals.filter((_, index) => index !== 1);
      expect(await fixture.store.pendingApprovals({ limit: 10, offset: 0 })).toEqual(pending);
      expect(await fixture.store.pendingApprovals({ limit: 2, offset: 1 })).toEqual(pending.slice(1, 3));
      expect(await fixture.store.pendingApprovals({ limit: 2, offset: 4 })).toEqual([]);
    });
  });
}
