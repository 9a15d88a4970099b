/**
 * What `import … from "surety"` offers, as types. `scripts/bundle.ts` publishes this file, with `sub-agents-api.ts`, as
 * `dist/library.d.ts`, so it imports nothing; `library.ts` implements it, and the compiler compares the two. Names and signatures of ToolRegistry,
 * ModelRouter, LLMClient and the backend are the seeds' (T-4.1, T-3a, T-3d, S-7.1).
 */

/** Opens a home, or makes it. Only one process works on a home at a time; beside a gateway this throws `store.in-use`. */
export declare function openSurety(options?: OpenOptions): Promise<Surety>;

export interface OpenOptions {
  /** Default: SURETY_HOME, else `~/.surety`. */
  readonly home?: string;
  /** Instead of the home's `surety.json5`, with the same fields. */
  readonly config?: Readonly<Record<string, unknown>>;
  /**
   * Answers questions for the operator: may this plan run, did this interrupted effect happen? Without it every call
   * that needs an approval is denied at once, and an effect in doubt waits for `surety approvals`.
   */
  readonly onQuestion?: (question: Question) => Answer | Promise<Answer>;
  /** A fault in Surety or in a tool of yours. Default: a process warning. */
  readonly onDefect?: (errorId: string, error: unknown) => void;
}

export interface Question {
  /** `approve`: allow or deny. `resolve`: done, retry or fail. */
  readonly kind: "approve" | "resolve";
  readonly runId: string;
  readonly tool: string;
  /** The whole plan. */
  readonly shown: string;
  readonly why: string;
}
export type Answer = "allow" | "deny" | "done" | "retry" | "fail";

export interface Surety {
  readonly tools: ToolRegistry;
  /** What happens in this process (T-6). */
  readonly events: EventBus;
  readonly router: ModelRouter;
  readonly sessions: Sessions;
  /** `provider:model`; default: the configured default model. */
  client(model?: string): LLMClient;
  backend(model?: string): ChatBackend;
  /** Does the run's journal verify: hashes, contract, recorded texts and outcome? */
  verify(runId: string): Promise<Verification>;
  /** Resumes runs that an earlier process left unfinished. Register your tools first. */
  recover(): Promise<{ readonly resumed: number }>;
  close(): Promise<void>;
}

/**
 * Handlers are called after what they hear of, and not waited for; one that throws is reported to `onDefect`. Events tell:
 * what must not be missed is in the runs.
 */
export interface EventBus {
  emit<Name extends keyof EventMap>(event: Name, data: EventMap[Name]): void;
  on<Name extends keyof EventMap>(event: Name, handler: (data: EventMap[Name]) => unknown): void;
  off<Name extends keyof EventMap>(event: Name, handler: (data: EventMap[Name]) => unknown): void;
  once<Name extends keyof EventMap>(event: Name, handler: (data: EventMap[Name]) => unknown): void;
}

interface OfRun {
  readonly runId: string;
  readonly sessionId: string;
}

interface OfCall extends OfRun {
  readonly callId: string;
  readonly tool: string;
}

export interface EventMap {
  "message.inbound": { readonly channel: string; readonly senderId: string; readonly messageId: string | null };
  "message.outbound": {
    readonly channel: string;
    readonly recipient: { readonly address: string; readonly type: string };
    readonly runId: string | null;
  };
  "tool.execute": OfCall;
  "tool.complete": OfCall & { readonly ok: boolean };
  "session.created": { readonly sessionId: string; readonly agentId: string; readonly channel: string };
  /** Nothing has happened in the session for `sessions.idleMs`. */
  "session.idle": { readonly sessionId: string };
  /** By a gateway, which watches its config. */
  /** No paths: only the environment has changed. */
  "config.changed": { readonly file: string; readonly paths: readonly string[] };
  "agent.thinking": OfRun;
  /** Not emitted yet. */
  "shadow.event": Readonly<Record<string, unknown>>;
  "shadow.ghost": Readonly<Record<string, unknown>>;
}

export type Verification =
  | { readonly ok: true; readonly entries: number; readonly head: string }
  | { readonly ok: false; readonly entry: number; readonly problem: string };

/** The tools of a home. Every `execute` is a run of its own: planned, decided by policy, approved, journaled. */
export declare class ToolRegistry {
  constructor(surety: Surety, options?: RegistryOptions);
  /** Adds a tool. Policy denies it until `tools.policy.allow` names it; `*` means the built-in tools only. */
  register(tool: Tool): void;
  getToolDescriptions(): LLMToolDef[];
  /** Resolves for refusals and failures too, with `success: false`. */
  execute(name: string, args: Record<string, unknown>): Promise<ToolResult>;
  /** Does policy let this session's channel call the tool? It may still need an approval. */
  isAllowed(name: string, session: Pick<Session, "channel">): boolean;
}

export interface RegistryOptions {
  /** Runs join this session and use its capabilities, such as `net:example.org`. Default: a session for each call. */
  readonly session?: string;
  /** Tools whose calls need no approval, as with `surety run --approve`. */
  readonly approvedTools?: readonly string[];
}

