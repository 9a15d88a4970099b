/**
 * Delegated runs: a child is a run of its own, under a contract carved out of its parent's.
 *
 * H1. A child is inserted in the transaction that makes its parent's intent durable: there is never one without the other.
 * H2. Its id follows from parent, step and place, so a resumed parent finds it again instead of starting another.
 * H3. What the parent is told of it is read from the child's sealed journal.
 * H4. Its contract follows from its parent's, its id and its budget: drafted again by a resumed parent it is the same.
 */
import type { RemainingBudget } from "../../kernel/contract/child-contract.ts";
import type { ExecutionContract } from "../../kernel/contract/contract.ts";
import type { Answer, Entry } from "../../kernel/journal/entry.ts";
import type { CarvedBudget, PlannedCall } from "../../kernel/journal/event.ts";
import type { Lookup } from "../../kernel/journal/views/body-content.ts";
import { answerOf } from "../../kernel/journal/views/run-answer.ts";
import { snapshotOfEntries } from "../../kernel/journal/views/run-snapshot.ts";
import type { Command } from "../../kernel/machine/command.ts";
import type { RunState } from "../../kernel/machine/state.ts";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import type { BodyRef, RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import { truncateOutput } from "../../kernel/vocabulary/truncate-output.ts";
import type { StoredRun, Write } from "../ports/store.ts";
import type { CallResult } from "../tools/format-tool-result.ts";

export interface DelegationRequest {
  readonly parent: StoredRun;
  readonly contract: ExecutionContract;
  readonly left: RemainingBudget;
  /** What its call was let through with; null when it is planned for the first time. */
  readonly carved: CarvedBudget | null;
  readonly childRunId: RunId;
  readonly agent: string;
  readonly message: string;
  /** Of the context that delegates: the child's message carries them. */
  readonly labels: Labels;
}

export interface ChildDraft {
  readonly child: NonNullable<PlannedCall["child"]>;
  /** Inserts the run and everything it needs to begin. */
  readonly writes: readonly Write[];
}

/** Drafts a child; a sentence when there can be none (no such agent, no budget left, nested too deeply). */
export type Delegate = (request: DelegationRequest) => ChildDraft | { readonly problem: string };

/** Time counts from the beginning of the step, which a resumed run knows to the millisecond (H4). */
export function remainingBudget({ contract, budget, stepStartedMs }: RunState): RemainingBudget {
  return {
    inferences: contract.maxInferences - budget.inferences,
    tokens: contract.maxTokensConsumed - budget.tokens,
    spendMicrousd: contract.maxSpendMicrousd === null ? null : contract.maxSpendMicrousd - budget.spendMicrousd,
    elapsedMs: contract.totalTimeoutMs - stepStartedMs,
  };
}

export function childFinished(
  { step, callId, child }: Extract<Command, { type: "spawn-child" }>,
  { contract }: RunState,
  entries: readonly Entry[],
  lookup: Lookup,
  keep: (text: string) => BodyRef,
  tokensOf: (outcome: CallResult) => number,
): Answer {
  const ending = entries.at(-1);
  if (ending?.kind !== "TERMINATE") throw new Defect("a child that has not ended");
  const { outcome, reason } = ending.decided;
  const { inferences, tokens, spendMicrousd } = snapshotOfEntries(child.runId, child.contractHash, entries).budget;
  const said = answerOf(ending, lookup) ?? "";
  const ok = outcome.startsWith("COMPLETED_");
  const { maxBytesPerCall, truncationMarker } = contract.toolOutputBudget;
  const shown = truncateOutput(said, maxBytesPerCall, truncationMarker);
  const message = `The delegated run ended ${outcome}${reason === null ? "" : ` (${reason})`}. ${said}`.trim();
  return {
    type: "child.finished",
    step,
    callId,
    childRunId: child.runId,
    outcome,
    headHash: ending.hash,
    spent: { inferences, tokens, spendMicrousd },
    response: {
      ok,
      outputRef: ok ? keep(shown.text) : null,
      outputBytes: ok ? shown.bytes : 0,
      truncated: ok && shown.truncated,
      error: ok ? null : { code: "internal.error", retryable: false, messageRef: keep(message) },
      durationMs: ending.elapsedMs,
    },
    labels: ending.labels,
    tokens: tokensOf({ ok, output: ok ? shown.text : null, error: ok ? null : `internal.error: ${message}` }),
  };
}
