/**
 * The configured models, made when they are first asked for.
 *
 * G1. A missing key is an error of the one provider it belongs to; nothing else is tried instead (P-0).
 */
import { configureModel, ModelConfigError } from "../adapters/models/configure-model.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { ConfiguredModel } from "../runtime/ports/model-backend.ts";
import type { Config, ModelRef, ModelSettings } from "./config/config.ts";
import { holdsToolChoice } from "./config/known-providers.ts";
import { apiKeyName, resolveApiKey } from "./config/resolve-api-key.ts";
import { type ResolvedModel, resolveConfiguredModelRef } from "./config/resolve-configured-model-ref.ts";
import { withDeclaredAbilities } from "./declared-abilities.ts";
import type { ReadVariable } from "./environment.ts";

export type ModelChoice =
  | { readonly ok: true; readonly model: ConfiguredModel }
  | { readonly ok: false; readonly message: string };

export type ChooseModel = (ref: string | ModelRef | null) => ModelChoice;

export function openModelRegistry(config: Config, readVariable: ReadVariable, clock: Clock): ChooseModel {
  const made = new Map<string, ModelChoice>();
  return (ref) => {
    const verdict = resolveConfiguredModelRef(config, ref);
    if (!verdict.ok) return verdict;
    const choice = made.get(verdict.resolved.ref) ?? makeModel(verdict.resolved, readVariable, clock);
    // A key that is missing now may be there the next time.
    if (choice.ok) made.set(verdict.resolved.ref, choice);
    return choice;
  };
}

function makeModel(resolved: ResolvedModel, readVariable: ReadVariable, clock: Clock): ModelChoice {
  const { ref, providerId, modelId, provider, model } = resolved;
  const { kind } = provider;
  if (kind === "llama_cpp") {
    return { ok: false, message: `Models of kind ${kind} are not there yet: use openai_compatible or anthropic` };
  }
  if (model.profile === "grammar-json") return { ok: false, message: "The profile grammar-json is not there yet" };
  const key = resolveApiKey(providerId, provider, readVariable);
  if (!key.ok) return key;
  try {
    const configured = configureModel({
      ref,
      kind,
      baseUrl: provider.baseUrl ?? null,
      model: modelId,
      profile: model.profile ?? "native-tools",
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

const MICROUSD = 1_000_000;

function priceOf({ costPer1kInput, costPer1kOutput }: ModelSettings): ConfiguredModel["price"] {
  if (costPer1kInput === undefined || costPer1kOutput === undefined) return null;
  return { inputPer1k: costPer1kInput * MICROUSD, outputPer1k: costPer1kOutput * MICROUSD };
}