export interface ToolResult {
  success: boolean;
  /** The tool's text, or JSON; of a failure its code and message. */
  output: string;
  metadata?: {
    /** Milliseconds. */
    executionTime: number;
    truncated?: boolean;
    /** The plan that needs a person's answer. */
    confirmation?: string;
    /** The run to verify; absent where none was made. */
    runId?: string;
    sessionId?: string;
  };
}

export interface LLMToolDef {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: object;
}

export interface Tool extends LLMToolDef {
  /** What a call does to the world; by default policy allows the first two and asks about the third. */
  readonly risk: "read_only" | "draft_only" | "side_effect";
  /** What a repeat after a crash does. Default: `read_only` for a read_only tool, else `opaque` (never repeated). */
  readonly idempotency?: "read_only" | "keyed" | "opaque";
  /** Default: `tools.timeoutMs` of the config. At most `tools.maxTimeoutMs`, and what its step has left. */
  readonly timeoutMs?: number;
  /** Of what the tool returns. Default: untrusted and private, so that what follows from it asks before it acts. */
  readonly labels?: {
    readonly integrity: "operator" | "user" | "untrusted";
    readonly confidentiality: "public" | "private" | "secret";
  };
  /** Top-level fields of what it returns that differ between equal results, such as durations: the cycle ban ignores them. */
  readonly volatileFields?: readonly string[];
  /** What an approver reads. Default: name and arguments. */
  describe?(args: ToolArguments): string;
  /** Hosts the call reaches, in lower case; each needs a capability. */
  hosts?(args: ToolArguments): readonly string[];
  /** Returns JSON. Throw a `ToolFailure` for an expected failure; any other error is a defect. */
  run(args: ToolArguments, context: ToolContext): unknown;
}

/** Validated, with the defaults of `parameters` filled in. */
export type ToolArguments = Readonly<Record<string, unknown>>;

export interface ToolContext {
  readonly runId: string;
  readonly signal: AbortSignal;
  /** The same for every repeat of one call; null unless the tool is `keyed`. */
  readonly idempotencyKey: string | null;
}

export declare class ToolFailure extends Error {
  /** `outcome: "unknown"`: the effect may have happened; a person is asked, and the call is not repeated by itself. */
  constructor(
    code: "invalid.request" | "policy.denied" | "internal.error",
    message: string,
    options?: { readonly details?: { readonly outcome: "unknown" } },
  );
  readonly code: string;
}

export interface Sessions {
  /** With its checkpoint and the messages of its last 500 turns, as it is now. Null: there is no such session. */
  get(id: string): Promise<Session | null>;
  /** Of the person at this machine. Default: agent `main`, channel `cli`. */
  create(options?: { agentId?: string; channel?: "cli" | "web"; title?: string }): Promise<Session>;
}

export interface Session {
  id: string;
  agentId?: string;
  senderId: string;
  channel: string;
  state: "created" | "active" | "idle";
  messages: Message[];
  metadata: { createdAt: number; lastActiveAt: number; messageCount: number; model: string };
  config: { model?: string; thinkingLevel?: "off" | "low" | "medium" | "high"; verboseLevel?: boolean };
  checkpoint?: Checkpoint;
}

/** What a session remembers beside its messages (S-1.2). */
export interface Checkpoint {
  session_id: string;
  revision: number;
  updated_ts: number;
  state: Noted & Record<"capabilities_granted" | "capabilities_pending", string[]> & { episode_summary: string };
  recent_messages: { role: string; content: string }[];
  trace_tail: string[];
  /** Earlier turns in short; null before the first compaction. */
  summary: (Summary & { evidence: string[]; written_by: string }) | null;
}
type Noted = Record<"goals" | "open_loops" | "decisions" | "constraints" | "memory_tags" | "memory_refs", string[]>;
type Summary = { content: string; turns: number; tokens: number; created_at: string };

export interface Message {
  id: string;
  role: "user" | "assistant" | "system" | "tool";
  content: string;
  toolCalls?: unknown[];
  toolResults?: ToolResult[];
  timestamp: number;
  channel?: string;
}

/** The agent, for one message after the other: each is a run in its session, journaled and decided by policy (T-3.1). */
export declare class AgentLoop {
  constructor(surety: Surety);
  /** What the run does, once it is durable, up to `done`; failures are chunks too. It goes on when you stop listening. */
  run(session: Session, message: Message): AsyncIterable<AgentChunk>;
  /** As of the last chunk. */
  getState(): LoopState;
}

export type AgentChunk =
  | { type: "text"; content: string }
  | { type: "tool_call"; tool: string; args: Record<string, unknown> }
  | { type: "tool_result"; tool: string; result: unknown }
  | { type: "subagent_start"; agent: string; task: string }
  | { type: "subagent_result"; agent: string; result: unknown }
  | { type: "thinking"; content: string }
  | { type: "error"; error: string }
  | { type: "done" };

