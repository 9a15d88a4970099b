/**
 * Which model a run gets (design: which model): what the request names, else what its agent is configured with, else the
 * default. The router decides where it is asked to (`auto`), and for sub-agents that nobody chose a model for.
 *
 * H1. Where money is limited, a model without a price is refused, whoever chose it.
 */
import { priceProblem } from "../assistant/contract-terms.ts";
import type { ChosenModel, DraftingSettings } from "../assistant/draft-run.ts";
import {
  AUTO,
  createModelRouter,
  type ModelConfig,
  type ModelRouter,
  type TaskContext,
} from "../runtime/model/model-router.ts";
import { microusd } from "./budget-scopes.ts";
import type { Config } from "./config/config.ts";
import { type ResolvedModel, resolveConfiguredModelRef } from "./config/resolve-configured-model-ref.ts";
import type { ChooseModel } from "./model-registry.ts";

/** Tasks for which nobody is asked, unless an agent says so. */
const ROUTED: readonly TaskContext["type"][] = ["subagent", "summarization"];

export function chooseModels(config: Config, find: ChooseModel): DraftingSettings["chooseModel"] {
  const limit = dayLimitOf(config);
  const affordable = (choice: ChosenModel): ChosenModel => {
    const problem = choice.ok ? priceProblem(choice.model, limit) : null;
    return problem === null ? choice : { ok: false, message: problem };
  };
  return (asked, agentId, task) => {
    const named = asked ?? config.agents[agentId]?.model ?? null;
    const isRouted = named === AUTO || (named === null && ROUTED.includes(task.type));
    return affordable(isRouted ? routed(config, find, task) : find(named));
  };
}

function routed(config: Config, find: ChooseModel, task: TaskContext): ChosenModel {
  const router = openModelRouter(config);
  if (!router.ok) return router;
  const { model, tier, reason } = router.router.route(task);
  const choice = find(model.id);
  return choice.ok ? { ...choice, routing: { task: task.type, tier, reason } } : choice;
}

/** A sentence when there is no default to fall back on. */
function openModelRouter(
  config: Config,
): { readonly ok: true; readonly router: ModelRouter } | { readonly ok: false; readonly message: string } {
  const fallback = resolveConfiguredModelRef(config, null);
  if (!fallback.ok) return fallback;
  const enabled = Object.entries(config.models.providers).filter(([, provider]) => provider.enabled);
  const declared = enabled.flatMap(([providerId, { models }]) =>
    Object.entries(models).map(([modelId, model]) => ({ ref: `${providerId}:${modelId}`, providerId, model })),
  );
  const unpriced = declared.filter(({ model }) => model.costPer1kInput === undefined && !model.free);
  const router = createModelRouter({
    ranked: declared.filter(({ model }) => model.tier !== undefined).map(toModelConfig),
    unpriced: new Set(unpriced.map(({ ref }) => ref)),
    fallback: toModelConfig(fallback.resolved),
  });
  return { ok: true, router };
}

/** Only the default may be one that nobody ranked: it is what the main agent works with. */
function toModelConfig({ ref, providerId, model }: Pick<ResolvedModel, "ref" | "providerId" | "model">): ModelConfig {
  const { tier = "mid", contextWindow, supportsTools, supportsVision, costPer1kInput = 0, costPer1kOutput = 0 } = model;
  return {
    id: ref,
    provider: providerId,
    tier,
    contextWindow,
    supportsTools,
    supportsVision,
    costPer1kInput,
    costPer1kOutput,
  };
}

/** Any limit on what is spent in dollars, whichever it is. */
function dayLimitOf({ budgets }: Config): number | null {
  return microusd(budgets.perDayUsd ?? budgets.perAgentDayUsd);
}
