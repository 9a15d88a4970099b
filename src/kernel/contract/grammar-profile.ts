/**
 * What a model's decoding may be held to (M-P5.2), by `grammar_profile`: nothing; calls until one was performed; calls or
 * text; text alone. The policy chooses one unless the contract names another.
 */
import type { ContractTerms } from "./contract.ts";

export const GRAMMAR_PROFILES = ["off", "calls", "calls-or-text", "text"] as const;
export type GrammarProfile = (typeof GRAMMAR_PROFILES)[number];

/** Among the constraints a profile holds: the tokens' bias, which only a model in this process takes. */
export const LOGITS_MASK = "logits_mask";

export function isGrammarProfile(name: string): name is GrammarProfile {
  return (GRAMMAR_PROFILES as readonly string[]).includes(name);
}

const BY_POLICY = {
  required: "calls",
  optional: "calls-or-text",
  forbidden: "text",
} as const satisfies Record<ContractTerms["toolPolicy"], GrammarProfile>;

export function grammarProfileOf({ grammarProfile, toolPolicy }: Pick<ContractTerms, "grammarProfile" | "toolPolicy">) {
  return grammarProfile ?? BY_POLICY[toolPolicy];
}
