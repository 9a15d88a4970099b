/**
 * One case of the conformance corpus (M-9): what a model is asked to do, under which contract, and the expected outcome.
 *
 * C1. `expected` is what the contract prescribes, not what the model wants: a case passes when the run has that outcome and
 *     nothing in its transcript contradicts it.
 * C2. A case about a model that breaks the rules tells it to (`isProvoked`). If the wire would prevent that, `loosen` changes
 *     the request on the wire alone; contract, adapter and machine are those of any other run.
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
  /** `slowestMs`: the model's slowest answer so far. */
  readonly contract: (slowestMs: number) => ContractOverrides;
  /** `holdsRequired`: the model can be forced to call a tool. */
  readonly expected: (profile: { readonly holdsRequired: boolean }) => Outcome;
  readonly loosen: ((request: ModelRequest) => ModelRequest) | null;
  /** What contradicts the expected outcome; null when nothing does. */
  readonly problemIn: (transcript: Transcript) => string | null;
}
