/**
 * Wiring: one home becomes one working assistant. Everything that touches the world is made here and handed inwards.
 *
 * W1. What holds a lock is let go in the opposite order of taking it, also when opening fails half-way.
 * W2. Secrets that were read are known to the redactor before anything is stored.
 */
import type { HomeLock } from "../adapters/store-sqlite/home-lock.ts";
import { openSqliteStore } from "../adapters/store-sqlite/open-sqlite-store.ts";
import { createToolbox } from "../adapters/tools/create-toolbox.ts";
import type { Tool } from "../adapters/tools/define-tool.ts";
import type { Assistant } from "../assistant/assistant.ts";
import { type DraftingSettings, delegateWith } from "../assistant/draft-run.ts";
import { openAssistant } from "../assistant/open-assistant.ts";
import { bindOperations, type OperationClient } from "../assistant/operations.ts";
import { PromptTexts } from "../assistant/prompt-stack.ts";
import { type Ceilings, DEFAULT_CEILINGS } from "../assistant/term-bounds.ts";
import { type OpenRun, signCheckpoint } from "../kernel/journal/checkpoint.ts";
import { genesisHash } from "../kernel/journal/genesis-hash.ts";
import type { ToolPolicy } from "../kernel/policy/tool-policy.ts";
import { compileDisclosureGuard, type DisclosureGuard } from "../kernel/redaction/disclosure-guard.ts";
import type { Approver } from "../runtime/ports/approver.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import { timestampOf } from "../runtime/ports/clock.ts";
import type { ConfiguredModel } from "../runtime/ports/model-backend.ts";
import type { RandomBytes } from "../runtime/ports/randomness.ts";
import type { Store } from "../runtime/ports/store.ts";
import type { RunPorts } from "../runtime/run-ports.ts";
import { openRuntime, type Runtime } from "../runtime/runtime.ts";
import { configuredBudgetScopes, microusd } from "./budget-scopes.ts";
import { openBuiltInTools } from "./built-in-tools.ts";
import { chooseModels } from "./choose-models.ts";
import type { Config } from "./config/config.ts";
import { toToolPolicy } from "./config/to-tool-policy.ts";
import type { ReadVariable } from "./environment.ts";
import type { Home } from "./home.ts";
import { assertDatabaseKept } from "./lost-database.ts";
import { type ChooseModel, openModelRegistry } from "./model-registry.ts";
import { openRedactor } from "./open-redactor.ts";
import { loadSigningKey, type SigningKey } from "./signing-key.ts";

export interface SuretyOptions {
  readonly home: Home;
  readonly config: Config;
  readonly readVariable: ReadVariable;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly token: string | null;
  readonly approver: Approver;
  readonly onDefect: (errorId: string, error: unknown) => void;
  /** For a line that somebody should read. */
  readonly remark?: (line: string) => void;
  /** What tools may do at this moment; absent: what the config says. */
  readonly policy?: () => ToolPolicy;
  /** Nothing can be written any more: what is in memory counts for nothing. Told once. */
  readonly onStoreFailure?: (error: unknown) => void;
  /** The home's, where it is held for longer than the store is open. */
  readonly lock?: HomeLock | undefined;
  /** Runs at work at once; absent: as configured. */
  readonly workers?: number | undefined;
  /** Tools beside the built-in ones; one of the same name takes its place. */
  readonly moreTools?: readonly Tool[];
  /** What is asked in place of each configured model. */
  readonly overModel?: (model: ConfiguredModel) => ConfiguredModel;
  /** What everything is written to in place of the home's own store. */
  readonly overStore?: (store: Store) => Store;
}

export interface Surety {
  readonly assistant: Assistant;
  readonly operations: OperationClient;
  readonly runtime: Runtime;
  readonly store: Store;
  readonly signing: SigningKey;
  close(graceMs: number): Promise<void>;
}

const NEW_KEY =
  "warning key.made: this home had no signing key any more, so a new one was made; what the lost one signed does not verify. If there is a copy of keys/, bring it back";

