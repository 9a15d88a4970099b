/** The embedding model that `memory.embeddingModel` names. Loaded only where it names one. */
import { openAiEmbedder } from "../adapters/models/openai-embeddings.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { Embedder } from "../runtime/ports/embedder.ts";
import type { Config } from "./config/config.ts";
import { resolveApiKey } from "./config/resolve-api-key.ts";
import { resolveConfiguredModelRef } from "./config/resolve-configured-model-ref.ts";
import { localSettings } from "./configured-models.ts";
import type { Settings } from "./settings.ts";

export type EmbedderChoice =
  | { readonly ok: true; readonly embedder: Embedder }
  /** Why it cannot be used; what to do. */
  | { readonly ok: false; readonly message: string };

export function configuredEmbedder(
  { config, readVariable }: Settings,
  clock: Clock,
  homeDirectory: string,
): EmbedderChoice {
  const { embeddingModel: ref = "" } = config.memory;
  const providerId = ref.slice(0, ref.indexOf(":"));
  const model = ref.slice(providerId.length + 1);
  const provider = Object.hasOwn(config.models.providers, providerId) ? config.models.providers[providerId] : undefined;
  if (provider === undefined) return { ok: false, message: `models.providers has no ${providerId}` };
  if (!provider.enabled) return { ok: false, message: `The provider ${providerId} is switched off` };
  if (provider.kind === "llama_cpp") return localEmbedder(config, ref, clock, homeDirectory);
  if (provider.kind !== "openai_compatible" || provider.baseUrl === undefined) {
    return { ok: false, message: `The provider ${providerId} has no embeddings: name one of kind openai_compatible` };
  }
  const key = resolveApiKey(providerId, provider, readVariable);
  if (!key.ok) return key;
  return { ok: true, embedder: openAiEmbedder({ ref, model, baseUrl: provider.baseUrl, apiKey: key.key, clock }) };
}

/** A model file in this process; it takes turns with the models that answer. */
function localEmbedder(config: Config, ref: string, clock: Clock, homeDirectory: string): EmbedderChoice {
  const verdict = resolveConfiguredModelRef(config, ref);
  if (!verdict.ok) return verdict;
  const { local } = localSettings(verdict.resolved, homeDirectory);
  if (local === undefined) return { ok: false, message: `${ref} has no model file: set its modelPath` };
  const { contextWindow } = verdict.resolved.model;
  const embed: Embedder["embed"] = async (texts, signal) => {
    const { embedTexts } = await import("../adapters/models/llama-cpp/llama-cpp.ts");
    return await embedTexts({ ...local, contextWindow, clock }, texts, signal);
  };
  return { ok: true, embedder: { name: ref, embed } };
}
