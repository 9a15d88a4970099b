/**
 * When a memory may be written, and what makes two of them the same.
 *
 * M1. An id is never given twice. One that follows from its origin (a call, a summary, a closed loop) makes a repeat change
 *     nothing.
 * M2. What an agent remembers already, with the same owner and labels, is not added again.
 * M3. A memory is replaced, never edited; what was superseded or forgotten is not superseded again.
 */
import { hashCanonical } from "../../kernel/vocabulary/hash.ts";
import { asMemoryId, type Hash, type MemoryId } from "../../kernel/vocabulary/identifiers.ts";
import { StoreError } from "../ports/store.ts";
import type { NewMemory, StoredMemory } from "../ports/stored-memory.ts";
import type { WriteVerdict } from "../ports/write-verdict.ts";

/** As many hex digits as other ids have. */
const ID_DIGITS = 24;
export const MAX_MEMORY_CHARS = 8_000;
export const MAX_TAGS = 16;

/** Follows from what it was made from. */
export function memoryIdOf(...origin: readonly (string | number)[]): MemoryId {
  return asMemoryId(`mem_${hashCanonical(["memory", ...origin]).slice(0, ID_DIGITS)}`);
}

export function memoryHash({ agentId, owner, labels, text }: Omit<NewMemory, "id">): Hash {
  return hashCanonical([agentId, owner, labels.integrity, labels.confidentiality, text]);
}

/** `same`: has the id. `like`: says the same. `replaced`: the one it supersedes, where it names one. */
export function checkAddMemory(
  { supersedes }: NewMemory,
  same: StoredMemory | null,
  like: MemoryId | null,
  replaced: StoredMemory | null,
): WriteVerdict {
  if (same !== null || like !== null) return "skip";
  if (supersedes === null) return "write";
  if (replaced === null || replaced.text === null) return conflict("was forgotten or never existed");
  return replaced.supersededBy === null ? "write" : conflict(`was replaced by ${replaced.supersededBy}`);
}

function conflict(why: string): StoreError {
  return new StoreError("store.conflict", `The memory to be replaced ${why}.`);
}
