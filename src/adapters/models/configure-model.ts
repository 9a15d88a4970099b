/**
 * A model as the operator configured it, ready for requests.
 *
 * M1. An unknown name is an error, never replaced by another model.
 * M2. Nothing is contacted or loaded before the first request.
 */
import { LOGITS_MASK } from "../../kernel/contract/grammar-profile.ts";
import type { GrammarForm } from "../../kernel/protocol/grammar/derive-constraint.ts";
import type { ModelPrice } from "../../kernel/vocabulary/model-price.ts";
import type { ThinkingLevel } from "../../kernel/vocabulary/thinking-level.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { ConfiguredModel, ModelBackend } from "../../runtime/ports/model-backend.ts";
import { anthropicMessages } from "./anthropic-messages/anthropic-messages.ts";

import {
  isThinker as isClaudeThinker,
  mayForceTools,
  thinksByDefault as thinksByDefaultInClaude,
} from "./anthropic-messages/thinking-fields.ts";
import { builtinDemo, DEMO_MODEL } from "./builtin-demo/builtin-demo.ts";
import { imageTokensFor } from "./image-tokens.ts";
import type { LocalModelSettings } from "./llama-cpp/local-models.ts";
import { isThinker as isChatThinker, translatesEffort } from "./openai-chat/effort-fields.ts";
import { openaiChat } from "./openai-chat/openai-chat.ts";
import { PROFILES, type ProfileId } from "./profile.ts";
import { tokenCounterFor } from "./token-counter.ts";

export interface ModelSettings {
  /** `provider:model`, split at the first colon. */
  readonly ref: string;
  readonly kind: "openai_compatible" | "anthropic" | "builtin" | "llama_cpp";
  /** Without `/chat/completions` for an OpenAI-compatible server, without `/v1/messages` for Anthropic's API. */
  readonly baseUrl: string | null;
  /** The provider's name for the model. */
  readonly model: string;
  readonly profile: ProfileId;
  /** Of kind llama_cpp. */
  readonly local?: Omit<LocalModelSettings, "contextWindow" | "clock">;
  /** Absent: false. */
  readonly supportsVision?: boolean;
  /** The default level; absent: the model's own default. */
  readonly thinkingLevel?: ThinkingLevel | undefined;
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  readonly price: ModelPrice | null;
  readonly isFree: boolean;
  /** A function is called before each request; null sends no key. */
  readonly apiKey: string | (() => string | null) | null;
  /** The variable that holds the key, for error messages. */
  readonly keyName?: string;
  readonly clock: Clock;
}

export type ModelConfigCode = "model.invalid-base-url" | "model.unknown-builtin" | "model.no-file";

/** The message says what to correct. */
export class ModelConfigError extends Error {
  override readonly name = "ModelConfigError";
  readonly code: ModelConfigCode;
  constructor(code: ModelConfigCode, message: string) {
    super(message);
    this.code = code;
  }
}

export function configureModel(settings: ModelSettings): ConfiguredModel {
  const { ref, model, contextWindow, maxOutputTokens, price, isFree } = settings;
  const { rewrite: _, ...declared } = PROFILES[settings.kind === "builtin" ? "native-tools" : settings.profile];
  const holdsRequired = declared.holdsRequired && (settings.kind !== "anthropic" || mayForceTools(model));
  const profile = { ...declared, holdsRequired, grammarProfiles: constraintsOf(settings, declared) };
  const provider = providerIn(ref);
  const backend = backendOf(settings);
  const tokens = tokenCounterFor(model);
  const acceptsLevel = settings.thinkingLevel !== undefined || isThinker(settings);
  const level = settings.thinkingLevel ?? null;
  const thinking = acceptsLevel ? { thinking: { level, isByItself: thinksByDefault(settings) } } : {};
  const vision = settings.supportsVision === true ? { vision: { imageTokens: imageTokensOf(settings) } } : {};
  return {
    ref,
    provider,
    model,
    backend,
    profile,
    ...(profile.grammarProfiles.includes("calls") ? { grammar: grammarFormOf(settings) } : {}),
    tokens,
    ...vision,
    ...thinking,
    contextWindow,
    maxOutputTokens,
    price,
    isFree,
  };
}

