/** H_0 of a run's chain (M-P5.1): the hash over the contract hash alone, so an entry cannot be moved under another contract. */
import { hashCanonical } from "../vocabulary/hash.ts";
import type { Hash } from "../vocabulary/identifiers.ts";

export function genesisHash(contractHash: Hash): Hash {
  return hashCanonical(contractHash);
}
