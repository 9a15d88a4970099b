/**
 * Wiring: opens a home and constructs the assistant on it. Makes every adapter and hands it inwards; decides nothing.
 *
 * W1. Everything that was opened is closed in reverse order, also when opening fails half-way.
 * W2. The redactor knows every secret that was read before anything is stored.
 */
import { SessionFiles } from "../adapters/records/session-files.ts";
import type { HomeLock } from "../adapters/store-sqlite/home-lock.ts";
import { isWalLost } from "../adapters/store-sqlite/lost-wal.ts";
import { openSqliteStore } from "../adapters/store-sqlite/open-sqlite-store.ts";
import { createToolbox, type RegistryToolbox } from "../adapters/tools/create-toolbox.ts";
import type { Tool } from "../adapters/tools/define-tool.ts";
import { PromptTexts } from "../assistant/context/prompt-texts.ts";
import { SessionContext } from "../assistant/context/session-context.ts";
import { Delivery } from "../assistant/delivery/delivery.ts";
import { Pairing } from "../assistant/delivery/pairing.ts";
import { presentEnding } from "../assistant/delivery/presentation.ts";
import { mayMark, ringing } from "../assistant/events/changed-records.ts";
import { EventBus } from "../assistant/events/event-bus.ts";
import { Feed } from "../assistant/events/feed.ts";
import { RunEvents } from "../assistant/events/run-events.ts";
import { type Conversations, Messages } from "../assistant/messages/messages.ts";
import { bindOperations, type OperationClient } from "../assistant/operations.ts";
import { modelChooser } from "../assistant/runs/choose-model.ts";
import { type DraftingSettings, delegateWith } from "../assistant/runs/draft-run.ts";
import { type Assistant, openAssistant } from "../assistant/runs/open-assistant.ts";
import { ceilingsFor } from "../assistant/runs/term-bounds.ts";
import { channelClassOf } from "../assistant/sessions/channel-class.ts";
import { Chat } from "../assistant/sessions/chat.ts";
import { Compaction } from "../assistant/sessions/compaction.ts";
import { SessionImport } from "../assistant/sessions/import-session.ts";
import { SenderLimit } from "../assistant/sessions/sender-limit.ts";
import { Sessions } from "../assistant/sessions/sessions.ts";
import { appendCheckpoint } from "../assistant/verification/append-checkpoint.ts";
import { RecordedRuns } from "../assistant/verification/recorded-runs.ts";
import type { ToolPolicy } from "../kernel/policy/tool-policy.ts";
import type { Secret } from "../kernel/redaction/known-secrets.ts";
import { compileRedactor, type Redactor } from "../kernel/redaction/redact.ts";
import { getOutputSummaryPrompt } from "../prompts/summary-prompt.ts";
import { Access } from "../runtime/access/access.ts";
import { ESTIMATED_TOKENS } from "../runtime/model/estimate-tokens.ts";
import type { FindModel } from "../runtime/model/model-registry.ts";
import { AUTO } from "../runtime/model/model-router.ts";
import type { Approver } from "../runtime/ports/approver.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import { timestampOf } from "../runtime/ports/clock.ts";
import type { ConfiguredModel } from "../runtime/ports/model-backend.ts";
import { newId, type RandomBytes } from "../runtime/ports/randomness.ts";
import type { Store } from "../runtime/ports/store.ts";
import type { BegunSession } from "../runtime/run/accept-run.ts";
import type { RunPorts } from "../runtime/run-ports.ts";
import { openRuntime, type Runtime } from "../runtime/runtime.ts";
import { configuredBudgetScopes } from "../runtime/spend/budget-scopes.ts";
import { BootError } from "./boot-error.ts";
import { openBuiltInTools, toolTimeouts } from "./built-in-tools.ts";
import type { Config } from "./config/config.ts";
import { contextLimits } from "./config/context-limits.ts";
import { policyParser } from "./config/parse-policy.ts";
import { keyNameOf, resolveApiKey } from "./config/resolve-api-key.ts";
import { toToolPolicy } from "./config/to-tool-policy.ts";
import { channelSecrets, configuredChannels } from "./configured-channels.ts";
import { modelChoices, modelNameOf, openModelRegistry } from "./configured-models.ts";
import { secretsIn } from "./env-secrets.ts";
import type { ReadVariable } from "./environment.ts";
import { takeHome } from "./gateway-access.ts";
import { assertDatabasePresent, type Home } from "./home.ts";
import { openCheckpoints } from "./open-checkpoints.ts";
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
  /** Prints a line for the operator. */
  readonly remark?: (line: string) => void;
  /** The live tool policy; absent: the config's. */
  readonly policy?: () => ToolPolicy;
  /** Called once, when nothing can be written any more: what is in memory must not be acted on. */
  readonly onStoreFailure?: (error: unknown) => void;
  /** The home's lock, if the caller holds it for longer than the store is open. */
  readonly lock?: HomeLock | undefined;
  /** Runs at the same time; absent: as configured. */
  readonly workers?: number | undefined;
  /** Outlives this opening; absent: one of its own. */
  readonly events?: EventBus;
  /** Additional tools; they replace built-in tools of the same name. */
  readonly moreTools?: readonly Tool[];
  /** Replaces each configured model. */
  readonly overModel?: (model: ConfiguredModel) => ConfiguredModel;
  /** Replaces the home's own store. */
  readonly overStore?: (store: Store) => Store;
}

