/**
 * Redaction of everything that is stored, logged or sent. It comes before `step()`. A loaded secret in plain form
 * becomes the handle `⟦secret:NAME⟧`; in any other encoding, or a fragment of it of FRAGMENT_BYTES bytes or more, the
 * hole `[REDACTED:NAME]`. Other secrets are known by their shape and become `[REDACTED:kind]`. Redacting twice changes
 * nothing, and neither names nor paths that are reported hold a secret.
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
import { isCleanJson, type RedactedJson, redactJson, TOO_DEEP } from "./redact-json.ts";
import { isProvenClean, type RedactionRules, type RedactStream, redactStream, redactWhole } from "./redact-stream.ts";
import { isSecretName } from "./redaction-marker.ts";
import { secretProblem } from "./secret-encodings.ts";
import { EMAIL_PATTERNS, PATTERN_KINDS, PHONE_PATTERNS, SECRET_PATTERNS } from "./secret-patterns.ts";

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

export interface Redactor {
  readonly stream: RedactStream;
  redactText(text: string): RedactedText;
  redactJson(value: JsonValue): RedactedJson;
  /** True only if nothing in it would be redacted; false proves nothing. */
  isClean(value: JsonValue): boolean;
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
    const problem = secretProblem(value);
    if (problem !== null) return { ok: false, reason: problem, index };
    seen.add(name);
  }
  const known = compileKnownSecrets(secrets, [...PATTERN_KINDS, TOO_DEEP]);
  // A name is shown in place of its value, so it must not reveal a value.
  const holdsSecret = (text: string): boolean => {
    if (!mayHoldSecrets(known, text)) return false;
    const [, pieces] = readKnownSecrets(known, startKnownSecrets(), text, true);
    return pieces.some((piece) => typeof piece !== "string");
  };
  const holding = secrets.findIndex(({ name }) => holdsSecret(name));
  if (holding >= 0) return { ok: false, reason: "name-holds-secret", index: holding };

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
  const isCleanText = (text: string): boolean => isProvenClean(rules, text);
  return {
    ok: true,
    redactor: {
      stream: redactStream(rules),
      redactText,
      redactJson: (value) => redactJson((text) => redactWhole(rules, text).text, isCleanText, value),
      isClean: (value) => isCleanJson(isCleanText, value),
    },
  };
}
