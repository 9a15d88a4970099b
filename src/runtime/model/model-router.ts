/**
 * Which model fits a task (T-3a), among the models the operator gave a tier. Names and table are the seed's.
 *
 * Each task type has one tier. In it the router picks the cheapest model whose window holds the task; models without a
 * price come last, ties keep the configured order. An empty tier falls back to the default model, and the route says so
 * (P-0). The router never probes: a missing key or a dead server is a failure of the chosen model.
 */
import type { ModelTier, TaskType } from "../../kernel/vocabulary/model-tier.ts";

export interface TaskContext {
  readonly type: TaskType;
  readonly complexity: "low" | "medium" | "high";
  readonly inputTokens: number;
  /** Default: by task type. */
  readonly needsTools?: boolean;
  /** The task includes images. */
  readonly needsVision?: boolean;
}

export interface ModelConfig {
  /** `provider:model`. */
  readonly id: string;
  readonly provider: string;
  readonly tier: ModelTier;
  readonly contextWindow: number;
  readonly supportsTools: boolean;
  readonly supportsVision: boolean;
  /** In dollars; 0 for a free model and for one without a price. */
  readonly costPer1kInput: number;
  readonly costPer1kOutput: number;
}

export interface CostEstimate {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** In dollars. */
  readonly estimatedCost: number;
  readonly model: string;
}

/** The choice and its reason; the contract records both. */
export interface ModelRoute {
  readonly model: ModelConfig;
  readonly tier: ModelTier;
  readonly reason: string;
}

/** The model name by which a request leaves the choice to the router. */
export const AUTO = "auto";

export interface ModelRouter {
  selectModel(task: TaskContext): ModelConfig;
  estimateCost(task: TaskContext): CostEstimate;
  getModelTiers(): Record<ModelTier, ModelConfig[]>;
  /** `selectModel` with its reason. */
  route(task: TaskContext): ModelRoute;
}

export interface RoutableModels {
  /** In configured order. */
  readonly ranked: readonly ModelConfig[];
  /** Ids of models that have no price and are not declared free. */
  readonly unpriced: ReadonlySet<string>;
  readonly fallback: ModelConfig;
}

/** The seed's table: simple Q&A, main agent, sub-agents, complex reasoning, memory summaries. */
const TIER_OF: Readonly<Record<TaskType, ModelTier>> = {
  chat: "cheap",
  orchestration: "mid",
  subagent: "cheap",
  reasoning: "premium",
  summarization: "cheap",
};

/** The assumed length of an answer; the longest equals a contract's default limit. */
const OUTPUT_TOKENS: Readonly<Record<TaskContext["complexity"], number>> = { low: 256, medium: 1024, high: 2048 };

/** Complexity follows from the input's length, the only fact known beforehand. */
export function taskOf(type: TaskType, inputTokens: number): TaskContext {
  return { type, complexity: inputTokens < 500 ? "low" : inputTokens < 4000 ? "medium" : "high", inputTokens };
}

const NEEDS_TOOLS: readonly TaskType[] = ["orchestration", "subagent"];

export function createModelRouter({ ranked, unpriced, fallback }: RoutableModels): ModelRouter {
  const route = (task: TaskContext): ModelRoute => {
    const tier = TIER_OF[task.type];
    const inTier = ranked.filter((model) => model.tier === tier);
    const fitting = inTier.filter((model) => holds(model, task)).sort(byCost(task, unpriced));
    const [chosen, next] = fitting;
    if (chosen !== undefined) {
      const alone = inTier.length === 1 ? "is the only one there" : "is the only one there that can hold it";
      const first = unpriced.has(chosen.id) ? "comes first there, where none has a price" : "costs least there";
      const why = next === undefined ? alone : first;
      return { model: chosen, tier, reason: `${task.type} goes to ${tier}: ${chosen.id} ${why}` };
    }
    const why = inTier.length === 0 ? `no model is configured as ${tier}` : `no ${tier} model can hold it`;
    return { model: fallback, tier, reason: `${task.type} goes to ${tier}, but ${why}: the default ${fallback.id}` };
  };
  return {
    route,
    selectModel: (task) => route(task).model,
    estimateCost: (task) => {
      const { model } = route(task);
      return {
        inputTokens: task.inputTokens,
        outputTokens: OUTPUT_TOKENS[task.complexity],
        estimatedCost: costOf(model, task),
        model: model.id,
      };
    },
    getModelTiers: () => ({ cheap: [], mid: [], premium: [], ...Object.groupBy(ranked, ({ tier }) => tier) }),
  };
}

function holds({ contextWindow, supportsTools, supportsVision }: ModelConfig, task: TaskContext): boolean {
  const { type, complexity, inputTokens, needsTools = NEEDS_TOOLS.includes(type), needsVision = false } = task;
  if ((needsVision && !supportsVision) || (needsTools && !supportsTools)) return false;
  return inputTokens + OUTPUT_TOKENS[complexity] <= contextWindow;
}

/** Relies on a stable sort to keep ties in configured order. */
function byCost(task: TaskContext, unpriced: ReadonlySet<string>) {
  return (a: ModelConfig, b: ModelConfig): number =>
    Number(unpriced.has(a.id)) - Number(unpriced.has(b.id)) || costOf(a, task) - costOf(b, task);
}

function costOf({ costPer1kInput, costPer1kOutput }: ModelConfig, { inputTokens, complexity }: TaskContext): number {
  return (inputTokens * costPer1kInput + OUTPUT_TOKENS[complexity] * costPer1kOutput) / 1000;
}
