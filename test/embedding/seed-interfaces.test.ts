/** The seeds' interfaces, literally: what the library gives must be usable wherever one of these is expected. */
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { AgentLoop, MemoryManager, openSurety } from "../../src/boot/embedding/library.ts";
import type { LLMChunk, LLMMessage, LLMToolDef, Message, Tool } from "../../src/boot/embedding/surety-api.ts";
import { temporaryDirectory } from "../boot/temporary-home.ts";
import { verifies } from "../requirements.ts";

// Talon §2, §3, §3a, §3c, the LLM provider interface, §4. Tool, LLMToolDef, LLMMessage and LLMChunk are left open there.
interface Session {
  id: string;
  senderId: string;
  channel: string;
  state: "created" | "active" | "idle";
  messages: Message[];
  metadata: { createdAt: number; lastActiveAt: number; messageCount: number; model: string };
  config: { model?: string; thinkingLevel?: "off" | "low" | "medium" | "high"; verboseLevel?: boolean };
}
interface SeedAgentLoop {
  run(session: Session, message: Message): AsyncIterable<AgentChunk>;
  getState(): LoopState;
}
type LoopState = {
  phase: "planning" | "deciding" | "executing" | "evaluating" | "compressing" | "done";
  iteration: number;
  maxIterations: number;
  goal: string;
  pending: string[];
  completed: string[];
  totalTokensUsed: number;
  totalCost: number;
};
type AgentChunk =
  | { type: "text"; content: string }
  | { type: "tool_call"; tool: string; args: Record<string, unknown> }
  | { type: "tool_result"; tool: string; result: unknown }
  | { type: "subagent_start"; agent: string; task: string }
  | { type: "subagent_result"; agent: string; result: unknown }
  | { type: "thinking"; content: string }
  | { type: "error"; error: string }
  | { type: "done" };
interface SeedMemoryManager {
  buildContext(session: Session): ContextWindow;
  compress(session: Session): Promise<MemorySummary>;
  getStats(session: Session): MemoryStats;
  truncateToolOutput(output: string, maxTokens: number): string;
}
interface ContextWindow {
  systemPrompt: string;
  memorySummary: string;
  recentMessages: Message[];
  toolDescriptions: string;
  totalTokens: number;
}
interface MemorySummary {
  content: string;
  messagesCompressed: number;
  tokensUsed: number;
  createdAt: string;
}
interface MemoryStats {
  contextWindowTokens: number;
  memorySummaryTokens: number;
  recentMessagesCount: number;
  totalSessionMessages: number;
  compressionRatio: number;
}
interface ModelRouter {
  selectModel(task: TaskContext): ModelConfig;
  estimateCost(task: TaskContext): CostEstimate;
  getModelTiers(): Record<string, ModelConfig[]>;
}
interface TaskContext {
  type: "chat" | "orchestration" | "subagent" | "reasoning" | "summarization";
  complexity: "low" | "medium" | "high";
  inputTokens: number;
}
interface ModelConfig {
  id: string;
  provider: string;
  tier: "cheap" | "mid" | "premium";
  contextWindow: number;
  supportsTools: boolean;
  supportsVision: boolean;
  costPer1kInput: number;
  costPer1kOutput: number;
}
interface CostEstimate {
  inputTokens: number;
  outputTokens: number;
  estimatedCost: number;
  model: string;
}
interface LLMClient {
  chat(params: ChatParams): AsyncIterable<LLMChunk>;
  countTokens(text: string): number;
  getModelInfo(): ModelConfig;
}
interface ChatParams {
  model: string;
  messages: LLMMessage[];
  tools?: LLMToolDef[];
  maxTokens?: number;
  temperature?: number;
  stream: boolean;
}
interface ToolRegistry {
  register(tool: Tool): void;
  getToolDescriptions(): LLMToolDef[];
  execute(name: string, args: Record<string, unknown>): Promise<ToolResult>;
  isAllowed(name: string, session: Session): boolean;
}
interface ToolResult {
  success: boolean;
  output: string;
  metadata?: { executionTime: number; truncated?: boolean; confirmation?: string };
}
// Spectator §7.
interface Backend {
  chat(request: Omit<ChatParams, "stream">): Promise<unknown>;
  stream_chat(request: Omit<ChatParams, "stream">, cancel: AbortSignal): AsyncIterable<unknown>;
}

verifies(
  ["T-3.1", "T-3c", "T-4.1", "T-3a", "T-3d", "S-7.1"],
  "the seeds' signatures hold, member for member",
  async () => {
    const surety = await openSurety({ home: join(await temporaryDirectory(), "home") });
    onTestFinished(() => surety.close());
    const registry: ToolRegistry = surety.tools;
    const router: ModelRouter = surety.router;
    const client: LLMClient = surety.client();
    const backend: Backend = surety.backend();
    const task: TaskContext = { type: "chat", complexity: "low", inputTokens: 1 };
    expect(router.selectModel(task)).toEqual(client.getModelInfo());
    expect(router.estimateCost(task).model).toBe("builtin:demo");
    expect(Object.keys(router.getModelTiers())).toEqual(["cheap", "mid", "premium"]);
    expect(registry.getToolDescriptions().length).toBeGreaterThan(5);
    const result: ToolResult = await registry.execute("fs.list_dir", {});
    expect(result).toMatchObject({ success: true, metadata: { executionTime: expect.any(Number) } });
    const loop: SeedAgentLoop = new AgentLoop(surety);
    const memory: SeedMemoryManager = new MemoryManager(surety);
    const session: Session = await surety.sessions.create();
    const window: ContextWindow = memory.buildContext(session);
    expect([loop.getState().phase, window.recentMessages]).toEqual(["planning", []]);
    const request = { model: "builtin:demo", messages: [{ role: "user", content: "hello" } as const] };
    expect(await backend.chat(request)).toHaveProperty("content");
  },
);
