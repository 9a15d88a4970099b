/**
 * The replacement for a secret: a handle `⟦secret:NAME⟧` for a loaded one in plain form, which the adapter that
 * executes an allowed plan puts back; a hole `[REDACTED:LABEL]` for everything else, which nothing fills again. Nesting
 * deeper than MAX_REDACTION_DEPTH counts as a hole.
 */
import type { JsonValue } from "../vocabulary/parse-json.ts";

/** As deep as canonical JSON goes. */
export const MAX_REDACTION_DEPTH = 128;

const NAME = "[A-Za-z0-9_.-]{1,64}";
const MARKER = new RegExp(`\\[REDACTED:${NAME}\\]|⟦secret:${NAME}⟧`, "y");
const HOLE = /\[REDACTED:[^\]]{1,128}\]/;
const HANDLE = /⟦secret:([^⟧]{0,128})⟧/g;
const OPENINGS = ["[REDACTED:", "⟦secret:"];
const MAX_MARKER_CHARS = 10 + 64 + 1;
const SECRET_NAME = new RegExp(`^${NAME}$`);

type RestoreVerdict =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly reason: "unknown-secret" | "key-collision" | "too-deep"; readonly name: string };

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

export function handleOf(name: string): string {
  return `⟦secret:${name}⟧`;
}

export function holeOf(label: string): string {
  return `[REDACTED:${label}]`;
}

export function startsMarker(unit: number): boolean {
  return unit === 0x5b || unit === 0x27e6;
}

/** A text without an opening holds no marker. */
export function mayHoldMarker(text: string): boolean {
  return OPENINGS.some((opening) => text.includes(opening));
}

/** The marker here, "" for none, or undefined when more text must decide. */
export function readMarker(text: string, at: number, isFinal: boolean): string | undefined {
  MARKER.lastIndex = at;
  const found = MARKER.exec(text);
  if (found !== null) return found[0];
  return isFinal || !mayBecomeMarker(text.slice(at, at + MAX_MARKER_CHARS)) ? "" : undefined;
}

function mayBecomeMarker(rest: string): boolean {
  return OPENINGS.some((opening) => {
    if (rest.length <= opening.length) return opening.startsWith(rest);
    return rest.startsWith(opening) && isSecretName(rest.slice(opening.length));
  });
}

/** The names of the handles in it, keys included: of those, and only those, that `restoreSecrets` would put back. */
export function handlesIn(value: JsonValue): readonly string[] {
  const names: string[] = [];
  restoreSecrets(value, (name) => {
    names.push(name);
    return handleOf(name);
  });
  return names;
}

/** Where a string or a key in it holds a marker, as `input.token` or `items[0]`. */
export function markerPaths(value: JsonValue, path = ""): readonly string[] {
  if (typeof value === "string") return hasMarker(value) ? [path] : [];
  if (value === null || typeof value !== "object") return [];
  if (Array.isArray(value)) {
    return value.flatMap((item: JsonValue, index) => markerPaths(item, `${path}[${index}]`));
  }
  return Object.entries(value).flatMap(([key, item]) => {
    const at = path === "" ? key : `${path}.${key}`;
    const within = markerPaths(item, at);
    return hasMarker(key) && !within.includes(at) ? [at, ...within] : within;
  });
}

function hasMarker(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    if (startsMarker(text.charCodeAt(at)) && readMarker(text, at, true) !== "") return true;
  }
  return false;
}

/** Does a string anywhere in it, keys included, hold `[REDACTED:…]`? A call with such arguments is refused. */
export function hasRedactionHole(value: JsonValue): boolean {
  return holds(value, 0);
}

function holds(value: JsonValue, depth: number): boolean {
  if (typeof value === "string") return HOLE.test(value);
  if (value === null || typeof value !== "object") return false;
  if (depth === MAX_REDACTION_DEPTH) return true;
  if (Array.isArray(value)) return value.some((item: JsonValue) => holds(item, depth + 1));
  return Object.entries(value).some(([key, item]) => HOLE.test(key) || holds(item, depth + 1));
}

/** Puts the loaded secrets back, in keys too. Only for the adapter that executes an allowed plan. */
export function restoreSecrets(value: JsonValue, lookup: (name: string) => string | undefined): RestoreVerdict {
  return restore(value, lookup, 0);
}

function restore(value: JsonValue, lookup: (name: string) => string | undefined, depth: number): RestoreVerdict {
  if (typeof value === "string") return restoreText(value, lookup);
  if (value === null || typeof value !== "object") return { ok: true, value };
  if (depth === MAX_REDACTION_DEPTH) return { ok: false, reason: "too-deep", name: "" };
  if (Array.isArray(value)) {
    const items: JsonValue[] = [];
    for (const item of value) {
      const restored = restore(item, lookup, depth + 1);
      if (!restored.ok) return restored;
      items.push(restored.value);
    }
    return { ok: true, value: items };
  }
  const entries = new Map<string, JsonValue>();
  for (const [key, item] of Object.entries(value)) {
    const restoredKey = restoreText(key, lookup);
    if (!restoredKey.ok) return restoredKey;
    if (entries.has(restoredKey.value)) return { ok: false, reason: "key-collision", name: key };
    const restored = restore(item, lookup, depth + 1);
    if (!restored.ok) return restored;
    entries.set(restoredKey.value, restored.value);
  }
  return { ok: true, value: Object.fromEntries(entries) };
}

function restoreText(
  text: string,
  lookup: (name: string) => string | undefined,
): { readonly ok: true; readonly value: string } | Extract<RestoreVerdict, { readonly ok: false }> {
  let unknown: string | null = null;
  const value = text.replace(HANDLE, (handle, name: string) => {
    const secret = lookup(name);
    if (secret === undefined) unknown ??= name;
    return secret ?? handle;
  });
  return unknown === null ? { ok: true, value } : { ok: false, reason: "unknown-secret", name: unknown };
}
