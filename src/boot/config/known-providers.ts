/**
 * Providers that need no introduction: an id of this table says where the provider is, which protocol it speaks and
 * whether it wants a key. Whatever the config says itself holds instead.
 *
 * N1. What a service cannot be held to is known by the provider's id, wherever it is, and by its address, whatever it is
 *     called; unless the config says otherwise, of the model or of its provider.
 */
import type { Config, ModelSettings, ProviderSettings } from "./config.ts";

export const MOONSHOT = "moonshot";
const OLLAMA = "ollama";
export const BUILTIN_PROVIDER = "builtin";
export const BUILTIN_REF = "builtin:demo";

type Introduction = Pick<ProviderSettings, "kind" | "local" | "baseUrl">;

const openaiCompatible = (baseUrl: string | undefined, local = false): Introduction => ({
  kind: "openai_compatible",
  baseUrl,
  local,
});

const KNOWN: ReadonlyMap<string, Introduction> = new Map([
  [MOONSHOT, openaiCompatible("https://api.moonshot.cn/v1")],
  ["openai", openaiCompatible("https://api.openai.com/v1")],
  ["openrouter", openaiCompatible("https://openrouter.ai/api/v1")],
  [OLLAMA, openaiCompatible("http://127.0.0.1:11434/v1", true)],
  ["anthropic", { kind: "anthropic", baseUrl: undefined, local: false }],
]);
const UNKNOWN = openaiCompatible(undefined);
/** Of the protocol's own maker, for whoever speaks it and says no other. */
const ANTHROPIC_URL = "https://api.anthropic.com";

/** A provider as the file has it: what its id says may be left out. */
type WrittenProvider = Omit<ProviderSettings, "kind" | "local"> & {
  readonly kind?: ProviderSettings["kind"] | undefined;
  readonly local?: boolean | undefined;
};
export type WrittenConfig = Omit<Config, "models"> & {
  readonly models: Omit<Config["models"], "providers"> & {
    readonly providers: Readonly<Record<string, WrittenProvider>>;
  };
};

export function withKnownProviders(written: WrittenConfig): Config {
  const providers = Object.entries(written.models.providers).map(([id, provider]) => [id, introduced(id, provider)]);
  return { ...written, models: { ...written.models, providers: Object.fromEntries(providers) } };
}

function introduced(id: string, provider: WrittenProvider): ProviderSettings {
  const known = KNOWN.get(id) ?? UNKNOWN;
  const kind = provider.kind ?? known.kind;
  const local = provider.local ?? known.local;
  const baseUrl = provider.baseUrl ?? (kind === "anthropic" ? ANTHROPIC_URL : known.baseUrl);
  return baseUrl === undefined ? { ...provider, kind, local } : { ...provider, kind, local, baseUrl };
}

/**
 * Services that take `tool_choice: required` for an error (Moonshot, while a model thinks) or do not look at it (Ollama),
 * by what they document.
 */
const NOT_HELD_TO_TOOLS: ReadonlySet<string> = new Set([MOONSHOT, OLLAMA]);
const MOONSHOT_HOSTS: readonly string[] = ["api.moonshot.cn", "api.moonshot.ai"];
const OLLAMA_PORT = "11434";

/** Can the model be made to call a tool, as far as that is the service's to grant? */
export function holdsToolChoice({ providerId, provider, model }: Declared): boolean {
  const url = URL.parse(provider.baseUrl ?? "");
  const isKnownNotTo =
    NOT_HELD_TO_TOOLS.has(providerId) ||
    (url !== null && (MOONSHOT_HOSTS.includes(url.hostname) || url.port === OLLAMA_PORT));
  return model.supportsToolChoice ?? provider.supportsToolChoice ?? !isKnownNotTo;
}

interface Declared {
  readonly providerId: string;
  readonly provider: Pick<ProviderSettings, "baseUrl" | "supportsToolChoice">;
  readonly model: Pick<ModelSettings, "supportsToolChoice">;
}

const DEMO: ModelSettings = {
  contextWindow: 32_768,
  maxOutputTokens: 2_048,
  supportsTools: true,
  supportsStreaming: true,
  // It says what it was given; what is on it, it does not pretend to see.
  supportsVision: true,
  free: true,
};

/** There without being configured; the default only while no other provider is. */
export const BUILTIN: ProviderSettings = {
  enabled: true,
  kind: "builtin",
  local: true,
  startupValidation: "off",
  models: { demo: DEMO },
  defaults: { model: "demo" },
};
