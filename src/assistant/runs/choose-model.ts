/**
 * Which model a run gets (design: which model): the one the request names, else its agent's, else the default. The router
 * chooses where `auto` is asked for, and for sub-agents and summaries without a model of their own.
 *
 * H1. Under a limit in dollars a model without a price is refused, whichever way it was chosen.
 */
import type { FindModel } from "../../runtime/model/model-registry.ts";
import { AUTO, createModelRouter, type RoutableModels, type TaskContext } from "../../runtime/model/model-router.ts";
import { type Budgets, microusd } from "../../runtime/spend/budget-scopes.ts";
import { priceProblem } from "./contract-terms.ts";
import type { ChosenModel, DraftingSettings } from "./draft-run.ts";

export interface ModelChoices {
  readonly find: FindModel;
  /** `provider:model` or `auto`; null: the agent has none of its own. */
  readonly agentModel: (agentId: string) => string | null;
  /** A sentence when there is no default model to fall back on. */
  readonly routable: () =>
    | { readonly ok: true; readonly models: RoutableModels }
    | { readonly ok: false; readonly message: string };
  readonly budgets: Budgets;
}

/** Tasks that go to the router unless a model was named. */
const ROUTED: readonly TaskContext["type"][] = ["subagent", "summarization"];

export function modelChooser(choices: ModelChoices): DraftingSettings["chooseModel"] {
  const { find, agentModel, budgets } = choices;
  const dayLimit = microusd(budgets.perDayUsd ?? budgets.perAgentDayUsd);
  return (asked, agentId, task) => {
    const named = asked ?? agentModel(agentId);
    const isRouted = named === AUTO || (named === null && ROUTED.includes(task.type));
    const choice = isRouted ? route(choices, task) : find(named);
    const problem = choice.ok ? priceProblem(choice.model, dayLimit) : null;
    return problem === null ? choice : { ok: false, message: problem };
  };
}

function route({ find, routable }: ModelChoices, task: TaskContext): ChosenModel {
  const routes = routable();
  if (!routes.ok) return routes;
  const { model, tier, reason } = createModelRouter(routes.models).route(task);
  const choice = find(model.id);
  return choice.ok ? { ...choice, routing: { task: task.type, tier, reason } } : choice;
}
