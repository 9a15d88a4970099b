/** Money and tokens: reserved before the network, settled after it, and never beyond a limit. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { asRunId } from "../../src/kernel/vocabulary/identifiers.ts";
import type { SpendScope } from "../../src/runtime/ports/store.ts";
import { costOf, SpendAccount } from "../../src/runtime/spend.ts";
import { verifies } from "../requirements.ts";
import { openTrial, storeOfFile } from "./trial/open-trial.ts";
import { outsideWorld } from "./trial/outside-world.ts";
import { calls, inTurns, says, scriptedModel } from "./trial/scripted-model.ts";

const store = storeOfFile();
const DAY = "2026-01-01";
const PRICE = { inputPer1k: 1000, outputPer1k: 2000 };
const look = calls([{ id: "call_1", tool: "look.at", args: { thing: "a" } }]);
const contract = { maxOutputTokens: 500 };

let purses = 0;
function purse(limits: Partial<Pick<SpendScope, "limitMicrousd" | "limitTokens">>) {
  purses += 1;
  const scope: SpendScope = {
    scope: `purse:${purses}`,
    period: DAY,
    limitMicrousd: null,
    limitTokens: null,
    ...limits,
  };
  const spent = async () => {
    const totals = await store().spendTotals(DAY);
    return totals.find((total) => total.scope === scope.scope) ?? { microusd: 0, tokens: 0 };
  };
  return { purses: { scopesFor: () => [scope] }, spent };
}

describe("spending limits", () => {
  verifies("X-6", "hold under many runs at once: what is settled never passes them", async () => {
    const limits = fc.integer({ min: 0, max: 40_000 });
    await fc.assert(
      fc.asyncProperty(limits, fc.integer({ min: 1, max: 12 }), async (limitMicrousd, count) => {
        const { purses, spent } = purse({ limitMicrousd });
        const model = scriptedModel(inTurns(look, says("done", null)), { price: PRICE, isFree: false });
        const trial = openTrial({ store: store(), model, world: outsideWorld(), purses });
        const runIds = await Promise.all(Array.from({ length: count }, () => trial.submit("spend", { contract })));
        const runs = await Promise.all(runIds.map(trial.ended));
        const { microusd } = await spent();
        expect(microusd).toBeLessThanOrEqual(limitMicrousd);
        const refused = runs.filter(({ outcome }) => outcome === "FAILED_BUDGET_EXHAUSTED");
        expect(refused.every(({ reason }) => reason === "budget.spend")).toBe(true);
        const completed = runs.filter(({ outcome }) => outcome === "COMPLETED_WITH_TOOLS");
        expect(completed.length + refused.length).toBe(count);
        await trial.stop();
      }),
      { numRuns: 10 },
    );
  });

  verifies("X-6", "are asked before any request: what they do not cover is never sent", async () => {
    for (const [limits, reason] of [
      [{ limitMicrousd: 0 }, "budget.spend"],
      [{ limitTokens: 100 }, "budget.tokens"],
    ] as const) {
      const { purses, spent } = purse(limits);
      const model = scriptedModel(() => says("hello"), { price: PRICE, isFree: false });
      const trial = openTrial({ store: store(), model, world: outsideWorld(), purses });
      const run = await trial.ended(await trial.submit("spend"));
      expect(run).toMatchObject({ outcome: "FAILED_BUDGET_EXHAUSTED", reason });
      expect(model.requests).toEqual([]);
      expect(await spent()).toMatchObject({ microusd: 0, tokens: 0 });
      await trial.stop();
    }
  });

  test("count what was used, and give back what was reserved for nothing", async () => {
    const { purses, spent } = purse({ limitMicrousd: 1_000_000 });
    const model = scriptedModel(inTurns(look, says("done")), { price: PRICE, isFree: false });
    const trial = openTrial({ store: store(), model, world: outsideWorld(), purses });
    // The cycle ban ends nothing here: two inferences, 40 tokens in and 10 out each.
    await trial.ended(await trial.submit("spend"));
    expect(await spent()).toMatchObject({ microusd: 120, tokens: 100 });
    await trial.stop();
  });

  test("reserve for every result of a batch, so that what comes after it is covered", async () => {
    const { purses, spent } = purse({ limitTokens: 60_000 });
    const world = outsideWorld();
    world.conduct = () => "x".repeat(20_000);
    const batch = calls(
      ["a", "b", "c"].map((thing, index) => ({ id: `call_${index}`, tool: "note.put", args: { thing } })),
    );
    const model = scriptedModel(inTurns(batch, says("done", null)));
    const trial = openTrial({ store: store(), model, world, purses });
    const run = await trial.ended(await trial.submit("spend", { approvedTools: ["note.put"], contract }));
    expect(run.outcome).toBe("COMPLETED_WITH_TOOLS");
    const { tokens } = await spent();
    expect(tokens).toBeGreaterThan(20_000);
    expect(tokens).toBeLessThanOrEqual(60_000);
    await trial.stop();
  });

  verifies("X-6", "count an inference that was cut off in full: it may have been paid for", async () => {
    const { purses, spent } = purse({ limitMicrousd: 1_000_000 });
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
    const model = scriptedModel(
      () => {
        ask();
        return new Promise(() => {});
      },
      { price: PRICE, isFree: false },
    );
    const trial = openTrial({ store: store(), model, world: outsideWorld(), purses });
    const runId = await trial.submit("spend", { contract });
    await asked;
    await trial.runtime.cancel(runId, "operator");
    await trial.ended(runId);
    const { microusd, tokens } = await spent();
    expect(tokens).toBeGreaterThan(500);
    expect(microusd).toBeGreaterThanOrEqual(1000);
    await trial.stop();
  });

  test("may be absent: then nothing is reserved, and what was used is counted", async () => {
    const { purses, spent } = purse({});
    const model = scriptedModel(inTurns(look, says("done")), { price: PRICE, isFree: false });
    const trial = openTrial({ store: store(), model, world: outsideWorld(), purses });
    await trial.ended(await trial.submit("spend"));
    expect(await spent()).toMatchObject({ microusd: 120, tokens: 100 });
    await trial.stop();
  });
});

describe("a spend account", () => {
  const usage = { inputTokens: 1000, outputTokens: 500 };
  const nothing = { microusd: 0, tokens: 0 };
  const scope = { scope: "all", period: DAY, limitMicrousd: 10, limitTokens: null };
  const model = scriptedModel(() => says(""), { price: PRICE });
  const runId = asRunId("run_1");

  test("costs are rounded up, and nothing costs nothing", () => {
    expect(costOf({ price: PRICE }, usage)).toBe(2000);
    expect(costOf({ price: PRICE }, { inputTokens: 1, outputTokens: 0 })).toBe(1);
    expect(costOf({ price: { inputPer1k: 1, outputPer1k: 0 } }, { inputTokens: 1, outputTokens: 9 })).toBe(1);
    expect(costOf({ price: null }, usage)).toBe(0);
  });

  test("a limited one reserves once an attempt and gives back what was never used", () => {
    const account = new SpendAccount(runId, model, [scope], nothing);
    const amount = { microusd: 2000, tokens: 1500 };
    expect(account.covers(1)).toBe(false);
    expect(account.reserve(1, usage)).toEqual([{ type: "reserve-spend", runId, attempt: 1, amount, scopes: [scope] }]);
    account.grant(1);
    expect([account.covers(1), account.reserve(1, usage)]).toEqual([true, []]);
    expect(account.settle(1, amount)).toEqual([{ type: "settle-spend", runId, attempt: 1, amount }]);
    expect(account.close()).toEqual([{ type: "settle-spend", runId, attempt: 1, amount: nothing }]);
  });

  test("an unlimited one counts all that was used, before a restart too, when the run ends", () => {
    const free = { ...scope, limitMicrousd: null };
    const account = new SpendAccount(runId, model, [free], { microusd: 5, tokens: 7 });
    expect([account.covers(1), account.reserve(1, usage)]).toEqual([true, []]);
    expect(account.settle(1, { microusd: 1, tokens: 2 })).toEqual([]);
    const amount = { microusd: 6, tokens: 9 };
    expect(account.close()).toEqual([
      { type: "reserve-spend", runId, attempt: 0, amount, scopes: [free] },
      { type: "settle-spend", runId, attempt: 0, amount },
    ]);
    expect(new SpendAccount(runId, model, [free], nothing).close()).toEqual([]);
  });
});
