/**
 * What the next answer is held to, as a function of the run's state (M-P5.2): calls until one was performed, where the
 * contract wants that; no calls where none are offered.
 */
import type { InferMode } from "../journal/entry.ts";
import type { GrammarEntry } from "../protocol/grammar/derive-grammar.ts";
import { hashCanonical } from "../vocabulary/hash.ts";
import type { Hash } from "../vocabulary/identifiers.ts";
import { offeredTools, type RunState } from "./state.ts";

export function answerEntry({ contract, budget }: RunState, offered: number): GrammarEntry {
  const { grammarProfile, toolPolicy } = contract;
  if (offered === 0 || grammarProfile === "text") return "text";
  if (grammarProfile === "calls-or-text" || budget.performed > 0) return "calls-or-text";
  return grammarProfile === "calls" || toolPolicy === "required" ? "calls" : "calls-or-text";
}

/**
 * The contract's hash covers grammar, mask, gate and tools; mode and entry are all that varies between turns. Without a
 * grammar the entry is not hashed, since it holds nothing.
 */
export function constraintHash(state: RunState, mode: InferMode): Hash {
  const { contractHash, grammar } = state.contract;
  if (grammar === null) return hashCanonical([contractHash, mode]);
  return hashCanonical([contractHash, mode, answerEntry(state, offeredTools(state, mode).length)]);
}
