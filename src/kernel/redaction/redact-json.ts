/**
 * Redaction of every string, number and key in a JSON value; the result is a copy. All texts of a value are first tried
 * as one, a line each: a line end is passed over by everything that looks for secrets and no rule of
 * `secret-patterns.ts` asks for one, so nothing is found in a line that is not found there.
 */
import type { JsonValue } from "../vocabulary/parse-json.ts";
import { holeOf, MAX_REDACTION_DEPTH } from "./redaction-marker.ts";

export const TOO_DEEP = "too_deep";

export interface RedactedJson {
  readonly value: JsonValue;
  /** Where something was redacted, as `payload.input.token` or `items[0]`. */
  readonly paths: readonly string[];
}

/** `isProvenClean` must be false if any line of the text would be redacted. */
export function redactJson(
  redactText: (text: string) => string,
  isProvenClean: (text: string) => boolean,
  root: JsonValue,
): RedactedJson {
  return isCleanJson(isProvenClean, root) ? { value: copyOf(root), paths: [] } : redactEach(redactText, root);
}

/** True only if nothing would be redacted; false proves nothing. */
export function isCleanJson(isProvenClean: (text: string) => boolean, root: JsonValue): boolean {
  const lines: string[] = [];
  return collectTexts(root, lines, 0) && isProvenClean(lines.join("\n"));
}

/** False when the value is nested too deep. */
function collectTexts(value: JsonValue, lines: string[], depth: number): boolean {
  if (typeof value === "string" || typeof value === "number") {
    lines.push(String(value));
    return true;
  }
  if (value === null || typeof value !== "object") return true;
  if (depth === MAX_REDACTION_DEPTH) return false;
  if (isArray(value)) return value.every((item) => collectTexts(item, lines, depth + 1));
  for (const key of Object.keys(value)) {
    lines.push(key);
    if (!collectTexts(value[key] as JsonValue, lines, depth + 1)) return false;
  }
  return true;
}

function copyOf(value: JsonValue): JsonValue {
  if (value === null || typeof value !== "object") return value;
  if (isArray(value)) return value.map(copyOf);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyOf(item)]));
}

function redactEach(redactText: (text: string) => string, root: JsonValue): RedactedJson {
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
      const cleanKey = unusedKey(entries, redactText(key));
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
    if (redacted === text) return value;
    paths.add(path);
    return redacted;
  };
  const value = clean(root, "", 0);
  // Keys that are harmless alone may spell a secret when strung together.
  return { value, paths: [...paths].map(redactText) };
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
