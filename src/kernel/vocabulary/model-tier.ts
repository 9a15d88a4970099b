/** How models are ranked, and what they are wanted for (T-3a): the seed's words. */
export const MODEL_TIERS = ["cheap", "mid", "premium"] as const;
export type ModelTier = (typeof MODEL_TIERS)[number];

export const TASK_TYPES = ["chat", "orchestration", "subagent", "reasoning", "summarization"] as const;
export type TaskType = (typeof TASK_TYPES)[number];
