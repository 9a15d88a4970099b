/**
 * The key of a provider (P-1.3), from one environment variable.
 *
 * A1. A missing key is an error that names the variable; no other variable and no other provider is tried.
 * A2. The key is returned and goes nowhere else; no message holds it.
 * A3. A key that redaction could not recognise is refused: it might end up in the store.
 */
import { secretProblem } from "../../kernel/redaction/secret-encodings.ts";
import type { ReadVariable } from "../environment.ts";
import type { Config, ProviderSettings } from "./config.ts";
import { MOONSHOT } from "./known-providers.ts";
import { resolveConfiguredModelRef } from "./resolve-configured-model-ref.ts";

export type ApiKeyVerdict =
  /** Null: none is needed. */
  { readonly ok: true; readonly key: string | null } | { readonly ok: false; readonly message: string };

export function resolveApiKey(
  providerId: string,
  provider: ProviderSettings,
  readVariable: ReadVariable,
): ApiKeyVerdict {
  const name = apiKeyName(providerId, provider);
  const key = readVariable(name);
  if (key === undefined) {
    const needsNone = provider.local || provider.kind === "llama_cpp" || provider.kind === "builtin";
    return needsNone ? { ok: true, key: null } : { ok: false, message: missing(providerId, name, readVariable) };
  }
  // The HTTP client would report a bad header, and quote the key.
  if (!/^[\x21-\x7e]+$/.test(key)) return { ok: false, message: `${name} holds blanks or unprintable characters` };
  const problem = secretProblem(key);
  if (problem !== null)
    return { ok: false, message: `${name} is ${LENGTHS[problem]}: is it the whole key and nothing else?` };
  return { ok: true, key };
}

const LENGTHS = {
  "value-too-short": "too short to be redacted from what is stored",
  "value-too-long": "too long to be redacted from what is stored",
} as const;

/** Moonshot's words are prescribed (P-1.3). */
function missing(providerId: string, name: string, { envFile = ".env in the home" }: ReadVariable): string {
  if (providerId === MOONSHOT) return `Missing ${name}`;
  return `No key for provider ${providerId}: put ${name}=… in ${envFile}`;
}

/** The variable that holds the key for a model (`provider:model`); null if the config knows no such model. */
export function keyNameOf(config: Config, model: string): string | null {
  const verdict = resolveConfiguredModelRef(config, model);
  return verdict.ok ? apiKeyName(verdict.resolved.providerId, verdict.resolved.provider) : null;
}

/** The variable that holds a provider's key. */
export function apiKeyName(providerId: string, { apiKeyEnv }: Pick<ProviderSettings, "apiKeyEnv">): string {
  return apiKeyEnv ?? `${providerId.toUpperCase().replaceAll("-", "_")}_API_KEY`;
}
