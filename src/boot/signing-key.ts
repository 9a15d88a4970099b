/**
 * The Ed25519 key with which a home signs checkpoints, bundles and receipts; made once, stored in `keys/`.
 *
 * K1. The private key never leaves its file and this module.
 * K2. Public keys (32 bytes) and signatures (64 bytes) are unpadded base64url in one spelling: another spelling of the same
 *     bytes does not verify.
 * K3. Only commands that act create a key. A damaged key file is an error, never a reason to make a new key: old signatures
 *     would no longer verify.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign as signBytes,
  verify as verifyBytes,
} from "node:crypto";
import type { Sign, TrustedKey, VerifySignature } from "../kernel/journal/checkpoint.ts";
import { Defect } from "../kernel/vocabulary/defect.ts";
import type { RandomBytes } from "../runtime/ports/randomness.ts";
import { BootError } from "./boot-error.ts";
import { createSecret, readSecret } from "./durable-file.ts";
import type { Home } from "./home.ts";

export interface SigningKey extends TrustedKey {
  readonly sign: Sign;
}

const WHAT = "the signing key";

export const NEW_KEY =
  "warning key.made: the signing key of this home was missing, so a new one was made; signatures of the old key no longer verify. If you have a copy of keys/, restore it";

/** Creates it if it is missing, and then calls `onMade`. */
export async function loadSigningKey(home: Home, random: RandomBytes, onMade: () => void): Promise<SigningKey> {
  const found = await findSigningKey(home);
  if (found !== null) return found;
  const file = home.signingKeyFile;
  const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const made = signingKey(await createSecret(file, WHAT, pem, random), file);
  onMade();
  return made;
}

/** Null when it is missing. */
export async function findSigningKey({ signingKeyFile: file }: Home): Promise<SigningKey | null> {
  const pem = await readSecret(file, WHAT);
  return pem === null ? null : signingKey(pem, file);
}

export function keyMissing(home: Home): BootError {
  return new BootError("key.missing", `there is no signing key at ${home.signingKeyFile}`, "Restore it from a backup.");
}

function signingKey(pem: string, file: string): SigningKey {
  const key = openKey(pem, file);
  return {
    publicKey: publicKeyOf(key),
    sign: (message) => signBytes(null, Buffer.from(message), key).toString("base64url"),
    verifySignature,
  };
}

export const verifySignature: VerifySignature = (publicKey, message, signature) => {
  const bytes = Buffer.from(signature, "base64url");
  if (bytes.toString("base64url") !== signature) return false;
  if (Buffer.from(publicKey, "base64url").toString("base64url") !== publicKey) return false;
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: publicKey }, format: "jwk" });
  return verifyBytes(null, Buffer.from(message), key, bytes);
};

function openKey(pem: string, file: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === "ed25519") return key;
  } catch {
    // OpenSSL's message may quote the key.
  }
  throw new BootError(
    "key.unusable",
    `${file} is not an Ed25519 private key`,
    "Restore it from a backup. Without one, move it away and a new key is made; earlier signatures will not verify.",
  );
}

function publicKeyOf(key: KeyObject): string {
  const { x } = createPublicKey(key).export({ format: "jwk" });
  if (x === undefined) throw new Defect("signing key without a public key");
  return x;
}
