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

export type Reply = JsonReply | StreamReply;

export const PROTECTIVE_HEADERS: readonly string[] = ["X-Content-Type-Options", "nosniff", "Cache-Control", "no-store"];
const NONE: readonly string[] = [];

export function jsonReply(status: number, value: unknown, headers = NONE): JsonReply {
  return { kind: "json", status, text: JSON.stringify(value), headers };
}

/** For JSON that is text already. */
export function jsonTextReply(status: number, text: string, headers = NONE): JsonReply {
  return { kind: "json", status, text, headers };
}

export function errorReply(error: HttpError): JsonReply {
  return jsonReply(error.status, error.body, error.headers);
}

export function sendJson(outgoing: ServerResponse, { status, text, headers }: JsonReply, more = NONE): void {
  outgoing.writeHead(status, [
    "Content-Type",
    "application/json; charset=utf-8",
    "Content-Length",
    String(Buffer.byteLength(text)),
    ...PROTECTIVE_HEADERS,
    ...headers,
    ...more,
  ]);
  outgoing.end(text);
}
