/** The second part of `dist/library.d.ts` (surety-api.ts): sub-agents, with the names and signatures of their seed. */
import type { Surety } from "./surety-api.ts";

/**
 * Focused tasks for sub-agents (T-3b), which see nothing but their task and its context. Each is a run under a contract carved out
 * of one run for all tasks of a call. Nothing is thrown: what fails is an `error` of its result, and the others go on.
 */
export declare class SubAgentManager {
  constructor(surety: Surety);
  spawn(task: SubAgentTask): Promise<SubAgentResult>;
  /** Up to eight at a time; results in the order of the tasks. */
  spawnParallel(tasks: SubAgentTask[]): Promise<SubAgentResult[]>;
  /** The built-in ones, then those of the config. */
  getAgents(): SubAgentDef[];
}

export interface SubAgentDef {
  name: string;
  systemPrompt: string;
  /** `provider:model`: its own of the config, else what the router chooses. */
  defaultModel: string;
  /** Absent: it answers with text, and its result is `{ text }`. */
  outputSchema?: object;
}

export interface SubAgentTask {
  agent: string;
  description: string;
  /** With the description 500 tokens at most. */
  context: string;
  /** Instead of the agent's own. */
  outputSchema?: object;
}

export interface SubAgentResult {
  agent: string;
  /** Fulfils the schema; empty if there is an error. */
  result: Record<string, unknown>;
  tokensUsed: number;
  /** USD, as far as prices are known. */
  cost: number;
  /** Milliseconds. */
  duration: number;
  /** `outcome` and `reason` of the sub-agent's run, where there was one. */
  error?: { code: string; message: string; outcome?: string; reason?: string | null };
  /** To verify; absent where no run was made. */
  runId?: string;
}