export async function openSurety(options: SuretyOptions): Promise<Surety> {
  const { home, config, clock, random, onDefect } = options;
  await assertDatabaseKept(home);
  const ownStore = await openSqliteStore({ home: home.directory, clock, random, lock: options.lock });
  const store = options.overStore?.(ownStore) ?? ownStore;
  try {
    const { seq: ledgerSeq } = await store.ledgerHead();
    const signing = await loadSigningKey(home, random, () => {
      if (ledgerSeq > 0) options.remark?.(NEW_KEY);
    });
    const { tools, marks } = await openBuiltInTools({ home, config, clock });
    const toolbox = createToolbox(withMore(tools, options.moreTools ?? []), {
      clock,
      onDefect: (error) => onDefect("tool", error),
    });
    const chooseModel = overEach(openModelRegistry(config, options.readVariable, clock), options.overModel);
    const redactor = openRedactor(config, options.readVariable, options.token);
    const texts = new PromptTexts((agentId) => config.agents[agentId]?.prompt ?? null);
    const configured = toToolPolicy(config);
    const policy = options.policy ?? (() => configured);
    const drafting: DraftingSettings = {
      store,
      clock,
      random,
      toolbox,
      redactor,
      texts,
      policy,
      ceilings: ceilingsOf(config),
      thinkingMode: config.output.thinking_mode,
      agentThinking: (agentId) => config.agents[agentId]?.thinkingLevel ?? null,
      isAgent: (agentId) => Object.hasOwn(config.agents, agentId),
      chooseModel: chooseModels(config, chooseModel),
    };
    const ports: RunPorts = {
      clock,
      random,
      store,
      toolbox,
      approver: options.approver,
      approvalTimeoutMs: config.approvals.timeoutS * 1000,
      redactor,
      guardFor: guardsByText(),
      model: (ref) => {
        const choice = chooseModel(ref);
        return choice.ok ? choice.model : null;
      },
      livePolicy: policy,
      budgetScopes: configuredBudgetScopes(config.budgets),
      delegate: delegateWith(drafting, () => timestampOf(clock.nowMs())),
      onDefect,
    };
    const runtime = openRuntime(ports, {
      maxQueued: config.gateway.queue.max,
      workers: options.workers ?? config.gateway.queue.workers,
      systemText: (id) => texts.textOf(id),
      onStoreFailure: options.onStoreFailure ?? ((error) => onDefect("store", error)),
    });
    ownStore.onUnavailable((error) => runtime.storeFailed(error));
    const artifactPath = (agentId: string, runId: string): string => `${home.agentsDirectory}/${agentId}/runs/${runId}`;
    const { summarize } = toolbox;
    const assistant = openAssistant({ store, runtime, drafting, signing, artifactPath, summarize });
    const { approvals, capabilities } = runtime;
    return {
      assistant,
      operations: bindOperations({ assistant, approvals, capabilities, marks, toolbox, store, clock }),
      runtime,
      store,
      signing,
      close: async (graceMs) => {
        try {
          await runtime.stop(graceMs);
          if (runtime.isIntact) await appendCheckpoint(store, signing, clock);
        } finally {
          await store.close();
        }
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

function withMore(builtIn: readonly Tool[], more: readonly Tool[]): readonly Tool[] {
  const names = new Set(more.map(({ name }) => name));
  return [...builtIn.filter(({ name }) => !names.has(name)), ...more];
}

function overEach(choose: ChooseModel, over: SuretyOptions["overModel"]): ChooseModel {
  if (over === undefined) return choose;
  return (ref) => {
    const choice = choose(ref);
    return choice.ok ? { ok: true, model: over(choice.model) } : choice;
  };
}

function ceilingsOf({ budgets }: Config): Ceilings {
  return {
    ...DEFAULT_CEILINGS,
    maxSpendMicrousd: microusd(budgets.perRunUsd),
    maxTokensConsumed: budgets.perRunTokens ?? null,
    daySpendMicrousd: microusd(leastOf([budgets.perDayUsd, budgets.perAgentDayUsd, budgets.perJobDayUsd])),
    dayTokens: budgets.perDayTokens ?? null,
  };
}

function leastOf(limits: readonly (number | undefined)[]): number | undefined {
  const set = limits.filter((limit) => limit !== undefined);
  return set.length === 0 ? undefined : Math.min(...set);
}

/** Compiled once a text: runs share prompts. */
function guardsByText(): (texts: readonly string[]) => DisclosureGuard {
  const guards = new Map<string, DisclosureGuard>();
  return (texts) => {
    const key = texts.join("\0");
    const guard = guards.get(key) ?? compileDisclosureGuard(texts);
    guards.set(key, guard);
    return guard;
  };
}

const OPEN_RUNS_PAGE = 1000;

/** What this home says of itself when it stops. */
async function appendCheckpoint(store: Store, { sign }: SigningKey, clock: Clock): Promise<void> {
  const { seq: ledgerSeq, hash: ledgerHead } = await store.ledgerHead();
  if (ledgerSeq === 0) return;
  const openRuns: OpenRun[] = [];
  for (const { runId, contractHash } of await store.openRuns(0, OPEN_RUNS_PAGE)) {
    const { seq, hash } = (await store.headOf(runId)) ?? { seq: 0, hash: genesisHash(contractHash) };
    openRuns.push({ runId, seq, head: hash });
  }
  const data = signCheckpoint({ ledgerSeq, ledgerHead, openRuns }, sign);
  const ts = timestampOf(clock.nowMs());
  await store.commit(
    [{ type: "append-ledger", draft: { kind: "checkpoint.signed", ts, actor: "system", data } }],
    "barrier",
  );
}