function providerIn(ref: string): string {
  return ref.slice(0, Math.max(ref.indexOf(":"), 0));
}

function isThinker({ kind, baseUrl, model }: ModelSettings): boolean {
  if (kind === "builtin" || kind === "llama_cpp") return false;
  if (kind === "anthropic") return isClaudeThinker(model);
  const url = URL.parse(baseUrl ?? "");
  return isChatThinker(model) || (url !== null && translatesEffort(url));
}

/** Claude up to 4.5, and unknown models, think only on request. */
function thinksByDefault({ kind, model }: ModelSettings): boolean {
  if (kind === "anthropic") return thinksByDefaultInClaude(model);
  return kind === "openai_compatible" && isChatThinker(model);
}

/** The demo sees the images' sizes and types, not the images. */
function imageTokensOf({ kind, model }: ModelSettings): NonNullable<ConfiguredModel["vision"]>["imageTokens"] {
  return kind === "builtin" ? () => 0 : imageTokensFor(model);
}

function backendOf(settings: ModelSettings): ModelBackend {
  if (settings.kind === "builtin") return builtinOf(settings.model);
  return settings.kind === "llama_cpp" ? localBackend(settings) : serverOf(settings);
}

/** In this process the tokens' bias can be set as well. */
function constraintsOf(
  { kind }: ModelSettings,
  { grammarProfiles }: Pick<ConfiguredModel["profile"], "grammarProfiles">,
) {
  return kind === "llama_cpp" ? [...grammarProfiles, LOGITS_MASK] : grammarProfiles;
}

function grammarFormOf({ kind }: ModelSettings): GrammarForm {
  return kind === "llama_cpp" ? "gbnf" : "json-schema";
}

/** Loads its code with the first request (M2). */
function localBackend({ ref, local, profile, contextWindow, clock }: ModelSettings): ModelBackend {
  if (local === undefined) throw new ModelConfigError("model.no-file", `${ref} has no model file: set its modelPath.`);
  let loading: Promise<ModelBackend> | null = null;
  const load = (): Promise<ModelBackend> => {
    loading ??= import("./llama-cpp/llama-cpp.ts").then(({ llamaCpp }) =>
      llamaCpp({ ...local, contextWindow, clock }, PROFILES[profile]),
    );
    return loading;
  };
  return {
    check: async (signal) => (await load()).check(signal),
    inspect: async (signal) => (await load()).inspect(signal),
    complete: async (request, watch) => (await load()).complete(request, watch),
  };
}

function builtinOf(model: string): ModelBackend {
  if (model === DEMO_MODEL) return builtinDemo;
  throw new ModelConfigError("model.unknown-builtin", `The built-in provider has one model, builtin:${DEMO_MODEL}.`);
}

function serverOf(settings: ModelSettings): ModelBackend {
  const { ref, kind, model, baseUrl, apiKey, keyName = null, profile, clock } = settings;
  const url = URL.parse(baseUrl ?? "");
  if (url === null || !["http:", "https:"].includes(url.protocol) || url.username !== "" || url.search !== "") {
    const message = `The baseUrl of ${ref} must be an http or https address without a password or a query.`;
    throw new ModelConfigError("model.invalid-base-url", message);
  }
  const readKey = typeof apiKey === "function" ? apiKey : () => apiKey;
  const server = {
    ...{ provider: providerIn(ref), model, baseUrl: url, apiKey: readKey, keyName },
    ...{ profile: PROFILES[profile], clock },
  };
  return kind === "anthropic" ? anthropicMessages(server) : openaiChat(server);
}
