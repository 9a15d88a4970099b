/**
 * Wiring: opens a home and constructs the assistant on it. Makes every adapter and hands it inwards; decides nothing.
 *
 * W1. Everything that was opened is closed in reverse order, also when opening fails half-way.
 * W2. The redactor knows every secret that was read before anything is stored.
 */
import { isWalLost } from "../adapters/store-sqlite/lost-wal.ts";
import { openSqliteStore } from "../adapters/store-sqlite/open-sqlite-store.ts";
import { SessionContext } from "../assistant/context/session-context.ts";
import { Delivery } from "../assistant/delivery/delivery.ts";
import { Pairing } from "../assistant/delivery/pairing.ts";
import { presentEnding } from "../assistant/delivery/presentation.ts";
import { mayMark, ringing } from "../assistant/events/changed-records.ts";
import { EventBus } from "../assistant/events/event-bus.ts";
import { Feed } from "../assistant/events/feed.ts";
import { RunEvents } from "../assistant/events/run-events.ts";
import { Media } from "../assistant/media/media.ts";
import { Messages } from "../assistant/messages/messages.ts";
import { bindOperations } from "../assistant/operations.ts";
import { openAssistant } from "../assistant/runs/open-assistant.ts";
import { Schedule } from "../assistant/schedule/schedule.ts";
import { channelClassOf } from "../assistant/sessions/channel-class.ts";
import { Chat } from "../assistant/sessions/chat.ts";
import { Compaction } from "../assistant/sessions/compaction.ts";
import { SessionImport } from "../assistant/sessions/import-session.ts";
import { SenderLimit } from "../assistant/sessions/sender-limit.ts";
import { Sessions } from "../assistant/sessions/sessions.ts";
import { delegateWith } from "../assistant/subagents/delegate.ts";
import { appendCheckpoint } from "../assistant/verification/append-checkpoint.ts";
import { RecordedRuns } from "../assistant/verification/recorded-runs.ts";
import { getOutputSummaryPrompt } from "../prompts/summary-prompt.ts";
import { Access } from "../runtime/access/access.ts";
import { ESTIMATED_TOKENS } from "../runtime/model/estimate-tokens.ts";
import type { FindModel } from "../runtime/model/model-registry.ts";
import { AUTO } from "../runtime/model/model-router.ts";
import { timestampOf } from "../runtime/ports/clock.ts";
import type { ConfiguredModel } from "../runtime/ports/model-backend.ts";
import { newId } from "../runtime/ports/randomness.ts";
import type { Toolbox } from "../runtime/ports/toolbox.ts";
import type { BegunSession } from "../runtime/run/accept-run.ts";
import type { RunPorts } from "../runtime/run-ports.ts";
import { openRuntime, type Runtime } from "../runtime/runtime.ts";
import { openAdministration } from "./administration/administration.ts";
import { openConfiguration } from "./administration/configuration.ts";
import { configRecorder } from "./administration/record-config.ts";
import { openBuiltInTools } from "./built-in-tools.ts";
import type { Config } from "./config/config.ts";
import { applicable, differences, pathsOf } from "./config/config-changes.ts";
import { policyParser } from "./config/parse-policy.ts";
import { keyNameOf } from "./config/resolve-api-key.ts";
import { modelNameOf, tierOf } from "./configured-models.ts";
import { type ConfiguredParts, configuredParts, type PartsSurroundings } from "./configured-parts.ts";
import { takeHome } from "./gateway-access.ts";
import { assertDatabasePresent } from "./home.ts";
import { liveDrafting } from "./live-parts.ts";
import { openCheckpoints } from "./open-checkpoints.ts";
import { openErasure } from "./open-erasure.ts";
import { openGovernance } from "./open-governance.ts";
import { openLogging } from "./open-logging.ts";
import { type MemoryService, memoryLater, openMemory } from "./open-memory.ts";
import { openRecords } from "./open-records.ts";
import { openRetention } from "./open-retention.ts";
import { openShadow } from "./open-shadow.ts";
import type { Surety, SuretyOptions } from "./opened-surety.ts";
import { loadSigningKey, NEW_KEY } from "./signing-key.ts";
import { openStoredSecrets } from "./stored-secrets.ts";

