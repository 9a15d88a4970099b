/** The models of a config as the runtime asks for them: adapters made from settings, keys and prices. */
import { resolve } from "node:path";
import { configureModel, ModelConfigError } from "../adapters/models/configure-model.ts";
import { DIRECT_CALL_MODEL } from "../adapters/models/direct-call.ts";
import type { Catalog } from "../adapters/openai-api/read-target.ts";
import type { ModelChoices } from "../assistant/runs/choose-model.ts";
import type { ModelTier } from "../kernel/vocabulary/model-tier.ts";
import { withDeclaredAbilities } from "../runtime/model/declared-abilities.ts";
import { createModelRegistry, type FindModel, type ModelChoice } from "../runtime/model/model-registry.ts";
import type { ModelConfig } from "../runtime/model/model-router.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { ConfiguredModel } from "../runtime/ports/model-backend.ts";
import type { Config, ModelSettings, ProviderSettings } from "./config/config.ts";
import { holdsToolChoice } from "./config/known-providers.ts";
import { apiKeyName, resolveApiKey } from "./config/resolve-api-key.ts";
import {
  configuredRefs,
  type ResolvedModel,
  resolveConfiguredModelRef,
} from "./config/resolve-configured-model-ref.ts";
import type { ReadVariable } from "./environment.ts";
import { expandTilde, packagesIn } from "./home.ts";

export interface ModelSurroundings {
  readonly clock: Clock;
  /** What local models need is installed into it, and paths of their files may begin in it. */
  readonly homeDirectory: string;
  /** Replaces each model that was made. */
  readonly over?: ((model: ConfiguredModel) => ConfiguredModel) | undefined;
}

export function openModelRegistry(
  config: Config,
  readVariable: ReadVariable,
  surroundings: ModelSurroundings,
): FindModel {
  const { over = (model) => model } = surroundings;
  return createModelRegistry((ref) => {
    // Always there, so that whichever process resumes a direct call can finish it.
    if (ref === DIRECT_CALL_MODEL.ref) return { ok: true, ref, make: () => ({ ok: true, model: DIRECT_CALL_MODEL }) };
    const verdict = resolveConfiguredModelRef(config, ref);
    if (!verdict.ok) return verdict;
    const make = (): ModelChoice => {
      const choice = makeModel(verdict.resolved, readVariable, surroundings);
      return choice.ok ? { ok: true, model: over(choice.model) } : choice;
    };
    return { ok: true, ref: verdict.resolved.ref, make };
  });
}

function makeModel(
  resolved: ResolvedModel,
  readVariable: ReadVariable,
  { clock, homeDirectory }: ModelSurroundings,
): ModelChoice {
  const { ref, providerId, modelId, provider, model } = resolved;
  const { kind } = provider;
  const key = resolveApiKey(providerId, provider, readVariable);
  if (!key.ok) return key;
  try {
    const configured = configureModel({
      ref,
      kind,
      baseUrl: provider.baseUrl ?? null,
      model: modelId,
      profile: profileOf(provider, model),
      ...localSettings(resolved, homeDirectory),
      supportsVision: model.supportsVision,
      thinkingLevel: model.thinkingLevel,
      contextWindow: model.contextWindow,
      maxOutputTokens: model.maxOutputTokens,
      price: priceOf(model),
      isFree: model.free,
      apiKey: key.key,
      keyName: apiKeyName(providerId, provider),
      clock,
    });
    const { supportsTools, supportsStreaming } = model;
    const abilities = { supportsTools, supportsStreaming, holdsToolChoice: holdsToolChoice(resolved) };
    return { ok: true, model: withDeclaredAbilities(configured, abilities) };
  } catch (error) {
    if (error instanceof ModelConfigError) return { ok: false, message: error.message };
    throw error;
  }
}

export function profileOf({ kind }: Pick<ProviderSettings, "kind">, { profile }: Pick<ModelSettings, "profile">) {
  return profile ?? (kind === "llama_cpp" ? "grammar-json" : "native-tools");
}