export interface Surety {
  readonly assistant: Assistant;
  readonly events: EventBus;
  /** Closed until it is started: a command delivers nothing. */
  readonly delivery: Delivery;
  readonly operations: OperationClient;
  readonly conversations: Conversations;
  readonly access: Access;
  readonly runtime: Runtime;
  readonly store: Store;
  readonly signing: SigningKey;
  readonly toolbox: RegistryToolbox;
  readonly findModel: FindModel;
  readonly sessionImport: SessionImport;
  close(graceMs: number): Promise<void>;
}

const NEW_KEY =
  "warning key.made: the signing key of this home was missing, so a new one was made; signatures of the old key no longer verify. If you have a copy of keys/, restore it";

export async function openSurety(options: SuretyOptions): Promise<Surety> {
  const { home, config, clock, random, onDefect } = options;
  await assertDatabasePresent(home);
  const ownLock = options.lock === undefined ? takeHome(home) : null;
  const lock = options.lock ?? ownLock ?? undefined;
  const isLogLost = isWalLost(home.database);
  const ownStore = await openSqliteStore({ home: home.directory, clock, random, lock }).catch((error: unknown) => {
    ownLock?.release();
    throw error;
  });
  const plainStore = options.overStore?.(ownStore) ?? ownStore;
  const closeStore = (): Promise<void> => plainStore.close().finally(() => ownLock?.release());
  try {
    const { seq: ledgerSeq } = await plainStore.ledgerHead();
    const signing = await loadSigningKey(home, random, () => {
      if (ledgerSeq > 0) options.remark?.(NEW_KEY);
    });
    const { remark } = options;
    const checkpoints = await openCheckpoints({ home, store: plainStore, key: signing, clock, isLogLost, remark });
    const feed = new Feed(clock, newId("feed", random));
    const store = ringing(feed, checkpoints.over(plainStore));
    const pairing = new Pairing({ store, clock, random });
    const channels = configuredChannels(config, {
      ...{ readVariable: options.readVariable, clock, random },
      isAccepted: (channel, senderId) => pairing.isAccepted(channel, senderId),
    });
    const { tools, marks, readAgentFile } = await openBuiltInTools({
      ...{ home, config, clock },
      channels: channels.map(({ channel }) => channel),
    });
    const toolbox = createToolbox(withMore(tools, options.moreTools ?? []), {
      ...{ clock, timeouts: toolTimeouts(config) },
      onDefect: (error) => onDefect("tool", error),
    });
    const findModel = openModelRegistry(config, options.readVariable, clock, options.overModel);
    const redactor = openRedactor(config, options.readVariable, options.token);
    const texts = new PromptTexts((agentId) => config.agents[agentId]?.prompt ?? null);
    const configured = toToolPolicy(config);
    const policy = options.policy ?? (() => configured);
    const choices = modelChoices(config, findModel);
    const limitsOf = contextLimits(config);
    const drafting: DraftingSettings = {
      store,
      clock,
      random,
      toolbox,
      redactor,
      texts,
      policy,
      ceilings: ceilingsFor(config.budgets),
      thinkingMode: config.output.thinking_mode,
      agentThinking: (agentId) => config.agents[agentId]?.thinkingLevel ?? null,
      limitsOf,
      isAgent: (agentId) => Object.hasOwn(config.agents, agentId),
      chooseModel: modelChooser(choices),
    };
    const configuredModel = (ref: string): ConfiguredModel | null => {
      const choice = findModel(ref);
      return choice.ok ? choice.model : null;
    };
    const sessionContext = new SessionContext({
      ...{ store, toolbox, texts, limitsOf, readAgentFile, redactor, model: configuredModel },
    });
    const ports: RunPorts = {
      clock,
      random,
      store,
      toolbox,
      approver: {
        isReachable: () => options.approver.isReachable(),
        ask: (card) => {
          options.approver.ask(card);
          messages.broadcaster.asked(card);
        },
        withdraw: (id) => options.approver.withdraw(id),
      },
      approvalTimeoutMs: config.approvals.timeoutS * 1000,
      redactor,
      model: configuredModel,
      livePolicy: policy,
      budgetScopes: configuredBudgetScopes(config.budgets),
      delegate: delegateWith(drafting, () => timestampOf(clock.nowMs())),
      completePrompt: sessionContext.complete,
      presentEnding,
      onDefect,
    };
    const events = options.events ?? new EventBus((error) => onDefect("event-handler", error));
    const configChanged = (): void => {
      for (const record of ["config", "policy", "model", "budget"] as const) feed.changed(record, null);
    };
    events.on("config.changed", configChanged);
    const runEvents = new RunEvents(events, clock, config.sessions.idleMs);
    const sessionCreated = ({ sessionId, agentId, channel }: BegunSession["session"]): void =>
      events.emit("session.created", { sessionId, agentId, channel });
    const sessionFiles = new SessionFiles({
      ...{ store, clock, context: sessionContext, agentsDirectory: home.agentsDirectory },
      ...{ maxBytes: config.sessions.maxBytes, storePartials: config.sessions.storePartials },
      onError: (error) => onDefect("session-files", error),
    });
    const compaction = new Compaction({
      ...{ store, drafting, context: sessionContext, submit: (draft) => runtime.submit(draft) },
      countTokens: (model) => (configuredModel(model)?.tokens ?? ESTIMATED_TOKENS).count,
      onDefect: (error) => onDefect("compaction", error),
    });
    const runtime: Runtime = openRuntime(ports, {
      maxQueued: config.gateway.queue.max,
      workers: options.workers ?? config.gateway.queue.workers,
      systemText: (id) => texts.textOf(id),
      outputSummaryInstruction: getOutputSummaryPrompt().content,
      onApprovalDecided: () => delivery.wake(),
      onEntries: (run, entries) => {
        runEvents.entries(run, entries);
        if (entries.some(mayMark)) feed.changed("mark", null);
        messages.broadcaster.published(run.runId);
      },
      onRunEnded: (run) => {
        runEvents.ended(run);
        feed.changed("session", run.sessionId);
        sessionFiles.wake();
        delivery.wake();
        compaction.runEnded(run);
      },
      onStoreFailure: options.onStoreFailure ?? ((error) => onDefect("store", error)),
    });
    // What ended before a crash, and is in no file yet.
    if (options.workers !== 0) sessionFiles.wake();
    ownStore.onUnavailable((error) => runtime.storeFailed(error));
    const { agentsDirectory } = home;
    const nameOfKey = (model: string): string | null => keyNameOf(config, model);
    const { summarize } = toolbox;
    const assistant = openAssistant({
      onAccepted: (runId, begun) => {
        sessionFiles.follow(runtime, runId);
        messages.broadcaster.published(runId);
        if (begun !== null) sessionCreated(begun);
      },
      ...{ store, runtime, drafting, signing, agentsDirectory, summarize, keyNameOf: nameOfKey },
    });
    const { approvals, capabilities } = runtime;
    const sessions = new Sessions({
      ...{ store, clock, random, capabilities, context: sessionContext, limitsOf, idleMs: config.sessions.idleMs },
      onCreated: sessionCreated,
      onDefect: (error) => onDefect("session", error),
      modelOf: (agentId) => modelNameOf(choices, config, agentId),
    });
    const limit = new SenderLimit(clock, config.gateway.rateLimit.perMinute);
    const channelClass = (channel: string) => config.channels[channel]?.class ?? channelClassOf(channel);
    const chat = new Chat({
      ...{ store, sessions, assistant, approvals, compaction, identities: config.identities },
      activation: (channel) => config.channels[channel]?.activation ?? "mention",
      channelClass,
      limit,
      onMessage: (message) => events.emit("message.inbound", message),
      modelProblem: (ref) => {
        const choice = ref === AUTO ? null : findModel(ref);
        return choice === null || choice.ok ? null : choice.message;
      },
    });
    const delivery: Delivery = new Delivery({
      ...{ store, clock, random, chat, pairing, limit, channels, approvals, events },
      approvalTimeoutMs: config.approvals.timeoutS * 1000,
      onDefect: (error) => onDefect("outbox", error),
    });
    const messages: Messages = new Messages({
      ...{ store, clock, random, events, chat, pairing, channelClass, keyNameOf: nameOfKey },
      runtime: () => runtime,
      onDefect: (error) => onDefect("messages", error),
    });
    const access = new Access({ clock, random, token: options.token });
    return {
      assistant,
      access,
      conversations: messages,
      delivery,
      events,
      operations: bindOperations({
        ...{
          assistant,
          approvals,
          capabilities,
          marks,
          toolbox,
          store,
          clock,
          sessions,
          chat,
          compaction,
          delivery,
          feed,
          access,
        },
        recorded: new RecordedRuns(
          store,
          policyParser(() => config),
        ),
      }),
      runtime,
      store,
      signing,
      toolbox,
      findModel,
      sessionImport: new SessionImport({ store, clock, random, redactor, onImported: () => sessionFiles.wake() }),
      close: async (graceMs) => {
        try {
          feed.close();
          events.off("config.changed", configChanged);
          runEvents.stop();
          messages.close();
          await Promise.all([runtime.stop(graceMs), delivery.stop(graceMs)]);
          if (runtime.isIntact) {
            await sessionFiles.close();
            await appendCheckpoint(plainStore, signing.sign, clock);
            await checkpoints.close();
          }
        } finally {
          await closeStore();
        }
      },
    };
  } catch (error) {
    await closeStore();
    throw error;
  }
}

