/** The headers the gateway acts on, read once. A duplicate is refused: two readers could pick different values. */
import { invalidRequest } from "./http-error.ts";

const READ_HEADERS = [
  "access-control-request-method",
  "authorization",
  "content-encoding",
  "content-length",
  "content-type",
  "host",
  "idempotency-key",
  "last-event-id",
  "origin",
  "transfer-encoding",
] as const;
type ReadHeader = (typeof READ_HEADERS)[number];

export type Head = { readonly [Name in ReadHeader]: string | undefined };

/** Copied and filled in, so that all heads have one hidden class. */
export const EMPTY_HEAD: Head = Object.fromEntries(READ_HEADERS.map((name) => [name, undefined])) as Head;

/** Names and values, alternating, as Node gives them. */
export function readHead(rawHeaders: readonly string[]): Head {
  const head: { [Name in ReadHeader]: string | undefined } = { ...EMPTY_HEAD };
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = knownName(rawHeaders[at] ?? "");
    if (name === null) continue;
    if (head[name] !== undefined) throw invalidRequest(`Duplicate header ${name}.`);
    head[name] = rawHeaders[at + 1] ?? "";
  }
  return head;
}

/** Faster than a set, which hashes every name: most comparisons end at the length. */
function knownName(raw: string): ReadHeader | null {
  const name = raw.toLowerCase();
  for (const known of READ_HEADERS) if (known === name) return known;
  return null;
}
