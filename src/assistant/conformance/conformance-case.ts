/**
 * One case of the conformance corpus (M-9): what a model is asked to do, under which contract, and what must come of it.
 *
 * C1. `expected` is the contract's behaviour, not the model's: a case passes when the outcome is that one and nothing in
 *     the transcript contradicts it.
 * C2. A case whose subject is a model that breaks the rules tells it to (`isProvoked`). Where the wire would keep it from
 *     doing so, `loosen` lifts that on the wire alone; contract, adapter and machine are those of any other run.
 */
import type { ExecutionContract } from "../../kernel/contract/contract.ts";
import type { Entry } from "../../kernel/journal/entry.ts";
import type { RunRecord } from "../../kernel/journal/views/run-record.ts";
import type { Outcome } from "../../kernel/vocabulary/outcome.ts";
import type { ModelRequest } from "../../runtime/ports/model-backend.ts";
import type { ContractOverrides } from "../runs/run-request.ts";

export interface Transcript {
  readonly contract: ExecutionContract;
  readonly entries: readonly Entry[];
  readonly record: RunRecord;
}

export interface ConformanceCase {
  readonly id: string;
  readonly name: string;
  readonly message: string;
  readonly isProvoked: boolean;
  /** `slowestMs`: the longest this model has taken for an answer so far. */
  readonly contract: (slowestMs: number) => ContractOverrides;
  /** `holdsRequired`: the model's profile can be made to call a tool. */
  readonly expected: (profile: { readonly holdsRequired: boolean }) => Outcome;
  readonly loosen: ((request: ModelRequest) => ModelRequest) | null;
  /** What contradicts the expected outcome; null when nothing does. */
  readonly problemIn: (transcript: Transcript) => string | null;
}
