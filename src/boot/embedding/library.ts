/**
 * The embedding API: what `package.json` exports. Each interface of the seeds is a thin layer over the code that runs;
 * a new one is a class that takes the opened Surety, and a line in `surety-api.ts`.
 */
import { ToolFailure } from "../../adapters/tools/tool-failure.ts";
import { LLMError, OverBudgetError } from "../../runtime/model/llm-client.ts";
import { AgentLoop } from "./agent-loop.ts";
import { SubAgentManager } from "./delegated-tasks.ts";
import { openSurety } from "./open-embedded-surety.ts";
import { MemoryError, MemoryManager } from "./session-memory.ts";
import { ToolRegistry } from "./tool-registry.ts";

export {
  AgentLoop,
  LLMError,
  MemoryError,
  MemoryManager,
  OverBudgetError,
  openSurety,
  SubAgentManager,
  ToolFailure,
  ToolRegistry,
};
