/**
 * Merkle trees (RFC 6962): one hash for a list, and short proofs of membership.
 *
 * T1. Leaves are hashed behind 0x00 and nodes behind 0x01, so that a node can never pass for a leaf.
 * T2. A list is split at the largest power of two below its length; the root of none is the hash of no bytes.
 */
import { HASH_PATTERN, hashBytes } from "../vocabulary/hash.ts";
import type { Hash } from "../vocabulary/identifiers.ts";
import { bytesOfHex, joinBytes } from "./bytes.ts";

/** One neighbour on the way from a leaf to the root, and its side. */
export interface ProofStep {
  readonly side: "left" | "right";
  readonly hash: Hash;
}

const isHash = new RegExp(HASH_PATTERN);

export function merkleRoot(leaves: readonly Uint8Array[]): Hash {
  const [first] = leaves;
  if (first === undefined) return hashBytes("");
  if (leaves.length === 1) return hashLeaf(first);
  const split = splitOf(leaves.length);
  return hashNode(merkleRoot(leaves.slice(0, split)), merkleRoot(leaves.slice(split)));
}

/** The neighbours of the leaf at `index`, from the leaf up. */
export function merkleProof(leaves: readonly Uint8Array[], index: number): readonly ProofStep[] {
  if (leaves.length <= 1) return [];
  const split = splitOf(leaves.length);
  const [left, right] = [leaves.slice(0, split), leaves.slice(split)];
  return index < split
    ? [...merkleProof(left, index), { side: "right", hash: merkleRoot(right) }]
    : [...merkleProof(right, index - split), { side: "left", hash: merkleRoot(left) }];
}

export function verifyProof(root: Hash, leaf: Uint8Array, proof: readonly ProofStep[]): boolean {
  if (!proof.every(({ hash }) => isHash.test(hash))) return false;
  const top = proof.reduce(
    (hash, step) => (step.side === "left" ? hashNode(step.hash, hash) : hashNode(hash, step.hash)),
    hashLeaf(leaf),
  );
  return top === root;
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
