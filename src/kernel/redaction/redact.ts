/**
 * Redaction (P-4.5, P-5.4, O-3.2): what may be journalled, stored, logged or sent. It comes before `step()`.
 *
 * R1. A loaded secret in plain form becomes the handle `⟦secret:NAME⟧`; in any other encoding, or a fragment of it
 *     of FRAGMENT_BYTES bytes or more, the hole `[REDACTED:NAME]`. Shorter fragments get through.
 * R2. Other secrets are known by their shape and become `[REDACTED:kind]`; e-mail addresses and phone numbers when asked.
 * R3. Idempotent: redact(redact(x)) is redact(x).
 * R4. A secret too short to be told from ordinary text, or longer than MAX_SECRET_BYTES, is refused when compiling, not
 *     silently let through.
 * R5. Neither names nor paths that are reported hold a secret.
 */
import type { JsonValue } from "../vocabulary/parse-json.ts";
import {
  compileKnownSecrets,
  mayHoldSecrets,
  readKnownSecrets,
  type Secret,
  startKnownSecrets,
} from "./known-secrets.ts";
import { compilePatterns } from "./pattern-scanner.ts";
import { type RedactionRules, type RedactStream, redactStream, redactWhole } from "./redact-stream.ts";
import { holeOf, isSecretName, MAX_REDACTION_DEPTH } from "./redaction-marker.ts";
import { isTooLong, MIN_SECRET_BYTES, significantLength } from "./secret-encodings.ts";
import { EMAIL_PATTERNS, PATTERN_KINDS, PHONE_PATTERNS, SECRET_PATTERNS } from "./secret-patterns.ts";

const TOO_DEEP = "too_deep";

export interface RedactionConfig {
  readonly secrets: readonly Secret[];
  readonly emails: boolean;
  readonly phones: boolean;
}

export interface RedactedText {
  readonly text: string;
  /** Names of loaded secrets and kinds of patterns, each once, in order of appearance. */
  readonly found: readonly string[];
}

export interface RedactedJson {
  readonly value: JsonValue;
  /** Where something was redacted, as `payload.input.token` or `items[0]`. */
  readonly paths: readonly string[];
}

export interface Redactor {
  readonly stream: RedactStream;
  redactText(text: string): RedactedText;
  redactJson(value: JsonValue): RedactedJson;
}

type RedactorVerdict =
  | { readonly ok: true; readonly redactor: Redactor }
  | {
      readonly ok: false;
      readonly reason: "name-invalid" | "name-repeated" | "value-too-long" | "value-too-short" | "name-holds-secret";
      /** Which of the secrets: its name may be the value, put in the wrong place. */
      readonly index: number;
    };

export function compileRedactor(config: RedactionConfig): RedactorVerdict {
  const { secrets, emails, phones } = config;
  const seen = new Set<string>();
  for (const [index, { name, value }] of secrets.entries()) {
    if (!isSecretName(name)) return { ok: false, reason: "name-invalid", index };
    if (seen.has(name)) return { ok: false, reason: "name-repeated", index };
    if (isTooLong(value)) return { ok: false, reason: "value-too-long", index };
    if (significantLength(value) < MIN_SECRET_BYTES) return { ok: false, reason: "value-too-short", index };
    seen.add(name);
  }
  const known = compileKnownSecrets(secrets, [...PATTERN_KINDS, TOO_DEEP]);
  // A name is shown in place of its value, so it must not give any value away.
  const isTold = (text: string): boolean => {
    if (!mayHoldSecrets(known, text)) return false;
    const [, pieces] = readKnownSecrets(known, startKnownSecrets(), text, true);
    return pieces.some((piece) => typeof piece !== "string");
  };
  const telling = secrets.findIndex(({ name }) => isTold(name));
  if (telling >= 0) return { ok: false, reason: "name-holds-secret", index: telling };

  const patterns = compilePatterns([
    ...SECRET_PATTERNS,
    ...(emails ? EMAIL_PATTERNS : []),
    ...(phones ? PHONE_PATTERNS : []),
  ]);
  const rules: RedactionRules = { known, patterns };
  const redactText = (text: string): RedactedText => {
    const output = redactWhole(rules, text);
    return { text: output.text, found: [...new Set(output.found)] };
  };
  return {
    ok: true,
    redactor: { stream: redactStream(rules), redactText, redactJson: (value) => redactJson(redactText, value) },
  };
}

function redactJson(redactText: (text: string) => RedactedText, root: JsonValue): RedactedJson {
  const paths = new Set<string>();
  const clean = (value: JsonValue, path: string, depth: number): JsonValue => {
    if (typeof value === "string" || typeof value === "number") return cleanScalar(value, path);
    if (value === null || typeof value !== "object") return value;
    if (depth === MAX_REDACTION_DEPTH) {
      paths.add(path);
      return holeOf(TOO_DEEP);
    }
    if (isArray(value)) return value.map((item, index) => clean(item, `${path}[${index}]`, depth + 1));
    const entries = new Map<string, JsonValue>();
    for (const [key, item] of Object.entries(value)) {
      const cleanKey = unusedKey(entries, redactText(key).text);
      const at = path === "" ? cleanKey : `${path}.${cleanKey}`;
      if (cleanKey !== key) paths.add(at);
      entries.set(cleanKey, clean(item, at, depth + 1));
    }
    return Object.fromEntries(entries);
  };
  // A secret made of digits may come as a number.
  const cleanScalar = (value: string | number, path: string): string | number => {
    const text = String(value);
    const redacted = redactText(text);
    if (redacted.text === text) return value;
    paths.add(path);
    return redacted.text;
  };
  const value = clean(root, "", 0);
  // Keys that are harmless alone may spell a secret when strung together.
  return { value, paths: [...paths].map((path) => redactText(path).text) };
}

/** Two keys may become one marker; none of their values may be lost. */
function unusedKey(entries: ReadonlyMap<string, JsonValue>, key: string): string {
  let candidate = key;
  for (let count = 2; entries.has(candidate); count += 1) candidate = `${key}#${count}`;
  return candidate;
}

function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
