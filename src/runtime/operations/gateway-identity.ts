/**
 * How a gateway proves to a client that it is the gateway of this home, before the client sends its token: after a crash
 * another program may listen at its address.
 *
 * I1. The client sends a fresh nonce; the gateway signs it with the home's key; the client checks that with the public key
 *     from the home itself.
 * I2. The gateway signs its own address, and the client compares it with the one it dialled: a program elsewhere cannot
 *     have a running gateway answer in its place.
 * I3. What is signed begins with words that no other signed text begins with: those are JSON.
 */
import { type Static, Type } from "typebox";
import { hasVerified, type Sign, type TrustedKey } from "../../kernel/journal/checkpoint.ts";
import { closed } from "../../kernel/vocabulary/schema-primitives.ts";

export interface Identity {
  readonly publicKey: string;
  readonly sign: Sign;
}

const PROOF_OF = "surety gateway identity, version 1";

export const IdentityInput = Type.Object({ nonce: Type.String({ pattern: "^[A-Za-z0-9_-]{32,86}$" }) }, closed);
export const IdentitySchema = Type.Object({ url: Type.String(), public_key: Type.String(), signature: Type.String() });

export function proveIdentity(
  { publicKey, sign }: Identity,
  url: string,
  nonce: string,
): Static<typeof IdentitySchema> {
  return { url, public_key: publicKey, signature: sign(messageOf(url, nonce)) };
}

/** Whether the gateway at `url` has proved that it holds the key. */
export function isProven(
  proof: Static<typeof IdentitySchema>,
  url: string,
  nonce: string,
  { publicKey, verifySignature }: TrustedKey,
): boolean {
  return proof.url === url && hasVerified(verifySignature, publicKey, messageOf(url, nonce), proof.signature);
}

const messageOf = (url: string, nonce: string): string => [PROOF_OF, url, nonce].join("\n");
