/**
 * The content that a view shows for a ref. It never throws: an erased body is shown as erased, one that is not the
 * expected JSON as the text it is. No ref is no content (null); an erased one is never mistaken for it.
 */
import type { BodyRef } from "../../vocabulary/identifiers.ts";
import { parseJson } from "../../vocabulary/parse-json.ts";

/** The body behind a ref; null when it was erased. */
export type Lookup = (ref: BodyRef) => string | null;

export const ERASED = "[erased]";

export function textOf(ref: BodyRef | null, lookup: Lookup): string | null {
  return ref === null ? null : (lookup(ref) ?? ERASED);
}

/** Objects and arrays as such; anything else as text, so that a file that says `42` is not shown as a number. */
export function contentOf(ref: BodyRef | null, lookup: Lookup): unknown {
  const text = textOf(ref, lookup);
  if (text === null) return null;
  const parsed = parseJson(text);
  return parsed.ok && typeof parsed.value === "object" && parsed.value !== null ? parsed.value : text;
}

/** Arguments are always an object on the wire, so anything else goes under a key that no tool has. */
export function argsOf(ref: BodyRef, lookup: Lookup): Record<string, unknown> {
  const content = contentOf(ref, lookup);
  if (content === ERASED) return { [ERASED]: true };
  const isObject = typeof content === "object" && !Array.isArray(content);
  return isObject ? (content as Record<string, unknown>) : { "[text]": content };
}
