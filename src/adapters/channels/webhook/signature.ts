/**
 * Signatures of Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`, as `v1,<base64>`. A sender may send several, while
 * it changes its secret.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

const PREFIX = "whsec_";
const LEAST_BYTES = 24;
const MOST_BYTES = 64;
/** How far a message's time may be from ours: an older one may be a replay. */
const WINDOW_S = 300;
/** Without a full stop, so that the signed text can be read in one way only. */
const ID = /^[\x21-\x2d\x2f-\x7e]{1,256}$/;
const TIMESTAMP = /^[0-9]{1,12}$/;
const MAX_SIGNATURES = 16;

export interface SignedHeaders {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
}

/** Null when it is not `whsec_` and 24 to 64 bytes in base64. */
export function readSecret(text: string): Buffer | null {
  if (!text.startsWith(PREFIX)) return null;
  const encoded = text.slice(PREFIX.length);
  const key = Buffer.from(encoded, "base64");
  const isWhole = key.toString("base64").replace(/=+$/, "") === encoded.replace(/=+$/, "");
  return isWhole && key.length >= LEAST_BYTES && key.length <= MOST_BYTES ? key : null;
}

export function sign(key: Buffer, id: string, timestamp: string, body: string): string {
  return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
}

/** Why the request is not believed; null when it is. */
export function objectionTo(
  key: Buffer,
  { id, timestamp, signature }: SignedHeaders,
  body: string,
  nowMs: number,
): "malformed" | "expired" | "wrong" | null {
  if (!ID.test(id) || !TIMESTAMP.test(timestamp)) return "malformed";
  const expected = Buffer.from(sign(key, id, timestamp, body));
  const given = signature.split(" ").slice(0, MAX_SIGNATURES);
  const isSigned = given
    .map((each) => Buffer.from(each))
    .filter((each) => each.length === expected.length && timingSafeEqual(each, expected)).length;
  if (isSigned === 0) return "wrong";
  return Math.abs(Math.floor(nowMs / 1000) - Number(timestamp)) > WINDOW_S ? "expired" : null;
}
