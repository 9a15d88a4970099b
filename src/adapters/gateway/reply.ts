/**
 * What a handler answers with, and how it goes out.
 *
 * R1. No answer is kept by a cache or taken for another type than it is.
 */
import type { ServerResponse } from "node:http";
import type { HttpError } from "./http-error.ts";

interface JsonReply {
  readonly kind: "json";
  readonly status: number;
  readonly text: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
}

/** An answer that goes on; it decides itself when it is over. */
interface StreamReply {
  readonly kind: "stream";
  readonly headers: readonly string[];
  /** Settles when the last byte was handed over. */
  readonly write: () => Promise<void>;
}

/** There is nothing to say, and nothing will follow: 204. */
interface NoReply {
  readonly kind: "nothing";
}
export const NOTHING_MORE: NoReply = { kind: "nothing" };

export type Reply = JsonReply | StreamReply | NoReply;

// Names that go with every answer are in small letters: Node looks at them so, and would rewrite others each time.
export const PROTECTIVE_HEADERS: readonly string[] = ["x-content-type-options", "nosniff", "cache-control", "no-store"];
export const NO_HEADERS: readonly string[] = [];

export function jsonReply(status: number, value: unknown, headers = NO_HEADERS): JsonReply {
  return { kind: "json", status, text: JSON.stringify(value), headers };
}

/** For JSON that is text already. */
export function jsonTextReply(status: number, text: string, headers = NO_HEADERS): JsonReply {
  return { kind: "json", status, text, headers };
}

export function errorReply(error: HttpError): JsonReply {
  return jsonReply(error.status, error.body, error.headers);
}

export function sendJson(outgoing: ServerResponse, { status, text, headers }: JsonReply, more = NO_HEADERS): void {
  const bytes = Buffer.byteLength(text);
  const all = [
    "content-type",
    "application/json; charset=utf-8",
    "content-length",
    String(bytes),
    ...PROTECTIVE_HEADERS,
  ];
  if (headers.length > 0) all.push(...headers);
  if (more.length > 0) all.push(...more);
  outgoing.writeHead(status, all);
  // ASCII is the same in both, and Latin-1 is written without being looked at.
  outgoing.end(text, bytes === text.length ? "latin1" : "utf8");
}
