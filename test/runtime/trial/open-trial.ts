/** The real runtime and assistant on the real store, with a scripted model and an outside world that counts. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll } from "vitest";
import type { ReadAgentFile } from "../../../src/assistant/context/agent-file.ts";
import { type ContextLimits, DEFAULT_LIMITS } from "../../../src/assistant/context/context-limits.ts";
import { PromptTexts } from "../../../src/assistant/context/prompt-texts.ts";
import { SessionContext } from "../../../src/assistant/context/session-context.ts";
import { presentEnding } from "../../../src/assistant/delivery/presentation.ts";
import type { DraftingSettings } from "../../../src/assistant/runs/draft-run.ts";
import { type Assistant, openAssistant } from "../../../src/assistant/runs/open-assistant.ts";
import type { ContractOverrides } from "../../../src/assistant/runs/run-request.ts";
import { DEFAULT_CEILINGS } from "../../../src/assistant/runs/term-bounds.ts";
import { Compaction } from "../../../src/assistant/sessions/compaction.ts";
import { delegateWith } from "../../../src/assistant/subagents/delegate.ts";
import { SubAgents } from "../../../src/assistant/subagents/sub-agents.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import { DEFAULT_POLICY } from "../../../src/kernel/contract/default-terms.ts";
import type { Entry } from "../../../src/kernel/journal/entry.ts";
import type { ToolPolicy } from "../../../src/kernel/policy/tool-policy.ts";
import { compileRedactor } from "../../../src/kernel/redaction/redact.ts";
import type { ApprovalId, RunId, SessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import type { ThinkingLevel } from "../../../src/kernel/vocabulary/thinking-level.ts";
import { getOutputSummaryPrompt } from "../../../src/prompts/summary-prompt.ts";
import type { ApprovalCard } from "../../../src/runtime/ports/approver.ts";
import { type Clock, timestampOf } from "../../../src/runtime/ports/clock.ts";
import type { ConfiguredModel } from "../../../src/runtime/ports/model-backend.ts";
import type { Store, StoredRun } from "../../../src/runtime/ports/store.ts";
import { readWholeJournal } from "../../../src/runtime/run/read-run.ts";
import { openRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import type { BudgetScopes } from "../../../src/runtime/spend/spend-account.ts";
import { temporaryHome } from "../../adapters/store-sqlite/temporary-home.ts";
import { PUBLIC_KEY, sign } from "../../kernel/journal/toy-key.ts";
import type { OutsideWorld } from "./outside-world.ts";

export const APPROVAL_TIMEOUT_MS = 600_000;
const STOP_GRACE_MS = 5_000;

export interface TrialOptions {
  readonly model: ConfiguredModel;
  /** What the router chooses for delegated runs; absent: the same model, by name. */
  readonly cheapModel?: ConfiguredModel;
  readonly world: OutsideWorld;
  /** Runs outlive a trial in it. */
  readonly store: Store;
  readonly clock?: Clock;
  readonly workers?: number;
  readonly maxQueued?: number;
  readonly isReachable?: boolean;
  readonly policy?: ToolPolicy;
  /** Absent: what contracts are sealed with. */
  readonly livePolicy?: () => ToolPolicy;
  readonly budgetScopes?: BudgetScopes;
  /** Absent: the workspace has no AGENTS.md. */
  readonly readAgentFile?: ReadAgentFile;
  /** The prompt of each agent; absent: none. */
  readonly agentPrompt?: string;
  /** Where they differ from the default ones. */
  readonly limits?: Partial<ContextLimits>;
  /** How much the agent's model is to think. */
  readonly agentThinking?: ThinkingLevel | null;
}

export interface Wanted {
  readonly contract?: ContractOverrides;
  readonly approvedTools?: readonly string[];
  readonly sessionId?: SessionId;
  readonly idempotencyKey?: string;
  readonly isUnattended?: true;
}

export interface Trial {
  readonly store: Store;
  readonly runtime: Runtime;
  readonly assistant: Assistant;
  readonly drafting: DraftingSettings;
  readonly readAgentFile: ReadAgentFile;
  readonly compaction: Compaction;
  readonly defects: readonly unknown[];
  readonly storeFailures: readonly unknown[];
  readonly withdrawn: readonly ApprovalId[];
  /** Accepted, or the test fails. */
  submit(message: string, wanted?: Wanted): Promise<RunId>;
  /** The run's end, as the store knows it. */
  ended(runId: RunId): Promise<StoredRun>;
  /** What its end sets off has been begun. */
  followedUp(runId: RunId): Promise<void>;
  /** The next question that is shown. */
  nextCard(): Promise<ApprovalCard>;
  entries(runId: RunId): Promise<readonly Entry[]>;
  /** Resolves with the first durable entry of this kind. */
  recorded(runId: RunId, kind: Entry["kind"]): Promise<void>;
  /** The runtime stops; the store stays as it is. */
  stop(): Promise<void>;
}

