/**
 * Which model fits a task (T-3a), from what the operator has ranked: the names and the table are the seed's.
 *
 * R1. A kind of task has one tier. Within it the model that would cost least is taken, of those whose context holds the
 *     task; one without a price comes last, and of equals the one that was configured first.
 * R2. A tier without such a model means the default model, and the route says so: no fallback is silent (P-0).
 * R3. What is chosen is not tried out: a missing key or a dead server is the chosen model's failure, and no reason to
 *     ask another one.
 */
import type { ModelTier, TaskType } from "../../kernel/vocabulary/model-tier.ts";

export interface TaskContext {
  readonly type: TaskType;
  readonly complexity: "low" | "medium" | "high";
  readonly inputTokens: number;
  /** Absent: as tasks of this type do. */
  readonly needsTools?: boolean;
  /** There are images to look at. */
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
  /** In dollars; 0 of a model that is free, or that nobody gave a price. */
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

/** What was chosen and why, in words that a contract may hold. */
export interface ModelRoute {
  readonly model: ModelConfig;
  readonly tier: ModelTier;
  readonly reason: string;
}

/** A model that is left to the router is asked for by this name. */
export const AUTO = "auto";

export interface ModelRouter {
  selectModel(task: TaskContext): ModelConfig;
  estimateCost(task: TaskContext): CostEstimate;
  getModelTiers(): Record<ModelTier, readonly ModelConfig[]>;
  /** `selectModel` with its reason. */
  route(task: TaskContext): ModelRoute;
}

export interface RoutableModels {
  /** In the order of the configuration. */
  readonly ranked: readonly ModelConfig[];
  /** Ids of models that nobody gave a price and nobody called free. */
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

/** How long an answer is reckoned to be; the longest is a contract's usual limit. */
const OUTPUT_TOKENS: Readonly<Record<TaskContext["complexity"], number>> = { low: 256, medium: 1024, high: 2048 };

/** Judged by the only thing that is known beforehand. */
export function taskOf(type: TaskType, inputTokens: number): TaskContext {
  return { type, complexity: inputTokens < 500 ? "low" : inputTokens < 4000 ? "medium" : "high", inputTokens };
}

/** Tasks that are done with tools. */
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

/** Sorting is stable, so equals stay in the order of the configuration. */
function byCost(task: TaskContext, unpriced: ReadonlySet<string>) {
  return (a: ModelConfig, b: ModelConfig): number =>
    Number(unpriced.has(a.id)) - Number(unpriced.has(b.id)) || costOf(a, task) - costOf(b, task);
}

function costOf({ costPer1kInput, costPer1kOutput }: ModelConfig, { inputTokens, complexity }: TaskContext): number {
  return (inputTokens * costPer1kInput + OUTPUT_TOKENS[complexity] * costPer1kOutput) / 1000;
}
