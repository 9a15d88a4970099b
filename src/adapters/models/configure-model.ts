/**
 * A model as the operator configured it, ready for requests.
 *
 * M1. An unknown name is an error, never replaced by another model.
 * M2. Nothing is contacted or loaded before the first request.
 */
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
import { isThinker as isChatThinker, translatesEffort } from "./openai-chat/effort-fields.ts";
import { openaiChat } from "./openai-chat/openai-chat.ts";
import { PROFILES, type ProfileId } from "./profile.ts";
import { tokenCounterFor } from "./token-counter.ts";

export interface ModelSettings {
  /** `provider:model`, split at the first colon. */
  readonly ref: string;
  readonly kind: "openai_compatible" | "anthropic" | "builtin";
  /** Without `/chat/completions` for an OpenAI-compatible server, without `/v1/messages` for Anthropic's API. */
  readonly baseUrl: string | null;
  /** The provider's name for the model. */
  readonly model: string;
  readonly profile: ProfileId;
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

export type ModelConfigCode = "model.invalid-base-url" | "model.unknown-builtin";

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
  const profile = { ...declared, holdsRequired };
  const provider = providerIn(ref);
  const backend = settings.kind === "builtin" ? builtinOf(model) : serverOf(settings);
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
  if (kind === "builtin") return false;
  if (kind === "anthropic") return isClaudeThinker(model);
  const url = URL.parse(baseUrl ?? "");
  return isChatThinker(model) || (url !== null && translatesEffort(url));
}

/** Claude up to 4.5, and unknown models, think only on request. */
function thinksByDefault({ kind, model }: ModelSettings): boolean {
  if (kind === "anthropic") return thinksByDefaultInClaude(model);
  return kind !== "builtin" && isChatThinker(model);
}

/** The demo sees the images' sizes and types, not the images. */
function imageTokensOf({ kind, model }: ModelSettings): NonNullable<ConfiguredModel["vision"]>["imageTokens"] {
  return kind === "builtin" ? () => 0 : imageTokensFor(model);
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
