/** What an endpoint answers with. */
import { hash } from "node:crypto";
import type { ServedFile } from "../../runtime/operations/operation.ts";

export interface Reply {
  readonly status: number;
  /** Names and values, alternating. */
  readonly headers: readonly string[];
  /** A stream writes itself and decides when it is over. */
  readonly body: string | Uint8Array | (() => Promise<void>);
}

export const NOTHING_MORE: Reply = { status: 204, headers: [], body: "" };

export function jsonReply(status: number, json: string, headers: readonly string[] = []): Reply {
  const length = String(Buffer.byteLength(json));
  const described = ["content-type", "application/json; charset=utf-8", "content-length", length, ...headers];
  return { status, headers: described, body: json };
}

/** Bytes that a stranger may have made: no browser may take them for a page, or for another type. */
export function fileReply({ type, name, data, isShown }: ServedFile): Reply {
  const bytes = Buffer.from(data, "base64");
  const plain = name.replace(/[^\x20-\x7e]|["\\]/g, "_");
  const named = `filename="${plain}"; filename*=UTF-8''${encodeURIComponent(name)}`;
  const headers = [
    ...["content-type", type === "text/plain" ? "text/plain; charset=utf-8" : type],
    ...["content-length", String(bytes.length)],
    ...["content-disposition", `${isShown ? "inline" : "attachment"}; ${named}`],
    ...["content-security-policy", "default-src 'none'; sandbox"],
    ...["cross-origin-resource-policy", "same-origin"],
    ...["cache-control", "private, max-age=86400, immutable"],
  ];
  return { status: 200, headers, body: bytes };
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
