/**
 * The headers that decide something, read once from what came over the wire.
 *
 * D1. None of them may stand there twice: two readers would choose differently, and one of them guards the door.
 */
import { invalidRequest } from "./http-error.ts";

const DECIDING = [
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
type DecidingHeader = (typeof DECIDING)[number];

export type Head = { readonly [Name in DecidingHeader]: string | undefined };

/** A head that was not read, or says nothing. Copied and filled in, so that all heads have one shape. */
export const EMPTY_HEAD: Head = Object.fromEntries(DECIDING.map((name) => [name, undefined])) as Head;

/** Names and values in turn, as Node gives them. */
export function readHead(rawHeaders: readonly string[]): Head {
  const head: { [Name in DecidingHeader]: string | undefined } = { ...EMPTY_HEAD };
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = decidingName(rawHeaders[at] ?? "");
    if (name === null) continue;
    if (head[name] !== undefined) throw invalidRequest(`the header ${name} stands there twice`);
    head[name] = rawHeaders[at + 1] ?? "";
  }
  return head;
}

/** Compared one by one, which ends at the length for most: a set would have to hash every name that comes. */
function decidingName(spelt: string): DecidingHeader | null {
  const name = spelt.toLowerCase();
  for (const known of DECIDING) if (known === name) return known;
  return null;
}
