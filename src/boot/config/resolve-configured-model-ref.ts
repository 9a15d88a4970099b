/**
 * Which model does a reference mean (P-1.4)? The function's name is the seed's.
 *
 * M1. A reference splits at its first colon: models' names may hold more of them.
 * M2. A model that is not configured or is disabled is an error; no other is taken instead (P-0).
 * M3. Without a reference: `models.default`; without that the only provider's default model; without any provider the
 *     built-in model. Among several providers the operator must choose.
 * M4. A local model's window is raised to MINIMUM_CONTEXT_TOKENS, since local servers allocate what is asked for. A remote
 *     model's window is left as configured (P-1.5).
 */
import { nearest } from "../nearest.ts";
import type { Config, ModelRef, ModelSettings, ProviderSettings } from "./config.ts";
import { BUILTIN, BUILTIN_PROVIDER, BUILTIN_REF } from "./known-providers.ts";

export interface ResolvedModel {
  /** `provider:model`. */
  readonly ref: string;
  readonly providerId: string;
  readonly modelId: string;
  readonly provider: ProviderSettings;
  readonly model: ModelSettings;
}

export type ModelVerdict =
  | { readonly ok: true; readonly resolved: ResolvedModel }
  | { readonly ok: false; readonly code: "model.unknown" | "model.disabled" | "model.unset"; readonly message: string };

export function resolveConfiguredModelRef(config: Config, ref: string | ModelRef | null): ModelVerdict {
  const wanted = ref ?? defaultRef(config);
  if (wanted === null) {
    const choices = configuredRefs(config).join(", ") || "none is enabled";
    return refuse("model.unset", `No default model: set models.default, or name one of: ${choices}`);
  }
  const { provider: providerId, model: modelId } = splitModelRef(wanted);
  const providers = providersOf(config);
  if (providerId === "") {
    return refuse("model.unknown", `Name a model as provider:model${choicesOf(config)}`);
  }
  const provider = providers.get(providerId);
  if (provider === undefined) {
    const question = didYouMean(providerId, [...providers.keys()]);
    return refuse("model.unknown", `No such provider: ${providerId}${question}${choicesOf(config)}`);
  }
  if (!provider.enabled) return refuse("model.disabled", `The provider ${providerId} is disabled in the config`);
  const model = Object.hasOwn(provider.models, modelId) ? provider.models[modelId] : undefined;
  if (model === undefined) {
    const known = Object.keys(provider.models);
    const question = didYouMean(modelId, known);
    const message = `No such model of ${providerId}: ${modelId}${question}; configured: ${known.join(", ") || "none"}`;
    return refuse("model.unknown", message);
  }
  return {
    ok: true,
    resolved: {
      ref: `${providerId}:${modelId}`,
      providerId,
      modelId,
      provider,
      model: settle(provider, model),
    },
  };
}

/** Instructions, a few tools and an answer need this much. */
export const MINIMUM_CONTEXT_TOKENS = 4_096;

/** Fills in what a model takes from its provider: the file, and the least window (M4). */
function settle({ kind, local, modelPath: shared }: ProviderSettings, model: ModelSettings): ModelSettings {
  const modelPath = model.modelPath ?? shared;
  const isClamped = (local || kind === "llama_cpp") && model.contextWindow < MINIMUM_CONTEXT_TOKENS;
  const contextWindow = isClamped ? MINIMUM_CONTEXT_TOKENS : model.contextWindow;
  return modelPath === undefined ? { ...model, contextWindow } : { ...model, contextWindow, modelPath };
}

export function splitModelRef(ref: string | ModelRef): ModelRef {
  if (typeof ref !== "string") return ref;
  const colon = ref.indexOf(":");
  return colon < 0 ? { provider: "", model: ref } : { provider: ref.slice(0, colon), model: ref.slice(colon + 1) };
}

function defaultRef({ models }: Config): string | ModelRef | null {
  if (models.default !== undefined) return models.default;
  const configured = Object.entries(models.providers).filter(([id]) => id !== BUILTIN_PROVIDER);
  if (configured.length === 0) return BUILTIN_REF;
  const enabled = configured.filter(([, provider]) => provider.enabled);
  const [only, ...others] = enabled;
  if (only === undefined || others.length > 0) return null;
  const [id, { defaults, models: declared }] = only;
  const names = Object.keys(declared);
  const model = defaults.model ?? (names.length === 1 ? names[0] : undefined);
  return model === undefined ? null : `${id}:${model}`;
}

/** A config may disable the built-in provider, not change it. */
function providersOf({ models }: Config): ReadonlyMap<string, ProviderSettings> {
  const enabled = models.providers[BUILTIN_PROVIDER]?.enabled ?? true;
  return new Map([...Object.entries(models.providers), [BUILTIN_PROVIDER, { ...BUILTIN, enabled }]]);
}

/** Every enabled model, the built-in one last. */
export function configuredRefs(config: Config): readonly string[] {
  return [...providersOf(config)].flatMap(([id, { enabled, models }]) =>
    enabled ? Object.keys(models).map((model) => `${id}:${model}`) : [],
  );
}

function choicesOf(config: Config): string {
  return `; configured: ${configuredRefs(config).join(", ") || "none"}; for a run also auto`;
}

function didYouMean(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  return meant === null ? "" : ` (did you mean ${meant}?)`;
}

function refuse(code: Exclude<ModelVerdict, { ok: true }>["code"], message: string): ModelVerdict {
  return { ok: false, code, message };
}
