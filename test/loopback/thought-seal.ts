/**
 * How a server of the Messages API knows its own thoughts again: each is signed, and one it keeps to itself is all seal.
 * What was altered, or never came from it, has no valid seal.
 */
import { createHash } from "node:crypto";

const HIDDEN = "aGlkZGVu";

export function signatureOf(thinking: string): string {
  return createHash("sha256").update(`the server's own key ${thinking}`).digest("base64");
}

export function sealHidden(thinking: string): string {
  return `${HIDDEN}.${Buffer.from(thinking).toString("base64")}.${signatureOf(thinking)}`;
}

export function isSealed(block: {
  readonly type: string;
  readonly thinking?: string;
  readonly signature?: string;
  readonly data?: string;
}): boolean {
  if (block.type === "thinking") return block.signature === signatureOf(block.thinking ?? "");
  const [, hidden = ""] = block.data?.split(".") ?? [];
  return block.data === sealHidden(Buffer.from(hidden, "base64").toString());
}
