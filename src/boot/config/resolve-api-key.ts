/**
 * The key of a provider (P-1.3): from the environment, from one variable, or not at all.
 *
 * A1. Missing is an error with exactly the variable's name; no other variable and no other provider is tried.
 * A2. The key is returned and goes nowhere else; no message holds it.
 * A3. One that could not be kept out of what is stored is not used: its provider cannot be asked, and any other can.
 */
import { secretProblem } from "../../kernel/redaction/secret-encodings.ts";
import type { ReadVariable } from "../environment.ts";
import type { ProviderSettings } from "./config.ts";

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
    return needsNone ? { ok: true, key: null } : { ok: false, message: `Missing ${name}` };
  }
  // It goes into a header; a pasted line end would be reported by the HTTP client, with the key.
  if (!/^[\x21-\x7e]+$/.test(key)) return { ok: false, message: `${name} holds blanks or unprintable characters` };
  const problem = secretProblem(key);
  if (problem !== null)
    return { ok: false, message: `${name} is ${LENGTHS[problem]}: is it the whole key, and no more?` };
  return { ok: true, key };
}

const LENGTHS = {
  "value-too-short": "too short to be told from ordinary words and kept out of what is stored",
  "value-too-long": "too long to be kept out of what is stored",
} as const;

/** The variable that holds a provider's key. */
export function apiKeyName(providerId: string, { apiKeyEnv }: Pick<ProviderSettings, "apiKeyEnv">): string {
  return apiKeyEnv ?? `${providerId.toUpperCase().replaceAll("-", "_")}_API_KEY`;
}
