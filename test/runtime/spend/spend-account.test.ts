/** Money and tokens: reserved before the network, settled after it, and never beyond a limit. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { draftRun } from "../../../src/assistant/runs/draft-run.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import { eventsOf } from "../../../src/kernel/journal/entry.ts";
import { asRunId, type RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { estimateTokens } from "../../../src/runtime/model/estimate-tokens.ts";
import type { Clock } from "../../../src/runtime/ports/clock.ts";
import type { ModelReply, ModelRequest } from "../../../src/runtime/ports/model-backend.ts";
import type { StoredRun } from "../../../src/runtime/ports/store.ts";
import type { SpendScope } from "../../../src/runtime/ports/stored-spend.ts";
import { SpendAccount } from "../../../src/runtime/spend/spend-account.ts";
import { verifies } from "../../requirements.ts";
import { openTrial, storeOfFile, type Trial } from "../trial/open-trial.ts";
import { outsideWorld } from "../trial/outside-world.ts";
import {
  askedFor,
  calls,
  fault,
  inTurns,
  type ModelScript,
  refusal,
  says,
  scriptedModel,
} from "../trial/scripted-model.ts";

const store = storeOfFile();
const DAY = "2026-01-01";
const PRICE = { inputPer1k: 1000, outputPer1k: 2000 };
const look = calls([{ id: "call_1", tool: "look.at", args: { thing: "a" } }]);
const contract = { maxOutputTokens: 500 };
const USED = { inputTokens: 40, outputTokens: 10 };

let budgetScopes = 0;
function purse(limits: Partial<Pick<SpendScope, "limitMicrousd" | "limitTokens">>) {
  budgetScopes += 1;
  const scope: SpendScope = {
    scope: `purse:${budgetScopes}`,
    period: DAY,
    limitMicrousd: null,
    limitTokens: null,
    ...limits,
  };
  const spent = async () => {
    const totals = await store().spendTotals(DAY);
    return totals.find((total) => total.scope === scope.scope) ?? { microusd: 0, tokens: 0 };
  };
  return { budgetScopes: { scopesFor: () => [scope] }, spent };
}

/** What a request is, to a provider that counts as we do. */
function shownTokens({ messages, tools }: ModelRequest): number {
  return messages.reduce((sum, { content }) => sum + estimateTokens(content), estimateTokens(JSON.stringify(tools)));
}

