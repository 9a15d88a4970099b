/**
 * Delegated runs: a child is a run of its own, under a contract derived from its parent's.
 *
 * A child is inserted in the transaction of its parent's intent, so there is never one without the other. Its id follows
 * from parent, step and position, and its contract from the parent's contract, the id and the budget: a resumed parent
 * finds or drafts the same child again. The result for the parent is read from the child's sealed journal.
 */
import type { RemainingBudget } from "../../kernel/contract/child-contract.ts";
import type { ExecutionContract } from "../../kernel/contract/contract.ts";
import type { Answer, Entry } from "../../kernel/journal/entry.ts";
import type { CarvedBudget, PlannedCall } from "../../kernel/journal/event.ts";
import type { Lookup } from "../../kernel/journal/views/body-content.ts";
import { costFacts } from "../../kernel/journal/views/receipt.ts";
import { answerOf } from "../../kernel/journal/views/run-answer.ts";
import { snapshotOfEntries } from "../../kernel/journal/views/run-snapshot.ts";
import type { Command } from "../../kernel/machine/command.ts";
import { inFlightCall } from "../../kernel/machine/outstanding.ts";
import type { RunState } from "../../kernel/machine/state.ts";
import { canonicalJson } from "../../kernel/vocabulary/canonical-json.ts";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import { adviceOn, wireCodeOf } from "../../kernel/vocabulary/failures.ts";
import type { BodyRef, RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import { truncateOutput } from "../../kernel/vocabulary/truncate-output.ts";
import type { StoredRun, Write } from "../ports/store.ts";
import type { CallResult } from "../tools/format-tool-result.ts";
import { requestIdOf } from "../tools/read-tool-response.ts";

export interface DelegationRequest {
  readonly parent: StoredRun;
  readonly contract: ExecutionContract;
  readonly left: RemainingBudget;
  /** The budget its call was allowed with; null when it is planned for the first time. */
  readonly carved: CarvedBudget | null;
  readonly childRunId: RunId;
  /** Of its call in the batch. */
  readonly index: number;
  /** How many runs the batch delegates. */
  readonly share: number;
  readonly agent: string;
  readonly message: string;
  /** Of the delegating context; the child's message carries them. */
  readonly labels: Labels;
}

export interface ChildDraft {
  readonly child: NonNullable<PlannedCall["child"]>;
  /** Inserts the run and everything it needs to start. */
  readonly writes: readonly Write[];
}

/** Drafts a child, or says why there can be none: no such agent, no budget left, nested too deeply. */
export type Delegate = (request: DelegationRequest) => ChildDraft | { readonly problem: string };

/** Time counts from the start of the step, which is exact after a resume too; so the child's contract stays the same. */
export function remainingBudget({ contract, budget, stepStartedMs }: RunState): RemainingBudget {
  return {
    inferences: contract.maxInferences - budget.inferences,
    tokens: contract.maxTokensConsumed - budget.tokens,
    spendMicrousd: contract.maxSpendMicrousd === null ? null : contract.maxSpendMicrousd - budget.spendMicrousd,
    elapsedMs: contract.totalTimeoutMs - stepStartedMs,
  };
}

export function childFinished(
  command: Extract<Command, { type: "spawn-child" }>,
  runId: RunId,
  state: RunState,
  entries: readonly Entry[],
  lookup: Lookup,
  keep: (text: string) => BodyRef,
  tokensOf: (outcome: CallResult) => number,
): Answer {
  const { step, callId, child } = command;
  const { contract } = state;
  const ending = entries.at(-1);
  if (ending?.kind !== "TERMINATE") throw new Defect("children: the child has not ended");
  const { outcome, reason } = ending.decided;
  const wire = wireCodeOf(reason);
  const advice = reason === null ? "" : (adviceOn(reason) ?? "");
  const { inferences, tokens, spendMicrousd } = snapshotOfEntries(child.runId, child.contractHash, entries).budget;
  const { isPriced, isEstimate } = costFacts(entries);
  const said = answerOf(ending, lookup) ?? "";
  const ok = outcome.startsWith("COMPLETED_");
  const { maxBytesPerCall, truncationMarker } = contract.toolOutputBudget;
  const shown = truncateOutput(said, maxBytesPerCall, truncationMarker);
  const message =
    `The delegated run ended ${outcome}${reason === null ? "" : ` (${reason})`}. ${said || advice}`.trim();
  return {
    type: "child.finished",
    step,
    callId,
    childRunId: child.runId,
    outcome,
    headHash: ending.hash,
    spent: { inferences, tokens, spendMicrousd },
    ...(isPriced ? {} : { isUnpriced: true as const }),
    ...(isEstimate ? { isEstimate } : {}),
    response: {
      ...{ requestId: requestIdOf(runId, command), runId, tool: inFlightCall(state, callId)?.tool ?? "" },
      ok,
      outputRef: ok ? keep(shown.text) : null,
      outputBytes: ok ? shown.bytes : 0,
      truncated: ok && shown.truncated,
      error: ok
        ? null
        : {
            ...{ code: wire, retryable: false, messageRef: keep(message) },
            detailsRef: keep(canonicalJson({ outcome, reason, run_id: child.runId })),
          },
      durationMs: ending.elapsedMs,
      finishedAt: ending.ts,
    },
    labels: ending.labels,
    tokens: tokensOf({ ok, output: ok ? shown.text : null, error: ok ? null : `${wire}: ${message}` }),
  };
}
