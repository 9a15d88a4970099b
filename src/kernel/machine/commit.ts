/**
 * COMMIT: account for the turn and decide whether there is another.
 *
 * 1. The contract's hash is checked before anything else (M-B).
 * 2. An answer is a success only if everything required is proven and every limit was kept.
 * 3. A cycle wins over escalation, escalation over deadlines, deadlines over budgets.
 * 4. The next inference is reserved here or not made: a move to INFER is always affordable.
 * 5. Under a policy state with a critic a draft is reviewed once; without the review there is no answer (M-P4c).
 */
import type { ExecutionContract } from "../contract/contract.ts";
import { isSealIntact } from "../contract/seal-contract.ts";
import type { InferMode } from "../journal/entry.ts";
import { FAILURES, type FailureReason } from "../vocabulary/failures.ts";
import type { BodyRef } from "../vocabulary/identifiers.ts";
import { inferenceAllowance, nextInference, overrun } from "./allowance.ts";
import { hasChange } from "./changes.ts";
import { isCycle, repeatsOf } from "./cycle.ts";
import { stepDeadline } from "./deadline.ts";
import { missingProof } from "./effect-proof.ts";
import { hasEscalated, settleRecovery } from "./recovery.ts";
import type { RunState } from "./state.ts";
import { type Moved, type MoveTo, moveTo, record, type Turn, type TurnEnding, update } from "./turn.ts";

type Next = MoveTo<"INFER"> | MoveTo<"TERMINATE">;

/**
 * Waits before a retry when a provider failed before its first byte and named no wait itself. After the last one the
 * provider counts as unavailable.
 */
export const TRANSPORT_RETRY_DELAYS_MS: readonly number[] = [250, 1_000];

export function enterCommit(turn: Turn, { ending }: MoveTo<"COMMIT">): Moved {
  const counted = settleCounters(turn, ending);
  const { state } = counted;
  const next = isSealIntact(state.contract) ? judge(state, ending) : failure(state, "contract.tampered");
  const { budget, recovery, history, prompt, skipped } = state;
  const committed = record(counted, "COMMIT", {
    budget,
    recovery,
    cycle: repeatsOf(history),
    promptTokens: prompt.tokens,
    skipped: [...skipped],
    next: next.to,
  });
  const draftRef = ending.kind === "answered" && next.to === "INFER" ? ending.textRef : state.draftRef;
  return moveTo(update(committed, { committedBudget: budget, skipped: [], draftRef }), next);
}

function settleCounters(turn: Turn, ending: TurnEnding): Turn {
  const { recovery, budget } = turn.state;
  const formatRetries = budget.formatRetries + (ending.kind === "malformed" ? 1 : 0);
  return update(turn, { recovery: settleRecovery(recovery), budget: { ...budget, formatRetries } });
}

function judge(state: RunState, ending: TurnEnding): Next {
  switch (ending.kind) {
    case "failed":
      return failure(state, ending.reason);
    case "answered":
      return judgeAnswer(state, ending.textRef);
    case "malformed":
      // The first retry makes this counter 1: more malformed answers than retries allowed end the run.
      if (state.budget.formatRetries > state.contract.maxFormatRetries) return failure(state, "protocol.malformed");
      return goOn(state, state.draftRef === null ? "repair" : "critique");
    case "unreachable":
      return ending.retryable ? tryAgain(state, ending) : failure(state, "provider.unavailable");
    case "acted":
      return goOn(state, state.recovery.active ? "recovery" : "normal");
  }
}

/** The answer of a review without a text passes the draft; with one it replaces it. */
function judgeAnswer(state: RunState, textRef: BodyRef | null): Next {
  const reason = overrun(state) ?? missingProof(state);
  if (reason !== null) return failure(state, reason);
  if (textRef !== null && state.draftRef === null && isReviewed(state.contract)) return goOn(state, "critique");
  const answerRef = textRef ?? state.draftRef;
  const outcome = state.budget.performed > 0 ? "COMPLETED_WITH_TOOLS" : "COMPLETED_CHAT_ONLY";
  return { to: "TERMINATE", outcome, reason: null, answerRef, attempts: [] };
}

/** The draft of its answer is shown to no one before its review. */
export function isReviewed(contract: ExecutionContract): boolean {
  return contract.policyState?.critiqueEnabled === true && hasChange(contract, "answer.is-reviewed");
}

function goOn(state: RunState, mode: InferMode): Next {
  const reason = whyStop(state);
  if (reason !== null) return failure(state, reason);
  const next = nextInference(state, mode);
  return typeof next === "string" ? failure(state, next) : next;
}

/** The same inference again: its prompt is unchanged, so it is not compacted. */
function tryAgain(state: RunState, { mode, retryAfterMs }: Extract<TurnEnding, { kind: "unreachable" }>): Next {
  const patienceMs = TRANSPORT_RETRY_DELAYS_MS[state.transportFailures - 1];
  if (patienceMs === undefined) return failure(state, "provider.unavailable");
  const reason = whyStop(state);
  if (reason !== null) return failure(state, reason);
  const allowance = inferenceAllowance(state);
  if (!allowance.ok) return failure(state, allowance.reason);
  return { to: "INFER", mode, maxOutputTokens: allowance.maxOutputTokens, delayMs: retryAfterMs || patienceMs };
}

function whyStop(state: RunState): FailureReason | null {
  if (isCycle(state.contract, state.history)) return "cycle";
  if (hasEscalated(state.recovery)) return "tool_failure_escalation";
  if (state.elapsedMs >= state.contract.totalTimeoutMs) return "run.timeout";
  if (state.elapsedMs >= stepDeadline(state)) return "step.timeout";
  return null;
}

function failure(state: RunState, reason: FailureReason): MoveTo<"TERMINATE"> {
  const attempts = reason === "tool_failure_escalation" ? state.failedAttempts : [];
  return { to: "TERMINATE", outcome: FAILURES[reason].outcome, reason, answerRef: null, attempts };
}
