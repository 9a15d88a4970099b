/**
 * Sealing: from terms to a contract that can no longer change (M-B).
 *
 * C1. The hash covers all terms in wire spelling, but grammar and mask by their own hash, and never itself.
 * C2. A sealed contract is deeply frozen, and `isSealIntact` recomputes its hash: a swapped one is noticed too.
 * C3. Under strict_mode and `required` the token gate is forced on before hashing (M-7.5).
 */
import { hashCanonical, hashWire } from "../vocabulary/hash.ts";
import type { Hash } from "../vocabulary/identifiers.ts";
import { type ContractTerms, type ExecutionContract, SeedContractFields } from "./contract.ts";

export function sealContract(terms: ContractTerms): ExecutionContract {
  const gated = terms.strictMode && terms.toolPolicy === "required" ? { ...terms, tokenGate: true } : terms;
  return deepFreeze({ ...gated, contractHash: hashTerms(gated) });
}

export function isSealIntact(contract: ExecutionContract): boolean {
  return hashTerms(contract) === contract.contractHash;
}

export function hashTerms(terms: ContractTerms | ExecutionContract): Hash {
  const { contractHash: _own, ...covered } = { contractHash: null, ...terms };
  const hashed = {
    ...covered,
    grammar: terms.grammar === null ? null : hashCanonical(terms.grammar),
    logitsMask: terms.logitsMask === null ? null : hashCanonical(terms.logitsMask),
  };
  return hashWire(terms.version === "2.1" ? seedFieldsOf(hashed) : hashed);
}

/** Version 2.1 knows the seed's fields only, so only they are under its hash. */
function seedFieldsOf(terms: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.keys(SeedContractFields).map((field) => [field, terms[field]]));
}

export function deepFreeze<T>(value: T): T {
  // What is frozen already is entered all the same: its inner parts need not be.
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}
