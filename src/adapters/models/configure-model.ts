/**
 * A model as the operator configured it, ready to be asked.
 *
 * M1. What is configured is what is asked: a name nobody knows is an error, and never another model instead.
 * M2. Nothing is contacted, and nothing loaded, before the first request.
 */
import type { ModelPrice } from "../../kernel/vocabulary/model-price.ts";
import type { ThinkingLevel } from "../../kernel/vocabulary/thinking-level.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { ConfiguredModel, ModelBackend } from "../../runtime/ports/model-backend.ts";
import { anthropicMessages } from "./anthropic-messages/anthropic-messages.ts";
import { mayForceTools } from "./anthropic-messages/may-force-tools.ts";
import {
  thinksByItself as isClaudeByItself,
  isThinker as isClaudeThinker,
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
  /** Of an OpenAI-compatible server, up to and without `/chat/completions`; of Anthropic's API, without `/v1/messages`. */
  readonly baseUrl: string | null;
  /** The provider's own name for it. */
  readonly model: string;
  readonly profile: ProfileId;
  /** Absent: it sees no images. */
  readonly supportsVision?: boolean;
  /** How much it thinks where nobody says otherwise; absent: as it sees fit, and it may be told if its name is known. */
  readonly thinkingLevel?: ThinkingLevel | undefined;
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  readonly price: ModelPrice | null;
  readonly isFree: boolean;
  /** A function is asked before each request; null sends none. */
  readonly apiKey: string | (() => string | null) | null;
  /** The variable that holds the key, for whoever has to set it. */
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
  const { rewrite: _, ...held } = PROFILES[settings.kind === "builtin" ? "native-tools" : settings.profile];
  const holdsRequired = held.holdsRequired && (settings.kind !== "anthropic" || mayForceTools(model));
  const profile = { ...held, holdsRequired };
  const provider = providerIn(ref);
  const backend = settings.kind === "builtin" ? builtinOf(model) : serverOf(settings);
  const tokens = tokenCounterFor(model);
  const isTold = settings.thinkingLevel !== undefined || isThinker(settings);
  const level = settings.thinkingLevel ?? null;
  const thinking = isTold ? { thinking: { level, isByItself: thinksByItself(settings) } } : {};
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

/** Claude up to 4.5 and whatever nobody knows thinks only when it is told to. */
function thinksByItself({ kind, model }: ModelSettings): boolean {
  if (kind === "anthropic") return isClaudeByItself(model);
  return kind !== "builtin" && isChatThinker(model);
}

/** The demo is shown what the files say of themselves, not the pictures. */
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
