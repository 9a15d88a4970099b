/** What an endpoint answers with. */
import { hash } from "node:crypto";

export interface Reply {
  readonly status: number;
  /** Names and values, alternating. */
  readonly headers: readonly string[];
  /** A stream writes itself and decides when it is over. */
  readonly body: string | (() => Promise<void>);
}

export const NOTHING_MORE: Reply = { status: 204, headers: [], body: "" };

export function jsonReply(status: number, json: string, headers: readonly string[] = []): Reply {
  const length = String(Buffer.byteLength(json));
  const described = ["content-type", "application/json; charset=utf-8", "content-length", length, ...headers];
  return { status, headers: described, body: json };
}

export function etagOf(text: string): string {
  return `"${hash("sha256", text, "base64url").slice(0, 22)}"`;
}

/** Whether an If-None-Match header names it. */
export function isNamedIn(header: string, etag: string): boolean {
  return header.split(",").some((each) => ["*", etag].includes(each.trim().replace(/^W\//, "")));
}

export function unchangedReply(etag: string): Reply {
  return { status: 304, headers: ["etag", etag], body: "" };
}
