/** Opens a home for a program that embeds Surety: the wiring of `open-surety.ts`, shown as the seeds' interfaces. */
import { PromptTexts } from "../../assistant/context/prompt-texts.ts";
import { channelClassOf } from "../../assistant/sessions/channel-class.ts";
import { verifyStoredRun } from "../../assistant/verification/verify-stored-run.ts";
import { asRunId } from "../../kernel/vocabulary/identifiers.ts";
import { createChatBackend, createLLMClient, LLMError } from "../../runtime/model/llm-client.ts";
import { createModelRouter, taskOf } from "../../runtime/model/model-router.ts";
import type { ConfiguredModel } from "../../runtime/ports/model-backend.ts";
import type { Config } from "../config/config.ts";
import { toBootError } from "../config/config-problem.ts";
import { contextLimits } from "../config/context-limits.ts";
import { loadConfig } from "../config/load-config.ts";
import { resolveConfiguredModelRef } from "../config/resolve-configured-model-ref.ts";
import { toToolPolicy } from "../config/to-tool-policy.ts";
import { modelChoices, toModelConfig } from "../configured-models.ts";
import { readProcessVariable, withEnvFile } from "../environment.ts";
import { loadToken } from "../gateway-access.ts";
import { findHome, openHome } from "../home.ts";
import * as wiring from "../open-surety.ts";
import type { Surety as OpenedSurety } from "../opened-surety.ts";
import { systemClock } from "../system-clock.ts";
import { systemRandomness } from "../system-randomness.ts";
import { keepParts } from "./embedded-parts.ts";
import { EmbeddedSessions } from "./embedded-sessions.ts";
import { Questions } from "./questions.ts";
import type { EventBus, OpenOptions, Surety } from "./surety-api.ts";
import { ToolRegistry } from "./tool-registry.ts";

const STOP_GRACE_MS = 5_000;

export async function openSurety(options: OpenOptions = {}): Promise<Surety> {
  const home = findHome(options.home, readProcessVariable);
  const config = await (options.config === undefined ? loadConfig(home.configFile) : readGiven(options.config));
  const readVariable = await withEnvFile(readProcessVariable, home.envFile);
  await openHome(home);
  const onDefect = options.onDefect ?? warn;
  const questions = new Questions(options.onQuestion, onDefect);
  const policy = toToolPolicy(config);
  const opened = await wiring.openSurety({
    ...{ home, config, readVariable, onDefect, approver: questions, clock: systemClock, random: systemRandomness },
    token: await loadToken(home, readVariable, systemRandomness),
  });
  const { assistant, store, toolbox, runtime, findModel, operations, subAgents } = opened;
  questions.decide = (verdict) => runtime.approvals.decide(verdict);
  const closing = new AbortController();
  let closed: Promise<void> | null = null;
  const surety: Surety = {
    get tools() {
      return tools;
    },
    events: opened.events as EventBus,
    sessions: new EmbeddedSessions(operations, findModel),
    get router() {
      const routable = modelChoices(config, findModel).routable();
      if (!routable.ok) throw new LLMError("model.unknown", routable.message);
      return createModelRouter(routable.models);
    },
    client: (ref) => {
      const resolved = resolveConfiguredModelRef(config, ref ?? null);
      if (!resolved.ok) throw new LLMError(resolved.code, resolved.message);
      return createLLMClient(found(findModel(resolved.resolved.ref)), toModelConfig(resolved.resolved));
    },
    backend: (ref) => createChatBackend(found(findModel(ref ?? null))),
    verify: async (runId) => {
      const run = await store.findRun(asRunId(runId));
      if (run === null) return { ok: false, entry: 0, problem: `there is no run ${runId}` };
      const verified = await verifyStoredRun(store, run);
      if (!verified.ok) return verified;
      return { ok: true, entries: verified.entries.length, head: verified.entries.at(-1)?.hash ?? "" };
    },
    recover: () => runtime.recover(),
    close: () => {
      closing.abort();
      closed ??= opened.close(STOP_GRACE_MS);
      return closed;
    },
  };
  const { signal } = closing;
  const tools = new ToolRegistry(
    keepParts(surety, {
      ...{ assistant, store, toolbox, questions, operations, findModel, subAgents },
      defaultModelOf: (agentId) =>
        modelChoices(config, findModel).agentModel(agentId) ?? surety.router.selectModel(taskOf("subagent", 0)).id,
      ...{ policy: () => policy, closing: signal },
      texts: new PromptTexts((agentId) => subAgents.promptOf(agentId)),
      limitsOf: contextLimits(config),
      channelClass: (channel) => config.channels[channel]?.class ?? channelClassOf(channel),
    }),
  );
  return surety;
}

async function readGiven(given: Readonly<Record<string, unknown>>): Promise<Config> {
  const { readConfig } = await import("../config/read-config.ts");
  const verdict = readConfig(JSON.stringify(given), "config");
  if (!verdict.ok) throw toBootError(verdict.problems);
  return verdict.config;
}

function found(choice: ReturnType<OpenedSurety["findModel"]>): ConfiguredModel {
  if (!choice.ok) throw new LLMError("model.unknown", choice.message);
  return choice.model;
}

function warn(errorId: string, error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error), { code: errorId, type: "SuretyDefect" });
}