function withMore(builtIn: readonly Tool[], more: readonly Tool[]): readonly Tool[] {
  const names = new Set(more.map(({ name }) => name));
  return [...builtIn.filter(({ name }) => !names.has(name)), ...more];
}

/** Knows every secret this process has read: provider keys, its own bearer token, and what else `.env` holds. */
function openRedactor(config: Config, readVariable: ReadVariable, token: string | null): Redactor {
  const keys = Object.entries(config.models.providers).flatMap(([id, provider]) => {
    const verdict = resolveApiKey(id, provider, readVariable);
    return verdict.ok && verdict.key !== null ? [{ name: `${id}-key`, value: verdict.key }] : [];
  });
  const own = [...keys, ...channelSecrets(config, readVariable)];
  const ours = token === null ? own : [...own, { name: "gateway-token", value: token }];
  const values = new Set(ours.map(({ value }) => value));
  const others = secretsIn(readVariable.fileVariables ?? new Map()).filter(({ value }) => !values.has(value));
  return compileWith(config, ours, others);
}

/** A variable's name stands for its value in what is stored; one that cannot gives way to a number. */
function compileWith(config: Config, ours: readonly Secret[], others: readonly Secret[]): Redactor {
  const secrets = [...ours, ...others];
  const { emails, phones } = config.redaction;
  const verdict = compileRedactor({ secrets, emails, phones });
  if (verdict.ok) return verdict.redactor;
  const { index, reason } = verdict;
  const number = `env-${index}`;
  const refused = secrets[index];
  const isAboutName = reason === "name-invalid" || reason === "name-repeated" || reason === "name-holds-secret";
  if (refused !== undefined && isAboutName && index >= ours.length && refused.name !== number) {
    return compileWith(config, ours, others.with(index - ours.length, { ...refused, name: number }));
  }
  throw new BootError(
    "secret.unusable",
    `${refused?.name ?? "a secret"} cannot be redacted (${reason})`,
    "A key or token must be longer than a common word and at most 8 kB.",
  );
}
