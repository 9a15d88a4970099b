/**
 * The root of a Merkle tree (RFC 6962): one hash for a list. Leaves are hashed behind 0x00 and nodes behind 0x01, so that a
 * node never passes for a leaf; a list is split at the largest power of two below its length.
 */
import { hashBytes } from "../vocabulary/hash.ts";
import type { Hash } from "../vocabulary/identifiers.ts";
import { bytesOfHex, joinBytes } from "./bytes.ts";

export function merkleRoot(leaves: readonly Uint8Array[]): Hash {
  const [first] = leaves;
  if (first === undefined) return hashBytes("");
  if (leaves.length === 1) return hashLeaf(first);
  const split = splitOf(leaves.length);
  return hashNode(merkleRoot(leaves.slice(0, split)), merkleRoot(leaves.slice(split)));
}

function splitOf(length: number): number {
  let split = 1;
  while (split * 2 < length) split *= 2;
  return split;
}

function hashLeaf(leaf: Uint8Array): Hash {
  return hashBytes(joinBytes(Uint8Array.of(0x00), leaf));
}

function hashNode(left: Hash, right: Hash): Hash {
  return hashBytes(joinBytes(Uint8Array.of(0x01), bytesOfHex(left), bytesOfHex(right)));
}
