/**
 * Sealing: from terms to a frozen contract (M-B). The hash covers all terms in wire spelling, grammar and mask by their
 * own hash. Under strict_mode and `required` the token gate is forced on before hashing (M-7.5).
 */
import { Defect } from "../vocabulary/defect.ts";
import { hashCanonical, hashWire } from "../vocabulary/hash.ts";
import type { Hash } from "../vocabulary/identifiers.ts";
import { jsonProblem } from "../vocabulary/json-problem.ts";
import type { ContractTerms, ExecutionContract } from "./contract.ts";
import { fillSeed, isFilledSeed, type SeedContract, seedFieldsOf } from "./seed-contract.ts";

/** Half of what `parseJson` reads, so that a bundle fits around a contract. */
export const MAX_CONTRACT_DEPTH = 32;

export function sealContract(terms: ContractTerms): ExecutionContract {
  const problem = jsonProblem(terms, MAX_CONTRACT_DEPTH);
  if (problem !== null) throw new Defect(`contract: ${problem}`);
  const gated = terms.strictMode && terms.toolPolicy === "required" ? { ...terms, tokenGate: true } : terms;
  return sealed({ ...gated, contractHash: hashTerms(gated) });
}

/** Seals the seed's own document; new contracts are sealed as version 2.3. */
export function sealSeed(seed: Omit<SeedContract, "contractHash">): ExecutionContract {
  const filled = fillSeed(seed);
  return sealed({ ...filled, contractHash: hashTerms(filled) });
}

/** Frozen contracts with a verified hash, by identity. */
const KNOWN_INTACT = new WeakSet<ExecutionContract>();

export function isSealIntact(contract: ExecutionContract): boolean {
  if (KNOWN_INTACT.has(contract)) return true;
  if (hashTerms(contract) !== contract.contractHash) return false;
  return contract.version !== "2.1" || isFilledSeed(contract);
}

/** For terms whose hash was just computed or checked. */
export function sealed(contract: ExecutionContract): ExecutionContract {
  KNOWN_INTACT.add(deepFreeze(contract));
  return contract;
}

export function hashTerms(terms: Omit<ExecutionContract, "contractHash">): Hash {
  const { contractHash: _own, ...covered } = { contractHash: null, ...terms };
  const hashed = {
    ...covered,
    grammar: terms.grammar === null ? null : hashCanonical(terms.grammar),
    logitsMask: terms.logitsMask === null ? null : hashCanonical(terms.logitsMask),
  };
  // Version 2.1 knows the seed's fields only, so only they are under its hash.
  return hashWire(terms.version === "2.1" ? seedFieldsOf(hashed) : hashed);
}

export function deepFreeze<T>(value: T): T {
  // A frozen object may hold parts that are not frozen.
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}
