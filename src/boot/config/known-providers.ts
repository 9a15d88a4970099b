/**
 * Providers known by their id: address, protocol, and whether they need a key. What the config sets wins.
 *
 * N1. Services that cannot be forced to call a tool are known by the provider's id or by its address, unless the config
 *     says otherwise for the model or its provider.
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
/** For providers of kind anthropic without a baseUrl. */
const ANTHROPIC_URL = "https://api.anthropic.com";

/** A provider as written: what follows from its id may be left out. */
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
  const local = provider.local ?? (kind === "llama_cpp" || known.local);
  const baseUrl = provider.baseUrl ?? (kind === "anthropic" ? ANTHROPIC_URL : known.baseUrl);
  return baseUrl === undefined ? { ...provider, kind, local } : { ...provider, kind, local, baseUrl };
}

/**
 * Services that, by their documentation, reject `tool_choice: required` (Moonshot, while a model thinks) or ignore it
 * (Ollama).
 */
const NOT_HELD_TO_TOOLS: ReadonlySet<string> = new Set([MOONSHOT, OLLAMA]);
const MOONSHOT_HOSTS: readonly string[] = ["api.moonshot.cn", "api.moonshot.ai"];
const OLLAMA_PORT = "11434";

/** Can the service force the model to call a tool? */
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
  // It reports an image's facts and does not pretend to see it.
  supportsVision: true,
  free: true,
};

/** Available without being configured; the default while no other provider is. */
export const BUILTIN: ProviderSettings = {
  enabled: true,
  kind: "builtin",
  local: true,
  startupValidation: "off",
  models: { demo: DEMO },
  defaults: { model: "demo" },
};
