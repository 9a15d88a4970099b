/** The one way the kernel hashes: SHA-256 over canonical JSON (RFC 8785). */
import { sha256Hex } from "#sha256";
import { canonicalJson } from "./canonical-json.ts";
import { asHash, type Hash } from "./identifiers.ts";
import { canonicalWire } from "./wire-case.ts";

export function hashCanonical(value: unknown): Hash {
  return asHash(sha256Hex(canonicalJson(value)));
}

export function hashWire(value: unknown): Hash {
  return asHash(sha256Hex(canonicalWire(value)));
}

export function hashBytes(data: string | Uint8Array): Hash {
  return asHash(sha256Hex(data));
}

export const HASH_PATTERN = "^[0-9a-f]{64}$";
