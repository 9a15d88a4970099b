/**
 * May the run afford one more inference, and how long an answer? A whole inference, prompt and answer, is reserved
 * before it starts, or it is not made.
 */
import { MINIMUM_OUTPUT_TOKENS } from "../contract/preflight.ts";
import type { InferMode } from "../journal/entry.ts";
import type { CarvedBudget, PlannedCall } from "../journal/event.ts";
import type { FailureReason } from "../vocabulary/failures.ts";
import type { RunState } from "./state.ts";
import type { MoveTo } from "./turn.ts";

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

/** The move to another inference, by way of compaction when the context is full; or why there is none. */
export function nextInference(state: RunState, mode: InferMode): MoveTo<"INFER"> | FailureReason {
  const mustCompact = isContextFull(state);
  // The size after compaction is unknown, so assume an empty prompt: INFER checks again afterwards.
  const allowance = inferenceAllowance(state, mustCompact ? 0 : state.prompt.tokens);
  if (!allowance.ok) return allowance.reason;
  return { to: "INFER", mode, maxOutputTokens: mustCompact ? null : allowance.maxOutputTokens, delayMs: 0 };
}

/** Usage exceeded its reservation: the run stops. */
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

/** A child's budget leaves the parent's when it is spawned; the unused part returns when the child ends. */
export function debit(state: RunState, { child }: PlannedCall): RunState {
  if (child === null) return state;
  const { inferences, tokens, spendMicrousd } = state.budget;
  const { budget } = child;
  return {
    ...state,
    budget: {
      ...state.budget,
      inferences: inferences + budget.inferences,
      tokens: tokens + budget.tokens,
      spendMicrousd: spendMicrousd + budget.spendMicrousd,
    },
  };
}

export function isContextFull(state: RunState): boolean {
  const { contextWindow, forceSynthesisAtRatio } = state.contract.contextBudget;
  return state.prompt.tokens >= contextWindow * forceSynthesisAtRatio;
}

function isSpendExhausted({ contract, budget }: RunState): boolean {
  return contract.maxSpendMicrousd !== null && budget.spendMicrousd >= contract.maxSpendMicrousd;
}
