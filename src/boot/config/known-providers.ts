/** Providers that need no introduction. */
import type { ModelSettings, ProviderSettings } from "./config.ts";

export const MOONSHOT = "moonshot";
export const BUILTIN_PROVIDER = "builtin";
export const BUILTIN_REF = "builtin:demo";

/** Where a provider is that does not say. */
export const KNOWN_BASE_URLS: Readonly<Record<string, string>> = { [MOONSHOT]: "https://api.moonshot.cn/v1" };

const DEMO: ModelSettings = {
  contextWindow: 32_768,
  maxOutputTokens: 2_048,
  supportsTools: true,
  supportsStreaming: true,
  supportsVision: false,
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
