/** What an endpoint answers with, and how it is sent: never cached, never sniffed for another type. */
import type { ServerResponse } from "node:http";
import type { HttpError } from "./http-error.ts";

interface JsonReply {
  readonly kind: "json";
  readonly status: number;
  readonly text: string;
  /** Names and values, alternating. */
  readonly headers: readonly string[];
}

/** Decides itself when it is over. */
interface StreamReply {
  readonly kind: "stream";
  readonly headers: readonly string[];
  readonly write: () => Promise<void>;
}

/** 204. */
interface NoReply {
  readonly kind: "nothing";
}
export const NOTHING_MORE: NoReply = { kind: "nothing" };

export type Reply = JsonReply | StreamReply | NoReply;

// In lower case: Node would convert other names for every answer.
export const PROTECTIVE_HEADERS: readonly string[] = ["x-content-type-options", "nosniff", "cache-control", "no-store"];
export const NO_HEADERS: readonly string[] = [];

export function jsonReply(status: number, value: unknown, headers = NO_HEADERS): JsonReply {
  return { kind: "json", status, text: JSON.stringify(value), headers };
}

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
  // ASCII is the same in both, and Node writes Latin-1 without scanning it.
  outgoing.end(text, bytes === text.length ? "latin1" : "utf8");
}