const DEFAULT_IDLE_S = 300;

export function localSettings({ provider, model }: ResolvedModel, homeDirectory: string) {
  const { kind, threads = null, gpu = false, idleS = DEFAULT_IDLE_S } = provider;
  if (kind !== "llama_cpp" || model.modelPath === undefined) return {};
  const modelPath = resolve(homeDirectory, expandTilde(model.modelPath));
  const packageDirectory = packagesIn(homeDirectory);
  return { local: { modelPath, packageDirectory, threads, gpu, idleMs: idleS * 1000 } };
}

const MICROUSD = 1_000_000;

function priceOf({ costPer1kInput, costPer1kOutput }: ModelSettings): ConfiguredModel["price"] {
  if (costPer1kInput === undefined || costPer1kOutput === undefined) return null;
  return { inputPer1k: costPer1kInput * MICROUSD, outputPer1k: costPer1kOutput * MICROUSD };
}

export function modelChoices(config: Config, find: FindModel): ModelChoices {
  return {
    find,
    agentModel: (agentId) => {
      const named = config.agents[agentId]?.model ?? null;
      return typeof named === "object" && named !== null ? `${named.provider}:${named.model}` : named;
    },
    routable: () => {
      const fallback = resolveConfiguredModelRef(config, null);
      if (!fallback.ok) return fallback;
      const enabled = Object.entries(config.models.providers).filter(([, provider]) => provider.enabled);
      const declared = enabled.flatMap(([providerId, { models }]) =>
        Object.entries(models).map(([modelId, model]) => ({ ref: `${providerId}:${modelId}`, providerId, model })),
      );
      const unpriced = declared.filter(({ model }) => model.costPer1kInput === undefined && !model.free);
      const models = {
        ranked: declared.filter(({ model }) => model.tier !== undefined).map(toModelConfig),
        unpriced: new Set(unpriced.map(({ ref }) => ref)),
        fallback: toModelConfig(fallback.resolved),
      };
      return { ok: true, models };
    },
    budgets: config.budgets,
  };
}

/** Who can be asked through the OpenAI-compatible API. */
export function catalogOf(config: Config): Catalog {
  const agents = Object.keys(config.agents).filter((agent) => agent !== "main");
  return { agents: ["main", ...agents], models: configuredRefs(config) };
}

/** The model of an agent's next run, for display. */
export function modelNameOf({ agentModel }: Pick<ModelChoices, "agentModel">, config: Config, agentId: string): string {
  const named = agentModel(agentId);
  if (named !== null) return named;
  const fallback = resolveConfiguredModelRef(config, null);
  return fallback.ok ? fallback.resolved.ref : "";
}

/** By which a model's runs are governed. */
export function tierOf(config: Config, ref: string): ModelTier {
  const choice = resolveConfiguredModelRef(config, ref);
  return (choice.ok ? choice.resolved.model.tier : null) ?? "mid";
}

/** A model without a tier counts as `mid`: the router has no such model but the default, which the main agent works with. */
export function toModelConfig({
  ref,
  providerId,
  model,
}: Pick<ResolvedModel, "ref" | "providerId" | "model">): ModelConfig {
  const { tier = "mid", contextWindow, supportsTools, supportsVision, costPer1kInput = 0, costPer1kOutput = 0 } = model;
  return {
    ...{ id: ref, provider: providerId, tier, contextWindow, supportsTools, supportsVision },
    ...{ costPer1kInput, costPer1kOutput },
  };
}

const VALIDATIONS = ["strict", "warn", "off"] as const;

/** The default model's provider decides (P-1.6); without a default, the strictest one. */
export function startupValidationOf(config: Config): ProviderSettings["startupValidation"] {
  const verdict = resolveConfiguredModelRef(config, null);
  if (verdict.ok) return verdict.resolved.provider.startupValidation;
  const asked = Object.values(config.models.providers).map(({ startupValidation }) => startupValidation);
  return VALIDATIONS.find((mode) => asked.includes(mode)) ?? "warn";
}
