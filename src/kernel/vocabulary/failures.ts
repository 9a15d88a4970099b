/**
 * Every expected failure of a run, in one table, so that each has an outcome.
 * `docs/failures.md` lists the same rows, and a test compares them.
 *
 * `wire` is the one code a client sees; `advice` says what a person can do next. The advice of `tool.forbidden`,
 * `cycle.forbidden-pair`, `context.exhausted`, `protocol.malformed`, timeouts and cancellation is recorded with refused calls: never reword it.
 */
import type { ErrorCode } from "./error-code.ts";
import type { Outcome } from "./outcome.ts";

interface FailureRow {
  readonly outcome: Exclude<Outcome, `COMPLETED_${string}`>;
  readonly wire: ErrorCode;
  readonly advice: string;
}

export const FAILURES = {
  "context.over-budget": row(
    "FAILED_PREFLIGHT",
    "invalid.request",
    "OverBudgetError: the prompt does not fit the model's context window: shorten the message, compact the session or choose a model with a larger window.",
  ),
  "contract.context-infeasible": row(
    "FAILED_PREFLIGHT",
    "invalid.request",
    "The reserved tokens fill the context window: lower the reserves or raise context_window.",
  ),
  "contract.invalid": row(
    "FAILED_PREFLIGHT",
    "invalid.request",
    "A term of the contract is out of bounds: the verdict names it.",
  ),
  "contract.tools-unavailable": row(
    "FAILED_PREFLIGHT",
    "tool.not_found",
    "The contract needs a tool that policy or registry does not offer: see `surety tools ls`.",
  ),
  "contract.profile-incompatible": row(
    "FAILED_PREFLIGHT",
    "invalid.request",
    "The model's profile cannot hold this contract: choose another model or relax tool_policy, grammar or token_gate.",
  ),
  "backend.unresponsive": row(
    "FAILED_PREFLIGHT",
    "internal.error",
    "The model's backend does not answer: check that it runs, its baseUrl in the config, and its key in the environment or .env.",
  ),
  "protocol.no-tool-call": row(
    "FAILED_PROTOCOL_NO_TOOLS",
    "invalid.request",
    "The model answered without the tool call this task requires: try again or choose another model.",
  ),
  "effect.missing": row(
    "FAILED_PROTOCOL_NO_TOOLS",
    "invalid.request",
    "The model claimed to be done, but never performed a required effect: try again or choose another model.",
  ),
  "protocol.malformed": row(
    "FAILED_PROTOCOL_MALFORMED",
    "invalid.request",
    "The model's output does not follow its protocol: try again or choose another model.",
  ),
  "provider.unavailable": row(
    "FAILED_PROTOCOL_MALFORMED",
    "internal.error",
    "The provider failed and no other was tried: check its status and try again.",
  ),
  "tool.all-failed": row(
    "FAILED_VALIDATION",
    "internal.error",
    "Every tool call failed or was refused, so the required proof is missing: the run record lists each error.",
  ),
  "effect.failed": row(
    "FAILED_VALIDATION",
    "internal.error",
    "A required effect was attempted but failed: the run record lists the error.",
  ),
  "tool.malformed-result": row(
    "FAILED_VALIDATION",
    "internal.error",
    "A tool returned a result that is not a valid envelope: report it to the author of the tool.",
  ),
  "budget.inferences": row(
    "FAILED_BUDGET_EXHAUSTED",
    "invalid.request",
    "The run used all its inferences: raise max_inferences or narrow the task.",
  ),
  "budget.tokens": row(
    "FAILED_BUDGET_EXHAUSTED",
    "invalid.request",
    "A limit in tokens left too little for the next inference: raise it or narrow the task; see `surety budget`.",
  ),
  "budget.spend": row(
    "FAILED_BUDGET_EXHAUSTED",
    "invalid.request",
    "A spending limit left too little for the next inference: raise it or narrow the task; see `surety budget`.",
  ),
  "context.exhausted": row(
    "FAILED_BUDGET_EXHAUSTED",
    "invalid.request",
    "The context window is full and no answer could be made within it.",
  ),
  cycle: row(
    "FAILED_BUDGET_EXHAUSTED",
    "invalid.request",
    "The model repeated itself without progress: rephrase the task or choose another model.",
  ),
  tool_failure_escalation: row(
    "FAILED_BUDGET_EXHAUSTED",
    "internal.error",
    "Tools kept failing in recovery: the answer lists what was tried and asks for guidance.",
  ),
  "step.timeout": row("FAILED_TIMEOUT", "timeout", "One step took longer than step_timeout_ms."),
  "run.timeout": row("FAILED_TIMEOUT", "timeout", "The run took longer than total_timeout_ms."),
  "tool.forbidden": row(
    "FAILED_CONTRACT_VIOLATION",
    "policy.denied",
    "The model called a tool although the contract forbids tools; nothing was performed.",
  ),
  "cycle.forbidden-pair": row(
    "FAILED_CONTRACT_VIOLATION",
    "policy.denied",
    "The model called a tool directly after one it must not follow; nothing was performed.",
  ),
  "contract.tampered": row(
    "FAILED_CONTRACT_VIOLATION",
    "internal.error",
    "The contract no longer matches its hash: check the home with `surety verify --home`.",
  ),
  defect: row(
    "FAILED_CONTRACT_VIOLATION",
    "internal.error",
    "Surety itself has a defect: the log names an error id to report.",
  ),
  "run.cancelled": row("INTERRUPTED", "invalid.request", "The run was cancelled."),
  "effect.unresolved": row(
    "INTERRUPTED",
    "internal.error",
    "No one confirmed in time whether an interrupted effect had happened: check it before you try again.",
  ),
  "run.restored": row(
    "INTERRUPTED",
    "internal.error",
    "The home was restored from a backup and the run was not continued: check what it did after the backup was taken.",
  ),
  "machine.diverged": row(
    "INTERRUPTED",
    "internal.error",
    "The journal does not replay to the same entries, so nothing was done: check it with `surety verify`.",
  ),
} as const satisfies Record<string, FailureRow>;

/** The name of an expected failure, used as the run's `reason`. */
export type FailureReason = keyof typeof FAILURES;

/** Null for a reason that this version does not know. */
export function adviceOn(reason: string): string | null {
  return Object.hasOwn(FAILURES, reason) ? FAILURES[reason as FailureReason].advice : null;
}

/** The code a client sees; of a reason that this version does not know, or of none, the most general one. */
export function wireCodeOf(reason: string | null): ErrorCode {
  return reason !== null && Object.hasOwn(FAILURES, reason) ? FAILURES[reason as FailureReason].wire : "internal.error";
}

function row<const O extends FailureRow["outcome"]>(outcome: O, wire: ErrorCode, advice: string) {
  return { outcome, wire, advice };
}
