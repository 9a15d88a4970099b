/**
 * Canonical JSON (RFC 8785, JCS): one spelling for each value, so that a hash of it means something.
 *
 * J1. Equal values give equal text and different values different text, whatever the order of their keys.
 * J2. What is not JSON is a Defect, never dropped or bent into something else: undefined, NaN, a Date, a lone surrogate.
 * J3. It always ends: nesting is bounded, so a cycle is a Defect too.
 */
import { Defect } from "./defect.ts";

/** Twice what `parseJson` lets in, so that our own envelopes fit around foreign content. */
const MAX_DEPTH = 128;

/** Below this, moving keys one by one beats the engine's general sort; above, it would be quadratic. */
const MAX_INSERTION_SORT = 32;

/** Characters that cannot stand in a JSON string as they are, and surrogates, which may be lone. */
const NEEDS_CARE = /["\\\u0000-\u001f\ud800-\udfff]/;

export function canonicalJson(value: unknown): string {
  return append("", "", value, 0);
}

/**
 * `text`, then `lead` (the punctuation and key before a value), then the value. The lead is handed down
 * because joining short pieces first, before they meet the long text, saves a tenth of the time.
 */
function append(text: string, lead: string, value: unknown, depth: number): string {
  switch (typeof value) {
    case "string":
      return text + (lead + quote(value));
    case "number":
      if (!Number.isFinite(value)) throw new Defect(`canonical JSON: ${value} is not JSON`);
      // ECMAScript's own number formatting is what RFC 8785 prescribes; it writes -0 as 0.
      return text + (lead + value);
    case "boolean":
      return text + (lead + value);
    case "object":
      if (value === null) return text + (lead + "null");
      if (depth === MAX_DEPTH) throw new Defect(`canonical JSON: nested deeper than ${MAX_DEPTH} levels, or a cycle`);
      return Array.isArray(value) ? appendArray(text, lead, value, depth) : appendObject(text, lead, value, depth);
    default:
      throw new Defect(`canonical JSON: ${typeof value} is not JSON`);
  }
}

function appendArray(text: string, lead: string, array: readonly unknown[], depth: number): string {
  if (array.length === 0) return text + (lead + "[]");
  let written = append(text, `${lead}[`, array[0], depth + 1);
  for (let index = 1; index < array.length; index += 1) written = append(written, ",", array[index], depth + 1);
  return `${written}]`;
}

function appendObject(text: string, lead: string, object: object, depth: number): string {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new Defect("canonical JSON: an object that is not plain is not JSON");
  }
  const keys = sortKeys(Object.keys(object));
  if (keys.length === 0) return text + (lead + "{}");
  let written = text;
  let before = `${lead}{`;
  for (const key of keys) {
    written = append(written, `${before + quote(key)}:`, (object as Record<string, unknown>)[key], depth + 1);
    before = ",";
  }
  return `${written}}`;
}

function quote(text: string): string {
  if (!NEEDS_CARE.test(text)) return `"${text}"`;
  if (!text.isWellFormed()) throw new Defect("canonical JSON: a string with a lone surrogate is not JSON");
  return JSON.stringify(text);
}

/** By UTF-16 code units, as RFC 8785 3.2.3 demands and JavaScript compares strings. Sorts in place. */
function sortKeys(keys: string[]): string[] {
  if (keys.length > MAX_INSERTION_SORT) return keys.sort();
  for (let index = 1; index < keys.length; index += 1) {
    const key = keys[index] as string;
    let slot = index;
    while (slot > 0 && (keys[slot - 1] as string) > key) {
      keys[slot] = keys[slot - 1] as string;
      slot -= 1;
    }
    keys[slot] = key;
  }
  return keys;
}
