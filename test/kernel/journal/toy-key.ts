/**
 * A toy in place of Ed25519, which the kernel does not have: a keyed hash whose "public" key is the key itself.
 * It tells a wrong message, signature or key apart, and that is all these tests ask of a signature.
 */
import type { TrustedKey, VerifySignature } from "../../../src/kernel/journal/checkpoint.ts";
import { hashCanonical } from "../../../src/kernel/vocabulary/hash.ts";

const signWith = (key: string, message: string): string => hashCanonical(["toy", key, message]);

export const PUBLIC_KEY = "toy-key";
export const sign = (message: string): string => signWith(PUBLIC_KEY, message);
export const signAsStranger = (message: string): string => signWith("stranger", message);
export const verifySignature: VerifySignature = (key, message, signature) => signWith(key, message) === signature;
export const TRUSTED: TrustedKey = { publicKey: PUBLIC_KEY, verifySignature };
