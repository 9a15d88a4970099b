/** Ed25519 in plain JavaScript: a page that came over plain http has no WebCrypto. The spelling rules are the home's own. */
import { hashes, verify } from "@noble/ed25519";
import { sha512 } from "@noble/hashes/sha2.js";
import type { VerifySignature } from "../../../src/kernel/journal/checkpoint.ts";

hashes.sha512 = (message) => sha512(message);

export const verifySignature: VerifySignature = (publicKey, message, signature) => {
  const [key, bytes] = [bytesOf(publicKey), bytesOf(signature)];
  if (key === null || bytes === null) return false;
  return verify(bytes, new TextEncoder().encode(message), key);
};

/** Of unpadded base64url in its one spelling; otherwise null. */
function bytesOf(text: string): Uint8Array | null {
  if (!/^[\w-]+$/.test(text)) return null;
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const spelled = btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return spelled === text ? Uint8Array.from(binary, (character) => character.charCodeAt(0)) : null;
}