describe("spending limits", () => {
  verifies("X-6", "hold under many runs at once: what is settled never passes them", async () => {
    const limits = fc.integer({ min: 0, max: 40_000 });
    await fc.assert(
      fc.asyncProperty(limits, fc.integer({ min: 1, max: 12 }), async (limitMicrousd, count) => {
        const { budgetScopes, spent } = purse({ limitMicrousd });
        const model = scriptedModel(inTurns(look, says("done", null)), { price: PRICE, isFree: false });
        const trial = openTrial({ store: store(), model, world: outsideWorld(), budgetScopes });
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
      const { budgetScopes, spent } = purse(limits);
      const model = scriptedModel(() => says("hello"), { price: PRICE, isFree: false });
      const trial = openTrial({ store: store(), model, world: outsideWorld(), budgetScopes });
      const run = await trial.ended(await trial.submit("spend"));
      expect(run).toMatchObject({ outcome: "FAILED_BUDGET_EXHAUSTED", reason });
      expect(model.requests).toEqual([]);
      expect(await spent()).toMatchObject({ microusd: 0, tokens: 0 });
      await trial.stop();
    }
  });

  test("count what was used, and give back what was reserved for nothing", async () => {
    const { budgetScopes, spent } = purse({ limitMicrousd: 1_000_000 });
    const model = scriptedModel(inTurns(look, says("done")), { price: PRICE, isFree: false });
    const trial = openTrial({ store: store(), model, world: outsideWorld(), budgetScopes });
    // The cycle ban ends nothing here: two inferences, 40 tokens in and 10 out each.
    await trial.ended(await trial.submit("spend"));
    expect(await spent()).toMatchObject({ microusd: 120, tokens: 100 });
    await trial.stop();
  });

  verifies("X-6", "cover every result of a batch before what follows it is sent", async () => {
    const batch = calls(
      ["a", "b", "c"].map((thing, index) => ({ id: `call_${index}`, tool: "note.put", args: { thing } })),
    );
    for (const [limitTokens, outcome] of [
      [60_000, "COMPLETED_WITH_TOOLS"],
      [12_000, "FAILED_BUDGET_EXHAUSTED"],
    ] as const) {
      const { budgetScopes, spent } = purse({ limitTokens });
      const world = outsideWorld();
      // Three results of nearly seven thousand tokens each, which a provider that says nothing is charged with.
      world.conduct = () => "x".repeat(20_000);
      const model = scriptedModel(inTurns(batch, says("done", null)));
      const trial = openTrial({ store: store(), model, world, budgetScopes });
      const run = await trial.ended(await trial.submit("spend", { approvedTools: ["note.put"], contract }));
      expect([run.outcome, world.performed.length]).toEqual([outcome, 3]);
      expect((await spent()).tokens).toBeLessThanOrEqual(limitTokens);
      await trial.stop();
    }
  });

  verifies("X-6", "hold against an honest provider, whatever a result becomes when it is told", async () => {
    for (const output of [
      '"\n'.repeat(6_000),
      "\u0001".repeat(6_000),
      "<<<NOTES_JSON>>>".repeat(1_000),
      "0.125,".repeat(3_000),
      "plain ".repeat(3_000),
    ]) {
      const limitTokens = 90_000;
      const { budgetScopes, spent } = purse({ limitTokens });
      const world = outsideWorld();
      world.conduct = () => output;
      const asked: number[] = [];
      // It bills what it was shown, by the same tokenizer.
      const honest: ModelScript = (request) => {
        const inputTokens = shownTokens(request);
        asked.push(inputTokens);
        const reply = request.messages.some(({ role }) => role === "tool") ? says("done") : look;
        return { ...reply, usage: { inputTokens, outputTokens: 500 } } as ModelReply;
      };
      const trial = openTrial({ store: store(), model: scriptedModel(honest), world, budgetScopes });
      const outcomes: (string | null)[] = [];
      while (outcomes.at(-1) !== "FAILED_BUDGET_EXHAUSTED") {
        const run = await trial.ended(await trial.submit("spend", { contract }));
        outcomes.push(run.outcome);
      }
      const { tokens } = await spent();
      expect(tokens).toBe(asked.reduce((sum, count) => sum + count + 500, 0));
      expect(tokens).toBeLessThanOrEqual(limitTokens);
      expect(outcomes[0]).toBe("COMPLETED_WITH_TOOLS");
      await trial.stop();
    }
  });

  verifies("P-1.5", "as the context does: a result that does not fit when it is told is not sent", async () => {
    const world = outsideWorld();
    world.conduct = () => '"\n'.repeat(9_000);
    const model = scriptedModel(inTurns(look, says("done")), { contextWindow: 16_384 });
    const trial = openTrial({ store: store(), model, world });
    const run = await trial.ended(await trial.submit("spend", { contract }));
    expect([run.reason, model.requests.length]).toEqual(["context.exhausted", 1]);
    await trial.stop();
  });

  verifies("X-6", "count an inference that was cut off in full: it may have been paid for", async () => {
    const { budgetScopes, spent } = purse({ limitMicrousd: 1_000_000 });
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
    const model = scriptedModel(
      () => {
        ask();
        return new Promise(() => {});
      },
      { price: PRICE, isFree: false },
    );
    const trial = openTrial({ store: store(), model, world: outsideWorld(), budgetScopes });
    const runId = await trial.submit("spend", { contract });
    await asked;
    await trial.runtime.cancel(runId, "operator");
    await trial.ended(runId);
    const { microusd, tokens } = await spent();
    expect(tokens).toBeGreaterThan(500);
    expect(microusd).toBeGreaterThanOrEqual(1000);
    await trial.stop();
  });

  describe("while a provider is waited for", () => {
    const RETRY_MS = 60_000;
    const busy: ModelReply = {
      ...{ ok: false, code: "provider.rate-limited", retryable: true, retryAfterMs: RETRY_MS },
      usage: { inputTokens: 0, outputTokens: 0 },
    };
    const watched = () => {
      const { promise: isWaiting, resolve } = Promise.withResolvers<void>();
      const waits: number[] = [];
      const wake: Clock["wake"] = (delayMs, callback) => {
        waits.push(delayMs);
        if (delayMs === RETRY_MS) resolve();
        return systemClock.wake(delayMs, callback);
      };
      return { clock: { ...systemClock, wake }, waits, isWaiting };
    };

    verifies("X-6", "count nothing for the inference that was never sent, when the run is cancelled", async () => {
      const { budgetScopes, spent } = purse({ limitTokens: 1_000_000 });
      const { clock, isWaiting } = watched();
      const model = scriptedModel(() => busy);
      const trial = openTrial({ store: store(), model, world: outsideWorld(), budgetScopes, clock });
      const runId = await trial.submit("spend", { contract });
      await isWaiting;
      await trial.runtime.cancel(runId, "operator");
      expect((await trial.ended(runId)).outcome).toBe("INTERRUPTED");
      expect([model.requests.length, (await spent()).tokens]).toEqual([1, 0]);
      const committed = (await trial.entries(runId)).findLast(({ kind }) => kind === "COMMIT");
      expect(committed).toMatchObject({ decided: { budget: { tokens: 0 } } });
      await trial.stop();
    });

    test("a run that was cancelled before the wait began does not wait", async () => {
      const { budgetScopes } = purse({ limitTokens: 1_000_000 });
      const { clock, waits } = watched();
      const { promise: isReserving, resolve: reserving } = Promise.withResolvers<void>();
      const { promise: mayReserve, resolve: letReserve } = Promise.withResolvers<void>();
      const real = store();
      const commit: typeof real.commit = async (writes, urgency) => {
        const committed = await real.commit(writes, urgency);
        if (writes.some((write) => write.type === "reserve-spend" && write.attempt === 2)) {
          reserving();
          await mayReserve;
        }
        return committed;
      };
      const model = scriptedModel(() => busy);
      const trial = openTrial({ store: { ...real, commit }, model, world: outsideWorld(), budgetScopes, clock });
      const runId = await trial.submit("spend", { contract });
      await isReserving;
      await trial.runtime.cancel(runId, "operator");
      await trial.ended(runId);
      letReserve();
      await trial.stop();
      expect(waits).not.toContain(RETRY_MS);
    });
  });

  verifies("X-6", "count every inference that a kill cut off, however often the run is taken up again", async () => {
    const limitTokens = 5_000;
    const { budgetScopes, spent } = purse({ limitTokens });
    const lives: Trial[] = [];
    let asked = 0;
    const live = async (begin: (trial: Trial) => Promise<RunId>) => {
      const { promise: isAsked, resolve: ask } = Promise.withResolvers<null>();
      const model = scriptedModel(() => {
        asked += 1;
        ask(null);
        return new Promise(() => {});
      });
      // The one before is left as a killed process leaves everything: it never hears of an answer.
      const trial = openTrial({ store: store(), model, world: outsideWorld(), budgetScopes });
      lives.push(trial);
      const runId = await begin(trial);
      return { runId, run: await Promise.race([isAsked, trial.ended(runId)]) };
    };
    const { runId } = await live((trial) => trial.submit("spend", { contract }));
    const { tokens: reserved } = await spent();
    expect(reserved).toBeGreaterThan(500);
    let run: StoredRun | null = null;
    while (run === null && lives.length < 20) {
      ({ run } = await live(async (trial) => {
        await trial.runtime.recover();
        return runId;
      }));
    }
    expect(run).toMatchObject({ outcome: "FAILED_BUDGET_EXHAUSTED", reason: "budget.tokens" });
    expect(asked).toBe(Math.floor(limitTokens / reserved));
    expect(await spent()).toMatchObject({ tokens: asked * reserved });
    await Promise.all(lives.map((trial) => trial.stop()));
  });

  test("give back what a run reserved before it parked, when it ends without using it", async () => {
    const { budgetScopes, spent } = purse({ limitTokens: 1_000_000 });
    const delegate = calls([{ id: "call_1", tool: "agent.delegate", args: { thing: "child" } }]);
    const openDoor = calls([{ id: "call_2", tool: "door.open", args: { thing: "front" } }]);
    const model = scriptedModel((request) => (askedFor(request) === "child" ? openDoor : delegate));
    const trial = openTrial({ store: store(), model, world: outsideWorld(), budgetScopes });
    const runId = await trial.submit("spend");
    await trial.nextCard();
    expect((await spent()).tokens).toBeGreaterThan(100);
    await trial.runtime.cancel(runId, "operator");
    await trial.ended(runId);
    // One inference of the parent, one of its child, 40 tokens in and 10 out each.
    expect(await spent()).toMatchObject({ tokens: 100 });
    await trial.stop();
  });

  test("may be absent: then nothing is reserved, and what was used is counted", async () => {
    const { budgetScopes, spent } = purse({});
    const model = scriptedModel(inTurns(look, says("done")), { price: PRICE, isFree: false });
    const trial = openTrial({ store: store(), model, world: outsideWorld(), budgetScopes });
    await trial.ended(await trial.submit("spend"));
    expect(await spent()).toMatchObject({ microusd: 120, tokens: 100 });
    await trial.stop();
  });
});

describe("a run's own limit", () => {
  const PRICED = { price: PRICE, isFree: false };

  verifies("X-6", "is reserved before the network too: what it does not cover is never sent", async () => {
    // One inference is about 2000 tokens in and 500 out: 3000; it turns out to cost 60.
    const model = scriptedModel(inTurns(look, says("done")), PRICED);
    const trial = openTrial({ store: store(), model, world: outsideWorld() });
    const small = await trial.ended(await trial.submit("spend", { contract: { ...contract, maxSpendMicrousd: 900 } }));
    expect([small.outcome, small.reason]).toEqual(["FAILED_BUDGET_EXHAUSTED", "budget.spend"]);
    expect(model.requests).toEqual([]);
    const large = await trial.ended(
      await trial.submit("spend", { contract: { ...contract, maxSpendMicrousd: 90_000 } }),
    );
    expect(large.outcome).toBe("COMPLETED_WITH_TOOLS");
    await trial.stop();
  });

  verifies("X-6", "holds for all that is spent below it, however the family divides it", async () => {
    // Nobody tells what was used, so every inference costs about what was reserved for it.
    const quietly = (tool: string, thing: string) => calls([{ id: "call_1", tool, args: { thing } }], "", null);
    const looks = Array.from({ length: 9 }, (_, index) => quietly("look.at", String(index)));
    const parent = inTurns(quietly("agent.delegate", "child"), ...looks);
    const child = inTurns(...looks.slice(0, 2), says("done".repeat(300), null));
    const script: ModelScript = (request, signal) => (askedFor(request) === "child" ? child : parent)(request, signal);
    for (let maxSpendMicrousd = 1_000; maxSpendMicrousd <= 9_000; maxSpendMicrousd += 500) {
      const { budgetScopes, spent } = purse({});
      const trial = openTrial({
        store: store(),
        model: scriptedModel(script, PRICED),
        world: outsideWorld(),
        budgetScopes,
      });
      const runId = await trial.submit("spend", { contract: { ...contract, maxSpendMicrousd } });
      expect((await trial.ended(runId)).outcome).toBe("FAILED_BUDGET_EXHAUSTED");
      expect((await spent()).microusd).toBeLessThanOrEqual(maxSpendMicrousd);
      await trial.stop();
    }
  });

  verifies("X-6", "needs a price: a model without one is not asked, whoever set the limit", async () => {
    const model = scriptedModel(() => says("hello"), { price: null, isFree: false });
    const { budgetScopes } = purse({ limitMicrousd: 1_000_000 });
    const trial = openTrial({ store: store(), model, world: outsideWorld(), budgetScopes });
    const run = await trial.ended(await trial.submit("spend"));
    expect([run.outcome, run.reason, model.requests.length]).toEqual(["FAILED_BUDGET_EXHAUSTED", "budget.spend", 0]);
    await expect(trial.submit("spend", { contract: { maxSpendMicrousd: 5 } })).rejects.toThrow("has no price");
    await trial.stop();
  });
});

describe("what was spent", () => {
  test("is counted once in a family: by whoever spent it", async () => {
    const { budgetScopes, spent } = purse({});
    const delegate = calls([{ id: "call_1", tool: "agent.delegate", args: { thing: "child" } }]);
    const model = scriptedModel((request, signal) =>
      askedFor(request) === "child" ? says("here") : inTurns(delegate, says("done"))(request, signal),
    );
    const trial = openTrial({ store: store(), model, world: outsideWorld(), budgetScopes });
    await trial.ended(await trial.submit("spend"));
    // Two inferences of the parent, which parked between them, and one of its child.
    expect(await spent()).toMatchObject({ tokens: 150 });
    await trial.stop();
  });

  verifies("X-6", "as it is told is believed, unless it cannot be true: then it is what can be counted", async () => {
    const text = "word ".repeat(200);
    const told = async (inputTokens: number, outputTokens: number) => {
      const { budgetScopes, spent } = purse({ limitTokens: 10_000_000 });
      const model = scriptedModel(() => says(text, { inputTokens, outputTokens }));
      const trial = openTrial({ store: store(), model, world: outsideWorld(), budgetScopes });
      await trial.ended(await trial.submit("spend", { contract }));
      await trial.stop();
      const { tokens } = await spent();
      return tokens === inputTokens + outputTokens ? "believed" : tokens;
    };
    const counted = await told(0, 0);
    expect(counted).toBeGreaterThan(estimateTokens(text));
    expect(counted).toBeLessThan(10_000);
    expect(await told(2 ** 31, 1)).toBe(counted);
    expect(await told(40, 2 ** 31)).toBe(counted);
    // More than was reserved, and than the window: an overrun, which is shown and stops what follows.
    for (const [input, output] of [
      [0, 300],
      [40, 0],
      [150_000, 20_000],
    ] as const) {
      expect(await told(input, output)).toBe("believed");
    }
  });

  verifies("X-6", "on an answer that broke off counts in full; on one that never began, nothing", async () => {
    for (const [code, isCharged] of [
      ["provider.cut-off", true],
      ["provider.unreadable", true],
      ["provider.unreadable", false],
      ["provider.http-400", false],
      ["provider.failed", false],
    ] as const) {
      const { budgetScopes, spent } = purse({ limitTokens: 1_000_000 });
      const model = scriptedModel(() => (isCharged ? fault : refusal)(code));
      const trial = openTrial({ store: store(), model, world: outsideWorld(), budgetScopes });
      const run = await trial.ended(await trial.submit("spend", { contract }));
      expect(run.reason).toBe("provider.unavailable");
      const { tokens } = await spent();
      expect([code, tokens > contract.maxOutputTokens, tokens === 0]).toEqual([code, isCharged, !isCharged]);
      await trial.stop();
    }
  });

  verifies(
    "X-6",
    "on a request that was lost after it was sent is its prompt; on one that was turned away, nothing",
    async () => {
      for (const [code, isCharged] of [
        ["provider.connection-lost", true],
        ["provider.cut-off", true],
        ["provider.unreachable", false],
        ["provider.rate-limited", false],
        ["provider.overloaded", false],
      ] as const) {
        const { budgetScopes, spent } = purse({ limitTokens: 1_000_000 });
        const failed = (isCharged ? fault : refusal)(code, true);
        const model = scriptedModel(() => (model.requests.length === 1 ? failed : says("done", USED)));
        const trial = openTrial({ store: store(), model, world: outsideWorld(), budgetScopes });
        const runId = await trial.submit("spend", { contract });
        expect((await trial.ended(runId)).outcome).toBe("COMPLETED_CHAT_ONLY");
        const heard = (await trial.entries(runId)).flatMap(eventsOf);
        const promptTokens = heard.find((event) => event.type === "run.accepted")?.prompt.tokens ?? 0;
        expect(promptTokens).toBeGreaterThan(0);
        const lost = (await spent()).tokens - USED.inputTokens - USED.outputTokens;
        expect([code, lost]).toEqual([code, isCharged ? promptTokens : 0]);
        await trial.stop();
      }
    },
  );
});

describe("an inference that was cut off", () => {
  const PRICED = { price: PRICE, isFree: false };
  const DEARER = { ref: "scripted:dear", price: { inputPer1k: 7_000, outputPer1k: 9_000 }, isFree: false };
  const hangs: ModelScript = () => new Promise(() => {});
  const untilAsked = async ({ requests }: ReturnType<typeof scriptedModel>): Promise<void> => {
    while (requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
  };

  /** What the run's receipt, its journal and its purse say, in millionths of a dollar. */
  async function told(trial: Trial, runId: RunId, spent: () => Promise<{ readonly microusd: number }>) {
    const { receipt } = (await trial.assistant.run(runId)) ?? {};
    const committed = (await trial.entries(runId)).findLast((entry) => entry.kind === "COMMIT");
    const journal = committed?.kind === "COMMIT" ? committed.decided.budget.spendMicrousd : Number.NaN;
    return [Math.round((receipt?.cost_usd ?? Number.NaN) * 1_000_000), journal, (await spent()).microusd];
  }

  for (const limits of [{ limitMicrousd: 1_000_000 }, {}]) {
    const where = "limitMicrousd" in limits ? "under a limit" : "without a limit";

    verifies(["X-6", "X-10"], `${where} costs the same by receipt, journal and purse: all it could`, async () => {
      for (const cut of ["step", "run", "cancel"] as const) {
        const { budgetScopes, spent } = purse(limits);
        const model = scriptedModel(hangs, PRICED);
        const trial = openTrial({ store: store(), model, world: outsideWorld(), budgetScopes });
        const timeouts = { step: { stepTimeoutMs: 40 }, run: { totalTimeoutMs: 40 }, cancel: {} }[cut];
        const runId = await trial.submit("spend", { contract: { ...contract, ...timeouts } });
        if (cut === "cancel") {
          await untilAsked(model);
          await trial.runtime.cancel(runId, "operator");
        }
        await trial.ended(runId);
        const heard = (await trial.entries(runId)).flatMap(eventsOf);
        const promptTokens = heard.find((event) => event.type === "run.accepted")?.prompt.tokens ?? Number.NaN;
        const full = promptTokens + 2 * contract.maxOutputTokens;
        expect([cut, await told(trial, runId, spent)]).toEqual([cut, [full, full, full]]);
        await trial.stop();
      }
    });

    verifies(["X-6", "X-10"], `${where}, of a child by its own price, is not given back to its parent`, async () => {
      const { budgetScopes, spent } = purse(limits);
      const delegate = calls([{ id: "call_1", tool: "agent.delegate", args: { thing: "child" } }], "", {
        inputTokens: 0,
        outputTokens: 1,
      });
      const model = scriptedModel(inTurns(delegate, hangs), PRICED);
      const cheapModel = scriptedModel(hangs, DEARER);
      const trial = openTrial({ store: store(), model, cheapModel, world: outsideWorld(), budgetScopes });
      const runId = await trial.submit("spend", { contract });
      await untilAsked(cheapModel);
      await trial.runtime.cancel(runId, "operator");
      await trial.ended(runId);
      const [receipt = 0, journal, purseSays] = await told(trial, runId, spent);
      // Nine thousandths of a dollar for a thousand tokens out, of which it may have written five hundred.
      expect(receipt).toBeGreaterThan(4_500);
      expect([journal, purseSays]).toEqual([receipt, receipt]);
      await trial.stop();
    });
  }

  verifies(["X-6", "X-10"], "by a kill, and cancelled before it was taken up again, too", async () => {
    const { budgetScopes, spent } = purse({ limitMicrousd: 1_000_000 });
    const model = scriptedModel(hangs, PRICED);
    const killed = openTrial({ store: store(), model, world: outsideWorld(), budgetScopes });
    const runId = await killed.submit("spend", { contract });
    await untilAsked(model);
    await store().commit([{ type: "request-cancel", runId, by: "operator" }], "barrier");
    const next = openTrial({ store: store(), model, world: outsideWorld(), budgetScopes });
    await next.runtime.recover();
    await next.ended(runId);
    const [receipt = 0, journal, purseSays] = await told(next, runId, spent);
    expect(receipt).toBeGreaterThan(2 * contract.maxOutputTokens);
    expect([journal, purseSays, model.requests.length]).toEqual([receipt, receipt, 1]);
    await Promise.all([killed.stop(), next.stop()]);
  });

  test("of a run that an earlier version accepted is paid for, though its journal cannot say how much", async () => {
    const { budgetScopes, spent } = purse({ limitMicrousd: 1_000_000 });
    const model = scriptedModel(hangs, PRICED);
    const trial = openTrial({ store: store(), model, world: outsideWorld(), budgetScopes });
    const drafted = await draftRun(trial.drafting, {
      ...{ agentId: "main", message: "spend", sessionId: null, model: null, thinkingMode: null },
      contract: { ...contract, stepTimeoutMs: 40 },
      ...{ approvedTools: [], source: "test", principal: "operator", idempotencyKey: null },
    });
    if (!drafted.ok) throw new Error(drafted.message);
    const { draft } = drafted;
    const { price: _, ...event } = draft.acceptance.event;
    await trial.runtime.submit({ ...draft, acceptance: { ...draft.acceptance, event } });
    const { runId } = draft.run;
    await trial.ended(runId);
    const [receipt, journal, purseSays = 0] = await told(trial, runId, spent);
    expect([receipt, journal]).toEqual([0, 0]);
    expect(purseSays).toBeGreaterThan(2 * contract.maxOutputTokens);
    await trial.stop();
  });
});

describe("limits that come or go while a run is parked", () => {
  const opens = calls([{ id: "call_1", tool: "door.open", args: { thing: "a" } }]);

  for (const wasLimited of [true, false]) {
    verifies("X-6", `after a ${wasLimited ? "limited" : "free"} beginning all is counted, and once`, async () => {
      const { budgetScopes, spent } = purse({});
      const scopesFor = (isLimited: boolean) => ({
        scopesFor: () =>
          budgetScopes.scopesFor().map((each) => ({ ...each, limitTokens: isLimited ? 1_000_000 : null })),
      });
      const model = scriptedModel(inTurns(opens, says("done")), { price: PRICE, isFree: false });
      const world = outsideWorld();
      const first = openTrial({ store: store(), model, world, budgetScopes: scopesFor(wasLimited) });
      const runId = await first.submit("spend", { contract });
      const card = await first.nextCard();
      await first.stop();
      const second = openTrial({ store: store(), model, world, budgetScopes: scopesFor(!wasLimited) });
      await second.runtime.recover();
      await second.runtime.approvals.decide({ ...card, decision: "allow", principal: "operator" });
      expect((await second.ended(runId)).outcome).toBe("COMPLETED_WITH_TOOLS");
      expect(await spent()).toMatchObject({ tokens: 2 * (USED.inputTokens + USED.outputTokens) });
      await second.stop();
    });
  }
});

describe("a spend account", () => {
  const usage = { inputTokens: 1000, outputTokens: 500 };
  const nothing = { microusd: 0, tokens: 0 };
  const scope = { scope: "all", period: DAY, limitMicrousd: 10, limitTokens: null };
  const model = scriptedModel(() => says(""), { price: PRICE });
  const owner = { runId: asRunId("run_1"), epoch: 2 };

  test("a limited one reserves once an attempt and gives back what was never used", () => {
    const account = new SpendAccount(owner, model, [scope], nothing);
    const amount = { microusd: 2000, tokens: 1500 };
    const reservation = account.reserve(1, usage);
    expect(reservation).toEqual({ type: "reserve-spend", ...owner, attempt: 1, amount, scopes: [scope] });
    if (reservation !== null) account.grant(reservation);
    expect([account.reserve(1, usage), account.reserve(1, { inputTokens: 9, outputTokens: 9 })]).toEqual([null, null]);
    expect(account.reserve(2, usage)).toMatchObject({ attempt: 2, amount });
    expect(account.settle(1, amount)).toEqual([{ type: "settle-spend", ...owner, attempt: 1, amount }]);
    expect(account.close()).toEqual([{ type: "release-spend", ...owner }]);
  });

  verifies("X-6", "that was granted less than is needed asks again, for money and tokens alike", () => {
    const account = new SpendAccount(owner, model, [scope], nothing);
    const grant = (more: typeof usage) => {
      const reservation = account.reserve(1, more);
      if (reservation === null) throw new Error("it is covered");
      account.grant(reservation);
      return reservation.amount;
    };
    grant(usage);
    // A token in costs half of one out: the first needs more tokens and less money, the second more of both.
    expect(grant({ inputTokens: 1600, outputTokens: 0 })).toEqual({ microusd: 1600, tokens: 1600 });
    expect(account.reserve(1, usage)).toBeNull();
    expect(grant({ inputTokens: 1700, outputTokens: 500 })).toEqual({ microusd: 2700, tokens: 2200 });
    expect(account.reserve(1, { inputTokens: 1700, outputTokens: 500 })).toBeNull();
  });

  test("an unlimited one counts all that was used, before a restart too, when the run ends", () => {
    const free = { ...scope, limitMicrousd: null };
    const account = new SpendAccount(owner, model, [free], { microusd: 5, tokens: 7 });
    expect(account.reserve(1, usage)).toBeNull();
    expect(account.settle(1, { microusd: 1, tokens: 2 })).toEqual([]);
    expect(account.close()).toEqual([
      { type: "count-spend", runId: owner.runId, amount: { microusd: 6, tokens: 9 }, scopes: [free] },
    ]);
    expect(new SpendAccount(owner, model, [free], nothing).close()).toEqual([]);
  });
});
