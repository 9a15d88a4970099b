/** The store's contract: spending. */
import { describe, expect, test } from "vitest";
import { asRunId, type RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import type { Write } from "../../../src/runtime/ports/store.ts";
import type { SpendScope } from "../../../src/runtime/ports/stored-spend.ts";
import { budgetScope, fresh, sealed } from "../store-samples.ts";
import type { StoreFixture } from "./store-fixture.ts";

export function describeSpend(fixture: StoreFixture): void {
  const { barrier, insertRun } = fixture;
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
      (await fixture.store.spendTotals("2026-11-15")).find((total) => total.scope === scope) ?? null;

    test("concurrent reservations never take a total past its limit", async () => {
      const { runId } = await insertRun();
      const scope = fresh("day");
      const wanted = Array.from({ length: 120 }, (_, index) => 1 + ((index * 37) % 90));
      const results = await Promise.all(
        wanted.map((amount, attempt) => barrier(reserve(runId, attempt, amount, [budgetScope(scope, 1000)]))),
      );
      const granted = wanted.filter((_, index) => results[index]?.spend?.granted === true);
      const total = granted.reduce((sum, amount) => sum + amount, 0);
      expect(total).toBeLessThanOrEqual(1000);
      expect(await totalOf(scope)).toMatchObject({ microusd: total, tokens: granted.length });
      const smallestRefused = Math.min(...wanted.filter((_, index) => results[index]?.spend?.granted === false));
      expect(total + smallestRefused).toBeGreaterThan(1000);
    });

    test("a reservation that one scope refuses counts against none; the rest of the commit is written", async () => {
      const { runId, journal } = await insertRun();
      const wide = fresh("all");
      const narrow = fresh("agent");
      const scopes = [budgetScope(wide, null), budgetScope(narrow, 100, 50)];
      const { spend } = await barrier(reserve(runId, 1, 101, scopes), journal.append(1));
      expect(spend).toEqual({ granted: false, scope: narrow, by: "microusd", needed: 101, left: 100 });
      expect(await totalOf(wide)).toBeNull();
      expect(await fixture.store.headOf(runId)).toEqual(journal.head);
      expect((await barrier(reserve(runId, 1, 100, scopes, 51))).spend).toMatchObject({
        granted: false,
        by: "tokens",
        needed: 51,
        left: 50,
      });
      expect((await barrier(reserve(runId, 1, 100, scopes, 50))).spend).toEqual({ granted: true });
      expect(await totalOf(narrow)).toMatchObject({ microusd: 100, tokens: 50, period: "2026-11-15" });
    });

    test("settling replaces the reservation by the true cost, once; unsettled amounts stay reserved", async () => {
      const { runId } = await insertRun();
      const scope = fresh("day");
      const scopes = [budgetScope(scope, 1000)];
      await barrier(reserve(runId, 1, 600, scopes, 10), reserve(runId, 2, 300, scopes, 10));
      await barrier(settle(runId, 1, 250, 4));
      await barrier(settle(runId, 1, 0, 0), settle(runId, 9, 0, 0));
      expect(await totalOf(scope)).toMatchObject({ microusd: 550, tokens: 14 });
      await barrier(settle(runId, 2, 0, 0));
      expect(await totalOf(scope)).toMatchObject({ microusd: 250, tokens: 4 });
    });

    test("a larger reservation of the same attempt adds the difference; after settling it adds nothing", async () => {
      const { runId } = await insertRun();
      const scope = fresh("day");
      const scopes = [budgetScope(scope, 1000, 100)];
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

    test("an attempt is counted once, however often it is reserved", async () => {
      const { runId } = await insertRun();
      const scope = fresh("day");
      const scopes = [budgetScope(scope, 1000)];
      for (const _ of [1, 2, 3]) {
        expect((await barrier(reserve(runId, 1, 600, scopes))).spend).toEqual({ granted: true });
      }
      await barrier(settle(runId, 1, 500));
      await barrier(reserve(runId, 1, 600, scopes), settle(runId, 1, 100));
      expect(await totalOf(scope)).toMatchObject({ microusd: 500, tokens: 1 });
    });

    test("an attempt counts again under another epoch; what the previous one left unsettled stays spent", async () => {
      const { runId } = await insertRun();
      const scope = fresh("day");
      const scopes = [budgetScope(scope, 1000)];
      await barrier(reserve(runId, 1, 600, scopes, 10));
      expect((await barrier(reserve(runId, 1, 600, scopes, 10, 1))).spend).toMatchObject({ granted: false });
      expect((await barrier(reserve(runId, 1, 300, scopes, 10, 1))).spend).toEqual({ granted: true });
      await barrier(settle(runId, 1, 100, 2, 1));
      expect(await totalOf(scope)).toMatchObject({ microusd: 700, tokens: 12 });
    });

    test("a release returns all that its epoch reserved and did not settle, once", async () => {
      const { runId } = await insertRun();
      const { runId: other } = await insertRun();
      const scope = fresh("day");
      const scopes = [budgetScope(scope, 1000), budgetScope(fresh("all"), null)];
      await barrier(reserve(runId, 1, 1, scopes), reserve(runId, 1, 20, scopes, 1, 1), settle(runId, 1, 10, 1, 1));
      await barrier(reserve(runId, 2, 200, scopes, 1, 1), reserve(runId, 3, 300, scopes, 1, 1));
      await barrier(reserve(other, 2, 5, scopes, 1, 1));
      for (const _ of [1, 2]) await barrier({ type: "release-spend", runId, epoch: 1 });
      expect(await totalOf(scope)).toMatchObject({ microusd: 16, tokens: 3 });
      // A reservation that was given back is gone: its attempt is not granted on its account.
      await barrier(settle(runId, 2, 400, 9, 1));
      expect(await totalOf(scope)).toMatchObject({ microusd: 16, tokens: 3 });
    });

    test("spending without a run counts against limits and can be taken back", async () => {
      const { runId } = await insertRun();
      const [first, second] = [budgetScope(fresh("day"), 1000), budgetScope(fresh("day"), null)];
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

    test("counting a run's usage leaves out what its settled reservations counted", async () => {
      const [{ runId }, other] = [await insertRun(), await insertRun()];
      const [then, now] = [budgetScope(fresh("day"), 1000), budgetScope(fresh("day"), null)];
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

    test("a total includes how much is reserved for active runs", async () => {
      const [{ runId, journal }, other] = [await insertRun(), await insertRun()];
      const scope = fresh("day");
      const scopes = [budgetScope(scope, 1000)];
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

    test("totals belong to one period", async () => {
      const { runId } = await insertRun();
      const scope = fresh("run");
      await barrier(reserve(runId, 1, 5, [budgetScope(scope, null), { ...budgetScope(scope, null), period: "ever" }]));
      expect(await fixture.store.spendTotals("ever")).toContainEqual({
        ...{ scope, period: "ever", microusd: 5, tokens: 1 },
        reserved: { microusd: 5, tokens: 1 },
      });
      expect(await fixture.store.spendTotals("2001-01-01")).toEqual([]);
      expect(await fixture.store.heldFor(runId)).toEqual({ microusd: 5, tokens: 1 });
      expect(await fixture.store.heldFor((await insertRun()).runId)).toEqual({ microusd: 0, tokens: 0 });
      expect(await fixture.store.heldFor(asRunId("run_none"))).toBeNull();
    });
  });
}
