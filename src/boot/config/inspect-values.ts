/**
 * Checks that no schema makes: JavaScript's special names, broken texts, too deep nesting, and secrets under any key,
 * known or unknown (P-1.2).
 *
 * I1. A key that looks like a secret is not named: the path ends before it.
 * I2. Nothing below MAX_DEPTH is inspected: it is refused whole.
 */
import type { ConfigPath } from "./config-path.ts";
import type { ConfigProblemCode, Finding } from "./config-problem.ts";
import { MAX_DEPTH } from "./json5-outline.ts";
import { looksSecret, looksSecretBehind } from "./looks-secret.ts";

const INHERITED_NAMES: readonly string[] = ["__proto__", "constructor", "prototype"];
/** They name the variable of a key, which may look like a secret's name. */
const NAMES_OF_SECRETS: readonly string[] = ["apiKeyEnv"];

export function inspectValues(value: unknown, path: ConfigPath = []): readonly Finding[] {
  if (typeof value === "string") return inspectText(value, path);
  if (typeof value !== "object" || value === null) return [];
  if (path.length >= MAX_DEPTH) return [finding("config.invalid", path, "is nested too deeply")];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (INHERITED_NAMES.includes(key)) return [finding("config.unknown-key", [...path, key], "is not a known key")];
    if (!Array.isArray(value) && looksSecret(key)) return [secret(path, "has a key that looks like a secret")];
    return inspectValues(inner, [...path, key]);
  });
}

function inspectText(text: string, path: ConfigPath): readonly Finding[] {
  if (!text.isWellFormed()) return [finding("config.invalid", path, "holds an incomplete character")];
  const key = path.findLast((step) => !/^[0-9]+$/.test(step)) ?? "";
  const isSecret = NAMES_OF_SECRETS.includes(key) ? looksSecret(text) : looksSecretBehind(key, text);
  return isSecret ? [secret(path, "looks like a secret")] : [];
}

function secret(path: ConfigPath, what: string): Finding {
  return {
    ...finding("config.secret", path, what),
    hint: "Keys and tokens do not belong in the config: put them into .env in the home, as NAME=value.",
  };
}

function finding(code: ConfigProblemCode, path: ConfigPath, what: string): Finding {
  return { code, path, what, hint: "Remove it." };
}
