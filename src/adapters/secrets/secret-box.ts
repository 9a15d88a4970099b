/**
 * Seals secrets with AES-256-GCM. The name is authenticated with the value, so that a sealed value moved to another name
 * does not open. Each sealing has a nonce of its own.
 */
import { createCipheriv, createDecipheriv } from "node:crypto";
import type { RandomBytes } from "../../runtime/ports/randomness.ts";
import type { SecretBox } from "../../runtime/ports/stored-secret.ts";

export const KEY_BYTES = 32;
const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Tells what was sealed in this way from what a later version may do. */
const VERSION = "1:";

export function secretBox(key: Uint8Array, random: RandomBytes): SecretBox {
  return {
    seal(name, value) {
      const nonce = random(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(name));
      const sealed = Buffer.concat([nonce, cipher.update(value, "utf8"), cipher.final(), cipher.getAuthTag()]);
      return VERSION + sealed.toString("base64url");
    },
    open(name, text) {
      const sealed = Buffer.from(text.slice(VERSION.length), "base64url");
      if (!text.startsWith(VERSION) || sealed.length < NONCE_BYTES + TAG_BYTES) return null;
      const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(name));
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
      try {
        return decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
      } catch {
        // OpenSSL says no more than that it does not fit.
        return null;
      }
    },
  };
}