export interface LoopState {
  phase: "planning" | "deciding" | "executing" | "evaluating" | "compressing" | "done";
  iteration: number;
  maxIterations: number;
  /** The session's goals; the message where it has none. */
  goal: string;
  /** Open loops of the session, and those that this run has closed. */
  pending: string[];
  completed: string[];
  totalTokensUsed: number;
  totalCost: number;
}

/** What a model is sent of a session, and the summary of what it is no longer sent (T-3c). */
export declare class MemoryManager {
  constructor(surety: Surety);
  /** What the next run is sent beside its message and the workspace's AGENTS.md, which is read when the run begins. */
  buildContext(session: Session): ContextWindow;
  /**
   * Condenses the earlier messages in a run of its own, and waits for its end. The summary in force where there is nothing to
   * condense. Throws a `MemoryError` when the session is unknown or the run fails: then nothing has changed.
   */
  compress(session: Session): Promise<MemorySummary>;
  getStats(session: Session): MemoryStats;
  /** At most so many tokens, marker included, counted as `client().countTokens` does. */
  truncateToolOutput(output: string, maxTokens: number): string;
}

export interface ContextWindow {
  /** Prompts of system, agent and channel, and what the session has noted. */
  systemPrompt: string;
  /** Of earlier turns; empty before the first compaction. */
  memorySummary: string;
  /** Long ones are cut, and only the latest results of tools are among them. */
  recentMessages: Message[];
  toolDescriptions: string;
  totalTokens: number;
}

export interface MemorySummary {
  content: string;
  messagesCompressed: number;
  tokensUsed: number;
  createdAt: string;
}

export interface MemoryStats {
  contextWindowTokens: number;
  memorySummaryTokens: number;
  recentMessagesCount: number;
  totalSessionMessages: number;
  /** Tokens of what is sent of the messages, by those of the session's messages: 0.05 is 95% compression. */
  compressionRatio: number;
}

/** `code`: `not_found`, `compaction.failed`, or a refusal's. */
export declare class MemoryError extends Error {
  constructor(code: string, message: string);
  readonly code: string;
}

export interface ModelRouter {
  selectModel(task: TaskContext): ModelConfig;
  estimateCost(task: TaskContext): CostEstimate;
  getModelTiers(): Record<string, ModelConfig[]>;
}

export interface TaskContext {
  readonly type: "chat" | "orchestration" | "subagent" | "reasoning" | "summarization";
  readonly complexity: "low" | "medium" | "high";
  readonly inputTokens: number;
}

export interface ModelConfig {
  /** `provider:model`. */
  readonly id: string;
  readonly provider: string;
  readonly tier: "cheap" | "mid" | "premium";
  readonly contextWindow: number;
  readonly supportsTools: boolean;
  readonly supportsVision: boolean;
  readonly costPer1kInput: number;
  readonly costPer1kOutput: number;
}

export interface CostEstimate {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** USD. */
  readonly estimatedCost: number;
  readonly model: string;
}

/** One model, asked outside a run: nothing is journaled, and no budget of the home counts it. */
export interface LLMClient {
  chat(params: ChatParams): AsyncIterable<LLMChunk>;
  countTokens(text: string): number;
  getModelInfo(): ModelConfig;
}

export interface ChatBackend {
  chat(request: ChatRequest): Promise<ChatResponse>;
  /** Aborting `cancel` ends the request on the wire. */
  stream_chat(request: ChatRequest, cancel: AbortSignal): AsyncIterable<LLMChunk>;
}

export interface ChatRequest {
  /** The client's own model. */
  readonly model: string;
  readonly messages: readonly LLMMessage[];
  readonly tools?: readonly LLMToolDef[];
  readonly maxTokens?: number;
  /** From 0 to 2. A model that always reasons may refuse it; its provider's error is then thrown. */
  readonly temperature?: number;
}

export interface ChatParams extends ChatRequest {
  /** False: the text arrives in one piece. */
  readonly stream: boolean;
}

export type LLMMessage =
  | { readonly role: "system" | "user"; readonly content: string }
  | {
      readonly role: "assistant";
      readonly content: string;
      readonly toolCalls: readonly { readonly id: string; readonly tool: string; readonly argumentsText: string }[];
    }
  | { readonly role: "tool"; readonly callId: string; readonly tool: string; readonly content: string };

export type LLMChunk =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool_call"; readonly id: string | null; readonly name: string; readonly argumentsText: string }
  | { readonly type: "end"; readonly stopReason: string; readonly usage: Usage | null };

export interface ChatResponse {
  readonly content: string;
  readonly toolCalls: readonly { readonly id: string | null; readonly name: string; readonly argumentsText: string }[];
  readonly stopReason: string;
  readonly usage: Usage | null;
}

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** `code` is the provider's failure, such as `provider.http-500`, or `model.unknown`, `model.no-vision`. */
export declare class LLMError extends Error {
  constructor(code: string, message: string);
  readonly code: string;
}

/** Prompt and answer do not fit the model's window. Thrown before the network. */
export declare class OverBudgetError extends Error {
  constructor(neededTokens: number, contextWindow: number);
  readonly code: "context.over-budget";
}
