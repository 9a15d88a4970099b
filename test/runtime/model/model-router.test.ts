/** T-3a: the routing table, the estimates and the tiers, as the seed has them; and no silent fallback. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MODEL_TIERS, type ModelTier, TASK_TYPES } from "../../../src/kernel/vocabulary/model-tier.ts";
import {
  createModelRouter,
  type ModelConfig,
  type TaskContext,
  taskOf,
} from "../../../src/runtime/model/model-router.ts";
import { verifies } from "../../requirements.ts";

function model(id: string, tier: ModelTier, also: Partial<ModelConfig> = {}): ModelConfig {
  return {
    id,
    provider: id.split(":")[0] ?? "",
    tier,
    contextWindow: 100_000,
    supportsTools: true,
    supportsVision: false,
    costPer1kInput: 1,
    costPer1kOutput: 2,
    ...also,
  };
}

const FALLBACK = model("some:default", "mid");
const routerOf = (ranked: readonly ModelConfig[], unpriced: readonly string[] = []) =>
  createModelRouter({ ranked, unpriced: new Set(unpriced), fallback: FALLBACK });
const ONE_EACH = MODEL_TIERS.map((tier) => model(`some:${tier}`, tier));
const task = (type: TaskContext["type"], inputTokens = 100): TaskContext => ({ type, complexity: "low", inputTokens });

describe("the model router", () => {
  verifies("T-3a/select", "sends each kind of task to its tier, whatever its complexity", () => {
    const table = {
      chat: "cheap",
      orchestration: "mid",
      subagent: "cheap",
      reasoning: "premium",
      summarization: "cheap",
    };
    expect(Object.keys(table)).toEqual([...TASK_TYPES]);
    for (const type of TASK_TYPES) {
      for (const complexity of ["low", "medium", "high"] as const) {
        const chosen = routerOf(ONE_EACH).selectModel({ type, complexity, inputTokens: 10 });
        expect([type, chosen.tier]).toEqual([type, table[type]]);
      }
    }
  });

  verifies("T-3a", "takes the cheapest of a tier; one without a price comes last, of equals the first", () => {
    const dear = model("a:dear", "cheap", { costPer1kOutput: 9 });
    const low = model("a:low", "cheap");
    const same = model("a:same", "cheap");
    const unknown = model("a:unknown", "cheap", { costPer1kInput: 0, costPer1kOutput: 0 });
    expect(routerOf([dear, low, same]).selectModel(task("chat"))).toBe(low);
    expect(routerOf([unknown, dear], ["a:unknown"]).selectModel(task("chat"))).toBe(dear);
    // Free, by its owner's word.
    expect(routerOf([unknown, dear]).selectModel(task("chat"))).toBe(unknown);
    expect(routerOf([unknown], ["a:unknown"]).selectModel(task("chat"))).toBe(unknown);
  });

  verifies("T-3a", "sends what has images to a model of the tier that sees", () => {
    const blind = model("a:blind", "mid");
    const seeing = model("a:seeing", "mid", { supportsVision: true, costPer1kInput: 9 });
    const look: TaskContext = { ...task("orchestration"), needsVision: true };
    expect(routerOf([blind, seeing]).selectModel(task("orchestration"))).toBe(blind);
    expect(routerOf([blind, seeing]).selectModel(look)).toBe(seeing);
    expect(routerOf([blind]).route(look)).toMatchObject({
      model: FALLBACK,
      reason: expect.stringContaining("default"),
    });
  });

  verifies(["T-3a/fallback", "P-0/downgrade"], "falls back on the default alone, and says that it did and why", () => {
    const small = model("a:small", "cheap", { contextWindow: 4_096 });
    const toolless = model("a:toolless", "mid", { supportsTools: false });
    const premium = model("a:premium", "premium");
    for (const [ranked, wanted, why] of [
      [[premium], task("chat"), "no model is configured as cheap"],
      [[premium, small], task("chat", 4_000), "no cheap model can hold it"],
      [[premium, toolless], task("orchestration"), "no mid model can hold it"],
    ] as const) {
      const { model: chosen, reason } = routerOf(ranked).route(wanted);
      expect(chosen).toBe(FALLBACK);
      expect(reason).toContain(why);
      expect(reason).toContain("the default some:default");
    }
    expect(routerOf([small]).route(task("chat"))).toEqual({
      model: small,
      tier: "cheap",
      reason: "chat goes to cheap: a:small is the only one there",
    });
  });

  verifies("T-3a", "says why it chose, and nothing that is not so", () => {
    const [small, large] = [model("a:small", "cheap", { contextWindow: 4_096 }), model("a:large", "cheap")];
    const reasonOf = (ranked: readonly ModelConfig[], inputTokens: number, unpriced: readonly string[] = []) =>
      routerOf(ranked, unpriced).route(task("chat", inputTokens)).reason;
    expect(reasonOf([small, large], 100)).toBe("chat goes to cheap: a:small costs least there");
    expect(reasonOf([small, large], 8_000)).toBe("chat goes to cheap: a:large is the only one there that can hold it");
    expect(reasonOf([small, large], 100, ["a:small", "a:large"])).toBe(
      "chat goes to cheap: a:small comes first there, where none has a price",
    );
  });

  verifies("T-3a/cost", "estimates by the chosen model's prices", () => {
    const estimate = routerOf(ONE_EACH).estimateCost({ type: "chat", complexity: "medium", inputTokens: 2000 });
    expect(estimate).toEqual({ inputTokens: 2000, outputTokens: 1024, estimatedCost: 2 + 2.048, model: "some:cheap" });
  });

  verifies("T-3a/tiers", "groups by tier what was ranked, in the order of the configuration", () => {
    const first = model("a:1", "cheap");
    const second = model("a:2", "cheap");
    expect(routerOf([first, second]).getModelTiers()).toEqual({ cheap: [first, second], mid: [], premium: [] });
  });

  test("never picks a model of another tier, nor one that cannot hold the task", () => {
    const ranked = fc.array(
      fc.record({ tier: fc.constantFrom(...MODEL_TIERS), contextWindow: fc.nat(9000), supportsTools: fc.boolean() }),
    );
    const tasks = fc.tuple(fc.constantFrom(...TASK_TYPES), fc.nat(9000));
    fc.assert(
      fc.property(ranked, tasks, (settings, [type, inputTokens]) => {
        const models = settings.map((also, index) => model(`a:${index}`, also.tier, also));
        const { model: chosen, tier } = routerOf(models).route(taskOf(type, inputTokens));
        if (chosen === FALLBACK) return;
        expect(chosen.tier).toBe(tier);
        expect(chosen.contextWindow).toBeGreaterThan(inputTokens);
      }),
    );
  });
});
