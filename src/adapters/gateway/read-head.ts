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

export type Head = { readonly [Name in DecidingHeader]?: string };

const isDeciding: ReadonlySet<string> = new Set(DECIDING);

/** Names and values in turn, as Node gives them. */
export function readHead(rawHeaders: readonly string[]): Head {
  const head: { [Name in DecidingHeader]?: string } = {};
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? "").toLowerCase() as DecidingHeader;
    if (!isDeciding.has(name)) continue;
    if (head[name] !== undefined) throw invalidRequest(`the header ${name} stands there twice`);
    head[name] = rawHeaders[at + 1] ?? "";
  }
  return head;
}
