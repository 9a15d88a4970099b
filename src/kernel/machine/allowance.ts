/**
 * May the run afford one more inference, and how long an answer?
 *
 * A1. A whole inference is reserved before it is asked for: prompt and answer fit what is left, or it is not made.
 * A2. The answer's length is what contract, tokens left and context window leave, the smallest of them.
 */
import { MINIMUM_OUTPUT_TOKENS } from "../contract/preflight.ts";
import type { CarvedBudget } from "../journal/event.ts";
import type { FailureReason } from "../vocabulary/failures.ts";
import type { RunState } from "./state.ts";

export type Allowance =
  | { readonly ok: true; readonly maxOutputTokens: number }
  | { readonly ok: false; readonly reason: FailureReason };

export function inferenceAllowance(state: RunState, promptTokens = state.prompt.tokens): Allowance {
  const { contract, budget } = state;
  if (budget.inferences >= contract.maxInferences) return { ok: false, reason: "budget.inferences" };
  if (isSpendExhausted(state)) return { ok: false, reason: "budget.spend" };
  const tokensLeft = contract.maxTokensConsumed - budget.tokens - promptTokens;
  if (tokensLeft < MINIMUM_OUTPUT_TOKENS) return { ok: false, reason: "budget.tokens" };
  const roomLeft = contract.contextBudget.contextWindow - promptTokens;
  if (roomLeft < MINIMUM_OUTPUT_TOKENS) return { ok: false, reason: "context.exhausted" };
  return { ok: true, maxOutputTokens: Math.min(contract.maxOutputTokens, tokensLeft, roomLeft) };
}

/** Usage that turned out larger than its reservation: the run stops rather than pretend it kept to its limits. */
export function overrun(state: RunState): FailureReason | null {
  const { contract, budget } = state;
  if (budget.tokens > contract.maxTokensConsumed) return "budget.tokens";
  if (contract.maxSpendMicrousd !== null && budget.spendMicrousd > contract.maxSpendMicrousd) return "budget.spend";
  return null;
}

export function canAfford({ contract, budget }: RunState, carved: CarvedBudget): boolean {
  return (
    budget.inferences + carved.inferences <= contract.maxInferences &&
    budget.tokens + carved.tokens <= contract.maxTokensConsumed &&
    (contract.maxSpendMicrousd === null || budget.spendMicrousd + carved.spendMicrousd <= contract.maxSpendMicrousd)
  );
}

export function isContextFull(state: RunState): boolean {
  const { contextWindow, forceSynthesisAtRatio } = state.contract.contextBudget;
  return state.prompt.tokens >= contextWindow * forceSynthesisAtRatio;
}

function isSpendExhausted({ contract, budget }: RunState): boolean {
  return contract.maxSpendMicrousd !== null && budget.spendMicrousd >= contract.maxSpendMicrousd;
}
