/**
 * The state of one run: plain data, rebuilt at any time by folding the run's events. `phase` says what the run waits
 * for; EXECUTE and COMMIT never wait, so they are not phases. `heard` holds the events since the last entry; the next
 * entry quotes them.
 */
import type { ExecutionContract } from "../contract/contract.ts";
import type { PreflightVerdict } from "../contract/preflight.ts";
import { type ChainHead, startChain } from "../journal/chain.ts";
import {
  type Budget,
  type DecidedCall,
  type DecidedOf,
  type InferMode,
  NOTHING_SPENT,
  type Recovery,
} from "../journal/entry.ts";
import type { EventOf, LivePolicy, PlannedCall, ProposedCall, RunEvent } from "../journal/event.ts";
import type { FailureReason } from "../vocabulary/failures.ts";
import type { ApprovalId, BodyRef, CallId, Hash, RunId } from "../vocabulary/identifiers.ts";
import { CLEAN_LABELS, type Labels } from "../vocabulary/labels.ts";
import type { Outcome } from "../vocabulary/outcome.ts";
import type { CallTrace } from "./cycle.ts";
import { CALM } from "./recovery.ts";

/** A call that policy and, where needed, a person have let through. */
export interface ReadyCall extends PlannedCall {
  readonly approvalId: ApprovalId | null;
  /** The labels when this call was validated: an approval covers no more than these. */
  readonly validatedUnder: Labels;
  /** Its approval's time was over before its turn came. */
  readonly hasLapsed?: true;
}

/** A dispatched call, and the identical ones that will share its result. */
export interface CallInFlight extends ReadyCall {
  readonly sharedBy: readonly CallId[];
}

/** Why a dispatched call is being ended before it answered, and since when. */
export interface Stopping {
  readonly reason: FailureReason | "tool.timeout";
  readonly sinceMs: number;
}

/** An interrupted call that is planned again before it is tried again. */
export interface Retry {
  /** Which plan is awaited. */
  readonly round: number;
  /** Another plan than the interrupted one; a person is asked about it. */
  readonly asked: PlannedCall | null;
  readonly approved: { readonly planHash: Hash; readonly approvalId: ApprovalId } | null;
}

export type SkippedCall = DecidedOf<"COMMIT">["skipped"][number];
export type FailedAttempt = DecidedOf<"TERMINATE">["attempts"][number];

export type Phase =
  | { readonly at: "PRECHECK"; readonly verdicts: readonly PreflightVerdict[] }
  | {
      readonly at: "INFER";
      readonly mode: InferMode;
      readonly attempt: number;
      readonly maxOutputTokens: number;
      readonly constraintHash: Hash;
      /** A provider asked to wait until then, in the run's elapsed time: a restart does not shorten it. */
      readonly notBeforeMs: number;
      /** The context is being compacted first; the model has not been asked yet. */
      readonly compacting: boolean;
    }
  | {
      readonly at: "VALIDATE_CALLS";
      readonly mode: InferMode;
      readonly proposed: readonly ProposedCall[];
      /** Which plan of this batch is awaited: the first, or the one after the last approval. */
      readonly round: 1 | 2;
      readonly planned: readonly PlannedCall[] | null;
      readonly verdicts: readonly CallVerdict[];
    }
  | {
      readonly at: "OBSERVE";
      readonly inFlight: readonly CallInFlight[];
      readonly waiting: readonly ReadyCall[];
      readonly dispatchedMs: number;
      readonly stopping: Stopping | null;
      /** A person has been asked whether the interrupted effect happened. */
      readonly resolving: boolean;
      /** The answer was to try it again. */
      readonly retry?: Retry;
    }
  | {
      readonly at: "TERMINATE";
      readonly outcome: Outcome;
      readonly reason: FailureReason | null;
      readonly answerRef: BodyRef | null;
    };

export type CallVerdict =
  | { readonly kind: "allowed"; readonly policyId: string; readonly approvalId: ApprovalId | null }
  | { readonly kind: "asking"; readonly policyId: string; readonly why: string }
  | { readonly kind: "refused"; readonly policyId: string; readonly refusal: NonNullable<DecidedCall["refusal"]> };

export interface RunState {
  readonly contract: ExecutionContract;
  readonly chain: ChainHead;
  readonly phase: Phase;
  readonly heard: readonly RunEvent[];
  readonly ts: string;
  readonly elapsedMs: number;
  /** INFER turns begun; `step-0` is PRECHECK. */
  readonly step: number;
  readonly stepStartedMs: number;
  /** Requests sent to the model, transport retries too. */
  readonly attempt: number;
  readonly transportFailures: number;
  readonly accepted: EventOf<"run.accepted"> | null;
  readonly labels: Labels;
  readonly live: LivePolicy | null;
  readonly prompt: { readonly head: Hash; readonly tokens: number };
  readonly budget: Budget;
  readonly recovery: Recovery;
  readonly history: readonly CallTrace[];
  /** Validated calls of this turn that will not be performed; COMMIT records them. */
  readonly skipped: readonly SkippedCall[];
  /** The answer that is being reviewed; null before. */
  readonly draftRef: BodyRef | null;
  readonly lastTool: string | null;
  readonly failedAttempts: readonly FailedAttempt[];
  readonly usedApprovals: readonly ApprovalId[];
  /** Plans of opaque effects that were cut off: whether they happened is not known. */
  readonly inDoubt: readonly Hash[];
  /** Indexes of required effects that a performed call proved, or tried and failed to prove. */
  readonly effects: { readonly proven: readonly number[]; readonly attempted: readonly number[] };
  /** The last restore of the home that the run knows of, and whether a person must still say if it may go on. */
  readonly restored: { readonly id: string; readonly isOpen: boolean } | null;
  /** Budget of the last COMMIT: what views know. */
  readonly committedBudget: Budget;
}

export function startRun(runId: RunId, contract: ExecutionContract): RunState {
  return {
    contract,
    chain: startChain(runId, contract),
    phase: { at: "PRECHECK", verdicts: [] },
    heard: [],
    ts: "",
    elapsedMs: 0,
    step: 0,
    stepStartedMs: 0,
    attempt: 0,
    transportFailures: 0,
    accepted: null,
    labels: CLEAN_LABELS,
    live: null,
    prompt: { head: contract.contractHash, tokens: 0 },
    budget: NOTHING_SPENT,
    recovery: CALM,
    history: [],
    skipped: [],
    draftRef: null,
    lastTool: null,
    failedAttempts: [],
    usedApprovals: [],
    inDoubt: [],
    effects: { proven: [], attempted: [] },
    restored: null,
    committedBudget: NOTHING_SPENT,
  };
}

export function stepId(state: RunState): string {
  return `step-${state.step}`;
}

/** The tools this run may use: the contract's frozen list, or for version 2.1's null all that were granted. */
export function toolsOf(state: RunState): readonly string[] {
  return state.contract.allowedTools ?? state.accepted?.tools.names ?? [];
}

/** None when the run must wrap up or may not act. */
export function offeredTools(state: RunState, mode: InferMode): readonly string[] {
  return mode === "synthesis" || mode === "critique" || state.contract.toolPolicy === "forbidden" ? [] : toolsOf(state);
}
