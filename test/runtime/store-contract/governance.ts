/** The store's contract: measured runs, and the policy states that follow from them. */
import { describe, expect } from "vitest";
import { NEUTRAL_STATE } from "../../../src/kernel/governance/policy-state.ts";
import type { LedgerDraft } from "../../../src/kernel/journal/ledger.ts";
import type { RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import type { CommitResult } from "../../../src/runtime/ports/store.ts";
import {
  KEPT_MEASURED_RUNS,
  type StoredPerformance,
  type StoredPolicyChange,
} from "../../../src/runtime/ports/stored-governance.ts";
import { verifies } from "../../requirements.ts";
import { fresh, hashOf } from "../store-samples.ts";
import { expectRefused, type StoreFixture } from "./store-fixture.ts";

const AT = "2026-11-19T00:00:00.000Z";
const newRunId = (): RunId => fresh("run") as RunId;

export function describeGovernance(fixture: StoreFixture): void {
  const { barrier } = fixture;
  describe("governance", () => {
    const performance = (runId: RunId): StoredPerformance => {
      return { runId, tier: "cheap", endedAt: AT, measured: `{"of":"${runId}"}`, state: JSON.stringify(NEUTRAL_STATE) };
    };
    const record = (runId: RunId, ledgerSeq = 1): Promise<CommitResult> =>
      barrier({ type: "record-performance", ledgerSeq, performance: performance(runId) });
    const versionOf = async (): Promise<number> => {
      return (await fixture.store.governanceTiers()).find(({ tier }) => tier === "cheap")?.version ?? 0;
    };
    const advance = (version: number, runId: RunId | null): Promise<CommitResult> => {
      const change: StoredPolicyChange = {
        tier: "cheap",
        runId,
        at: AT,
        by: "governance",
        cause: "mutation",
        change: "{}",
      };
      const hashes = { before: hashOf("before"), after: hashOf("after") };
      const draft: LedgerDraft<"policy.delta"> | LedgerDraft<"policy.decided"> =
        runId === null
          ? { kind: "policy.decided", ts: AT, actor: "operator", data: { tier: "cheap", ...hashes } }
          : { kind: "policy.delta", ts: AT, actor: "governance", data: { runId, ...hashes } };
      return barrier({
        type: "advance-tier",
        tier: { tier: "cheap", version, record: `{"v":${version}}` },
        change,
        draft,
      });
    };

    verifies("M-P4d/after", "a change is written only after the vector of the run that triggers it", async () => {
      const runId = newRunId();
      const before = await fixture.store.ledgerHead();
      await expectRefused(advance((await versionOf()) + 1, runId), "store.conflict");
      expect(await fixture.store.ledgerHead()).toEqual(before);
      await record(runId);
      await advance((await versionOf()) + 1, runId);
      expect((await fixture.store.ledgerHead()).seq).toBe(before.seq + 1);
    });

    verifies(
      "M-P4d/transaction",
      "tier, change and ledger entry are written together, or none of them is",
      async () => {
        const runId = newRunId();
        await record(runId);
        const version = await versionOf();
        await advance(version + 1, runId);
        const [head, [change]] = [
          await fixture.store.ledgerHead(),
          await fixture.store.policyChanges({ limit: 1, offset: 0 }),
        ];
        const [entry] = await fixture.store.readLedger(head.seq - 1, 1);
        expect(entry).toMatchObject({ kind: "policy.delta", data: { runId } });
        expect(change).toMatchObject({ tier: "cheap", runId, cause: "mutation" });
        expect(await fixture.store.governanceTiers()).toContainEqual({
          ...{ tier: "cheap", version: version + 1, record: `{"v":${version + 1}}` },
        });
        // Of two that read the same, one writes; the other leaves nothing.
        await expectRefused(advance(version + 1, runId), "store.conflict");
        await expectRefused(advance(version + 3, null), "store.conflict");
        expect(await fixture.store.ledgerHead()).toEqual(head);
        expect((await fixture.store.policyChanges({ limit: 1, offset: 0 }))[0]).toEqual(change);
        await advance(version + 2, null);
        expect((await fixture.store.readLedger(head.seq, 1))[0]).toMatchObject({ kind: "policy.decided" });
      },
    );

    verifies("M-P4d/run", "runs are measured once, newest first, and the oldest are forgotten", async () => {
      const first = newRunId();
      await record(first, 7);
      await record(first, 8);
      expect(await fixture.store.measuredThrough()).toBe(8);
      const others = Array.from({ length: KEPT_MEASURED_RUNS }, newRunId);
      await Promise.all(others.map((runId) => record(runId, 9)));
      const kept = await fixture.store.measuredRuns("cheap", { limit: KEPT_MEASURED_RUNS + 10, offset: 0 });
      expect(kept.map(({ runId }) => runId)).toEqual(others.toReversed());
      expect(await fixture.store.measuredRuns("premium", { limit: 1, offset: 0 })).toEqual([]);
      await fixture.reopen();
      expect(await fixture.store.measuredThrough()).toBe(9);
    });
  });
}
