/**
 * A child's contract: delegation never creates authority or money (T-3b). Tools, capabilities and approvals are subsets
 * of the parent's, and the budget is carved out of what the parent has left.
 */

import { hashCanonical } from "../vocabulary/hash.ts";
import { asRunId, type RunId } from "../vocabulary/identifiers.ts";
import type { ContractTerms, ExecutionContract } from "./contract.ts";
import { MAXIMUM_DEPTH } from "./preflight.ts";

export interface RemainingBudget {
  readonly inferences: number;
  readonly tokens: number;
  /** Null where the parent has no spending limit. */
  readonly spendMicrousd: number | null;
  readonly elapsedMs: number;
}

export interface ChildRequest {
  readonly contractId: string;
  readonly tools: readonly string[];
  readonly toolPolicy: ContractTerms["toolPolicy"];
  readonly maxInferences: number;
  readonly maxTokensConsumed: number;
  readonly maxSpendMicrousd: number | null;
  readonly totalTimeoutMs: number;
  /** Its answer must fulfil it; null: any text will do. */
  readonly outputSchema: ContractTerms["outputSchema"];
}

export type ChildTerms =
  | { readonly ok: true; readonly terms: ContractTerms }
  | { readonly ok: false; readonly problem: "too-deep" | "no-budget" };

export function childTerms(parent: ExecutionContract, left: RemainingBudget, request: ChildRequest): ChildTerms {
  if (parent.depth >= MAXIMUM_DEPTH) return { ok: false, problem: "too-deep" };
  const maxInferences = Math.min(request.maxInferences, left.inferences);
  const maxTokensConsumed = Math.min(request.maxTokensConsumed, left.tokens);
  const totalTimeoutMs = Math.min(request.totalTimeoutMs, left.elapsedMs);
  const maxSpendMicrousd = smallerLimit(request.maxSpendMicrousd, left.spendMicrousd);
  const limits = [maxInferences, maxTokensConsumed, totalTimeoutMs, maxSpendMicrousd];
  if (!limits.every(isPositive)) return { ok: false, problem: "no-budget" };
  const { contractHash, ...inherited } = parent;
  return {
    ok: true,
    terms: {
      ...inherited,
      version: "2.3",
      contractId: request.contractId,
      parentContractHash: contractHash,
      depth: parent.depth + 1,
      toolPolicy: request.toolPolicy,
      allowedTools: request.tools.filter((tool) => parent.allowedTools === null || parent.allowedTools.includes(tool)),
      // They follow from the tools and the model of the child.
      grammarProfile: null,
      grammar: null,
      logitsMask: null,
      requiredEffects: [],
      policyState: parent.policyState ?? null,
      outputSchema: request.outputSchema,
      maxInferences,
      maxTokensConsumed,
      maxSpendMicrousd,
      stepTimeoutMs: Math.min(parent.stepTimeoutMs, totalTimeoutMs),
      totalTimeoutMs,
    },
  };
}

/** The same call of the same step is the same child: a resumed parent finds it again instead of spawning another. */
export function childRunId(parent: RunId, stepId: string, index: number): RunId {
  return asRunId(`run_${hashCanonical([parent, stepId, index]).slice(0, 32)}`);
}

/** Null means no limit. */
function isPositive(limit: number | null): boolean {
  return limit === null || (Number.isSafeInteger(limit) && limit >= 1);
}

function smallerLimit(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}