export function openTrial(options: TrialOptions): Trial {
  const { model, cheapModel, world, store, clock = systemClock, policy = DEFAULT_POLICY } = options;
  const redaction = compileRedactor({ secrets: [], emails: false, phones: false });
  if (!redaction.ok) throw new Error("the redactor did not compile");
  const { redactor } = redaction;
  const texts = new PromptTexts(() => options.agentPrompt ?? null);
  const readAgentFile = options.readAgentFile ?? (() => Promise.resolve(null));
  const defects: unknown[] = [];
  const storeFailures: unknown[] = [];
  const withdrawn: ApprovalId[] = [];
  const cards = mailbox<ApprovalCard>();
  const drafting: DraftingSettings = {
    store,
    clock,
    random: randomBytes,
    toolbox: world.toolbox,
    redactor,
    texts,
    policy: () => policy,
    policyState: () => Promise.resolve(null),
    ceilings: DEFAULT_CEILINGS,
    thinkingMode: "never",
    agentThinking: () => options.agentThinking ?? null,
    inbox: { place: async () => [], remove: async () => {} },
    limitsOf: () => ({ ...DEFAULT_LIMITS, ...options.limits }),
    isAgent: () => false,
    subAgents: new SubAgents(() => ({ main: {} })),
    chooseModel: (_asked, _agentId, { type }) =>
      cheapModel === undefined || (type !== "subagent" && type !== "summarization")
        ? { ok: true, model }
        : { ok: true, model: cheapModel, routing: { task: type, tier: "cheap", reason: `${cheapModel.ref} is cheap` } },
  };
  const findModel = (ref: string) => (ref === cheapModel?.ref ? cheapModel : model);
  const context = new SessionContext({ ...drafting, clock, model: findModel, readAgentFile, idleMs: () => 1_800_000 });
  const compaction = new Compaction({
    ...{ store, drafting, context, submit: (draft) => runtime.submit(draft) },
    countTokens: (ref) => findModel(ref).tokens.count,
    onDefect: (error) => defects.push(error),
  });
  const followUps = new Map<RunId, PromiseWithResolvers<void>>();
  const followUp = (runId: RunId): PromiseWithResolvers<void> => {
    const known = followUps.get(runId) ?? Promise.withResolvers<void>();
    followUps.set(runId, known);
    return known;
  };
  const runtime: Runtime = openRuntime(
    {
      clock,
      random: randomBytes,
      store,
      toolbox: world.toolbox,
      approver: {
        isReachable: () => options.isReachable ?? true,
        ask: cards.put,
        withdraw: (id) => withdrawn.push(id),
      },
      approvalTimeoutMs: APPROVAL_TIMEOUT_MS,
      redactor,
      model: findModel,
      livePolicy: options.livePolicy ?? (() => policy),
      budgetScopes: options.budgetScopes ?? { scopesFor: () => [] },
      delegate: delegateWith(drafting, () => timestampOf(clock.nowMs())),
      completePrompt: context.complete,
      presentEnding,
      onDefect: (_id, error) => defects.push(error),
    },
    {
      maxQueued: options.maxQueued ?? 100,
      workers: options.workers ?? 8,
      systemText: (id) => texts.textOf(id),
      outputSummaryInstruction: getOutputSummaryPrompt().content,
      onRunEnded: (run) => compaction.runEnded(run).then(followUp(run.runId).resolve),
      onStoreFailure: (error) => storeFailures.push(error),
    },
  );
  const assistant = openAssistant({
    store,
    runtime,
    drafting,
    summarize: world.toolbox.summarize,
    keyNameOf: () => null,
    signing: { publicKey: PUBLIC_KEY, sign },
    agentsDirectory: "agents",
  });
  const entries = async (runId: RunId): Promise<readonly Entry[]> => (await readWholeJournal(store, runId)).entries;

  const recorded = async (runId: RunId, kind: Entry["kind"]): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const isThere = (some: readonly Entry[]): boolean => some.some((entry) => entry.kind === kind);
    const stopWatching = runtime.watch(runId, {
      entries: (published) => {
        if (isThere(published)) resolve();
      },
      delta: () => {},
      output: () => {},
      broken: () => {},
    });
    if (isThere(await entries(runId))) resolve();
    await promise;
    stopWatching();
  };

  return {
    store,
    runtime,
    assistant,
    drafting,
    readAgentFile,
    compaction,
    defects,
    storeFailures,
    withdrawn,
    submit: async (message, { contract = {}, approvedTools = [], sessionId, idempotencyKey, ...also } = {}) => {
      const submitted = await assistant.submit({
        agentId: "main",
        message,
        sessionId: sessionId ?? null,
        model: null,
        thinkingMode: null,
        contract,
        approvedTools,
        ...also,
        source: "test",
        principal: "tester",
        idempotencyKey: idempotencyKey ?? null,
      });
      if (!submitted.ok) throw new Error(`${submitted.code}: ${submitted.message}`);
      return submitted.runId;
    },
    ended: async (runId) => {
      await recorded(runId, "TERMINATE");
      const run = await store.findRun(runId);
      if (run === null) throw new Error("a run vanished");
      return run;
    },
    followedUp: (runId) => followUp(runId).promise,
    nextCard: cards.next,
    entries,
    recorded,
    stop: () => runtime.stop(STOP_GRACE_MS),
  };
}

/** One home for the tests of a file, each with runs of its own: opening one costs two threads. */
export function storeOfFile(): () => Store {
  const home = temporaryHome();
  let store: Store | null = null;
  beforeAll(async () => {
    store = await home.open();
  });
  afterAll(() => home.dispose());
  return () => {
    if (store === null) throw new Error("the store is opened before the first test");
    return store;
  };
}

function mailbox<Item>(): { put(item: Item): void; next(): Promise<Item> } {
  const items: Item[] = [];
  const awaiting: ((item: Item) => void)[] = [];
  return {
    put: (item) => {
      const taker = awaiting.shift();
      if (taker === undefined) items.push(item);
      else taker(item);
    },
    next: () => {
      const item = items.shift();
      return item === undefined ? new Promise((resolve) => awaiting.push(resolve)) : Promise.resolve(item);
    },
  };
}
