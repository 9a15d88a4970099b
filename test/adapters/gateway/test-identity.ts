/** A home's key for tests, and how a client finds a gateway that holds it. */
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import type { GatewayClientOptions } from "../../../src/adapters/gateway-client/create-gateway-client.ts";
import { verifySignature } from "../../../src/boot/signing-key.ts";
import type { TrustedKey } from "../../../src/kernel/journal/checkpoint.ts";
import type { Identity } from "../../../src/runtime/operations/gateway-identity.ts";

export function makeIdentity(): Identity & TrustedKey {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    publicKey: publicKey.export({ format: "jwk" }).x ?? "",
    sign: (message) => sign(null, Buffer.from(message), privateKey).toString("base64url"),
    verifySignature,
  };
}

export const IDENTITY = makeIdentity();

export const at = (url: string): Pick<GatewayClientOptions, "find" | "key" | "newNonce"> => ({
  find: () => Promise.resolve(url),
  key: IDENTITY,
  newNonce: () => randomBytes(32).toString("base64url"),
});