export async function openSurety(options: SuretyOptions): Promise<Surety> {
  const { home, config, clock, random } = options;
  const { onDefect, ...logging } = openLogging(options);
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
    const { remark } = options;
    const sign = async () => {
      const { seq: ledgerSeq } = await plainStore.ledgerHead();
      const signing = await loadSigningKey(home, random, () => {
        if (ledgerSeq > 0) remark?.(NEW_KEY);
      });
      const opening = { home, store: plainStore, key: signing, clock, isLogLost, remark };
      return { signing, checkpoints: await openCheckpoints(opening) };
    };
    const [{ signing, checkpoints }, builtInTools, storedSecrets] = await Promise.all([
      sign(),
      openBuiltInTools({
        ...{ home, config, clock, memory: memoryLater(() => memories) },
        redactText: (text) => now.redactor.redactText(text).text,
        jobs: () => schedule.jobs(),
      }),
      openStoredSecrets(home, plainStore, random),
    ]);
    const { toolsFor, marks, readAgentFile, inbox } = builtInTools;
    const feed = new Feed(clock, newId("feed", random));
    const store = ringing(feed, checkpoints.over(plainStore));
    const pairing = new Pairing({ store, clock, random });
    const isAccepted = (channel: string, senderId: string) => pairing.isAccepted(channel, senderId);
    const partsSurroundings: PartsSurroundings = {
      ...storedSecrets.lookup,
      ...{ clock, random, isAccepted, token: options.token, toolsFor, onDefect },
      homeDirectory: options.modelsHome ?? home.directory,
      ...{ moreTools: options.moreTools ?? [], overModel: options.overModel },
    };
    let now = configuredParts({ config, readVariable: options.readVariable }, partsSurroundings, null);
    /** With what waits for a restart. */
    let written = options.written ?? config;
    const governance = openGovernance({
      ...{ store, clock, onDefect, settings: () => now.config.governance, isBusy: () => runtime.isBusy },
      tierOf: (model) => tierOf(now.config, model),
    });
    const { policyState } = governance;
    const drafting = liveDrafting(() => now, { clock, random, store, inbox, policyState });
    const { redactor, texts, limitsOf } = drafting;
    logging.use(() => now, redactor);
    const findModel: FindModel = (ref) => now.findModel(ref);
    const configuredModel = (ref: string): ConfiguredModel | null => {
      const choice = findModel(ref);
      return choice.ok ? choice.model : null;
    };
    const memories: MemoryService = openMemory({
      ...{ store, clock, random, redactor, settings: () => now, warn: logging.warn },
      homeDirectory: home.directory,
      isBusy: () => runtime.isBusy,
    });
    const sessionContext = new SessionContext({
      memories,
      ...{ store, texts, limitsOf, readAgentFile, redactor, model: configuredModel, clock },
      idleMs: () => now.config.sessions.idleMs,
      get toolbox() {
        return now.toolbox;
      },
    });
    const ports: RunPorts = {
      ...{ clock, random, store, redactor, presentEnding, onDefect },
      onModelCall: (call) => logging.requests.called(call),
      get toolbox() {
        return now.toolbox;
      },
      approver: {
        isReachable: () => options.approver.isReachable(),
        ask: (card) => {
          options.approver.ask(card);
          messages.broadcaster.asked(card);
          logging.requests.asked(card);
        },
        withdraw: (id) => options.approver.withdraw(id),
      },
      get approvalTimeoutMs() {
        return now.config.approvals.timeoutS * 1000;
      },
      model: configuredModel,
      livePolicy: () => now.policy,
      get budgetScopes() {
        return now.budgetScopes;
      },
      delegate: delegateWith(drafting, () => timestampOf(clock.nowMs())),
      completePrompt: sessionContext.complete,
    };
    const record = configRecorder(store, clock);
    const install = async (parts: ConfiguredParts, whole: Config, paths: readonly string[]): Promise<void> => {
      written = whole;
      now = parts;
      sessionContext.forgetTurns();
      events.emit("config.changed", { file: home.configFile, paths });
      await delivery.reconfigured();
      shadow.reconfigured(paths);
      await schedule.changed();
    };
    const configuration = openConfiguration({
      ...{ home, random },
      prepare: (next) => {
        const parts = configuredParts(next, partsSurroundings, now);
        return async ({ paths, config: whole, by, write }) => {
          // The ledger first: an operator's act is on record before it takes effect.
          await record(paths, whole, by);
          await write();
          options.onReconfigured?.({ ...next, config: whole });
          await install(parts, whole, paths);
        };
      },
      settings: () => now,
      readVariables: async () => (await now.readVariable.readAgain?.()) ?? now.readVariable,
      isSecret: (text) => now.secretsOnly.redactText(text).text !== text,
    });
    const secrets = storedSecrets.service({
      ...{ store, clock },
      prepare: (stored) => configuredParts(now, { ...partsSurroundings, stored }, now),
      install: (parts) => {
        now = parts;
        return delivery.reconfigured();
      },
    });
    const events = options.events ?? new EventBus((error) => onDefect("event-handler", error));
    const configChanged = (): void => {
      retention.wake();
      for (const record of ["config", "policy", "model", "budget"] as const) feed.changed(record, null);
    };
    events.on("config.changed", configChanged);
    const runEvents = new RunEvents(events, clock, () => now.config.sessions.idleMs);
    const sessionCreated = ({ sessionId, agentId, channel }: BegunSession["session"]): void =>
      events.emit("session.created", { sessionId, agentId, channel });
    const records = openRecords({
      ...{ store, plainStore, clock, home, onDefect, context: sessionContext },
      sessions: () => now.config.sessions,
      isBusy: () => runtime.isBusy,
    });
    const compaction = new Compaction({
      ...{ store, drafting, context: sessionContext, submit: (draft) => runtime.submit(draft) },
      countTokens: (model) => (configuredModel(model)?.tokens ?? ESTIMATED_TOKENS).count,
      onDefect: (error) => onDefect("compaction", error),
    });
    const runtime: Runtime = openRuntime(ports, {
      get maxQueued() {
        return now.config.gateway.queue.max;
      },
      get workers() {
        return options.workers ?? now.config.gateway.queue.workers;
      },
      systemText: (id) => texts.textOf(id),
      outputSummaryInstruction: getOutputSummaryPrompt().content,
      onApprovalDecided: () => delivery.wake(),
      onEntries: (run, entries) => {
        runEvents.entries(run, entries);
        logging.requests.entries(run, entries);
        if (entries.some(mayMark)) feed.changed("mark", null);
        messages.broadcaster.published(run.runId);
      },
      onRunEnded: (run) => {
        options.telemetry?.runEnded(plainStore, run);
        runEvents.ended(run);
        feed.changed("session", run.sessionId);
        records.wake();
        governance.wake();
        delivery.wake();
        compaction.runEnded(run);
      },
      onStoreFailure: options.onStoreFailure ?? ((error) => onDefect("store", error)),
    });
    const erasure = openErasure({ store, clock, home, context: sessionContext, records, redactor, inbox, onDefect });
    await erasure.resume();
    const retention = openRetention({
      ...{ store, clock, home, records, onDefect, erasure: erasure.erasure },
      limits: () => now.config.retention,
      isBusy: () => runtime.isBusy,
    });
    if (options.workers !== 0) retention.wake();
    // What ended before a crash, and is in no file yet.
    if (options.workers !== 0) {
      records.wake();
      governance.wake();
    }
    ownStore.onUnavailable((error) => runtime.storeFailed(error));
    const nameOfKey = (model: string): string | null => keyNameOf(now.config, model);
    const summarize: Toolbox["summarize"] = (call) => now.toolbox.summarize(call);
    const assistant = openAssistant({
      onAccepted: (runId, begun) => {
        records.follow(runtime, runId);
        messages.broadcaster.published(runId);
        if (begun !== null) sessionCreated(begun);
      },
      ...{ store, runtime, drafting, signing, summarize, keyNameOf: nameOfKey },
      agentsDirectory: home.agentsDirectory,
    });
    const { approvals, capabilities } = runtime;
    const sessions = new Sessions({
      ...{ store, clock, random, capabilities, context: sessionContext, limitsOf },
      get idleMs() {
        return now.config.sessions.idleMs;
      },
      onCreated: sessionCreated,
      onDefect: (error) => onDefect("session", error),
      modelOf: (agentId) => modelNameOf(now.choices, now.config, agentId),
    });
    const limit = new SenderLimit(clock, () => now.config.gateway.rateLimit.perMinute);
    const channelClass = (channel: string) => now.config.channels[channel]?.class ?? channelClassOf(channel);
    const chat = new Chat({
      ...{ store, sessions, assistant, approvals, compaction, channelClass, limit },
      get identities() {
        return now.config.identities;
      },
      activation: (channel) => now.config.channels[channel]?.activation ?? "mention",
      onMessage: (message) => events.emit("message.inbound", message),
      modelProblem: (ref) => {
        const choice = ref === AUTO ? null : findModel(ref);
        return choice === null || choice.ok ? null : choice.message;
      },
    });
    const delivery: Delivery = new Delivery({
      ...{ store, clock, random, chat, pairing, limit, approvals, events },
      channels: () => now.channels,
      approvalTimeoutMs: () => now.config.approvals.timeoutS * 1000,
      onDefect: (error) => onDefect("outbox", error),
    });
    const shadowParts = { home, store, clock, random, redactor, assistant, events, remark, onDefect };
    const shadow = openShadow({ ...shadowParts, config: () => now.config });
    const schedule: Schedule = new Schedule({
      ...{ store, clock, random, redactor, assistant, sessions, isAccepted },
      maxJobs: () => now.config.scheduler.maxJobs,
      timeZone: () => now.config.scheduler.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
      isEnabled: () => now.config.scheduler.enabled,
      onDefect: (error) => onDefect("scheduler", error),
    });
    const media = new Media({ store, clock, redactor });
    const messages: Messages = new Messages({
      ...{ store, clock, random, events, chat, media, pairing, channelClass, keyNameOf: nameOfKey },
      runtime: () => runtime,
      onDefect: (error) => onDefect("messages", error),
    });
    const access = new Access({
      ...{ store, clock, random },
      token: options.token,
      replaceToken: options.replaceToken ?? null,
    });
    await access.load();
    const parsePolicy = policyParser(() => now.config);
    const administration = openAdministration({
      ...{ home, store, clock, random, findModel, onDefect, settings: () => now, written: () => written },
      toolbox: () => now.toolbox,
      tools: () => now.tools,
      workers: () => options.workers ?? now.config.gateway.queue.workers,
      settingsProblem: options.settingsProblem ?? (() => null),
      runConformance: options.runConformance,
      onChange: () => feed.changed("model", null),
    });
    return {
      assistant,
      access,
      media,
      conversations: messages,
      delivery,
      shadow,
      schedule,
      events,
      operations: bindOperations({
        ...{ assistant, approvals, capabilities, marks, memories, store, clock, sessions, media, secrets, chat },
        ...{ compaction, delivery, shadow, schedule, feed, access, configuration, ...administration, ...erasure },
        governance: governance.service,
        get toolbox() {
          return now.toolbox;
        },
        recorded: new RecordedRuns(store, parsePolicy),
      }),
      runtime,
      store,
      signing,
      toolbox: now.toolbox,
      findModel,
      subAgents: drafting.subAgents,
      sessionImport: new SessionImport({ store, clock, random, redactor, onImported: () => records.wake() }),
      reconfigure: async (next) => {
        const parts = configuredParts({ ...next, config: applicable(next.config, now.config) }, partsSurroundings, now);
        const paths = pathsOf(differences(written, next.config));
        await install(parts, next.config, paths);
        await record(paths, next.config, "file");
      },
      close: async (graceMs) => {
        try {
          feed.close();
          access.close();
          events.off("config.changed", configChanged);
          runEvents.stop();
          messages.close();
          await shadow.stop();
          await schedule.stop();
          await memories.close();
          await Promise.all([runtime.stop(graceMs), delivery.stop(graceMs), administration.conformance.close()]);
          await retention.close();
          await erasure.settle();
          await governance.close(runtime.isIntact);
          await records.close(runtime.isIntact);
          if (runtime.isIntact) {
            await appendCheckpoint(plainStore, signing.sign, clock);
            await checkpoints.close();
          }
        } finally {
          await logging.close();
          await closeStore();
        }
      },
    };
  } catch (error) {
    await closeStore();
    throw error;
  }
}
