/**
 * Runs, as everything outside asks for them: the gateway and the commands through the table of operations.
 *
 * A1. `principal` comes from whatever authenticated the caller, never from the message.
 * A2. A refusal is a value with a code and a sentence that says what to do; it leaves nothing behind.
 * A3. An accepted submission is durable: it ends in an outcome, whatever happens to the process.
 */
import type { RunRecord } from "../../kernel/journal/views/run-record.ts";
import type { RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { Refusal } from "../../runtime/operations/operation.ts";
import type { Page, RunStatus } from "../../runtime/ports/store.ts";
import type { RunRequest } from "./run-request.ts";
import type { RunUpdate } from "./run-updates.ts";

export type Submission =
  | {
      readonly ok: true;
      readonly runId: RunId;
      readonly sessionId: SessionId;
      readonly status: RunStatus;
      /** The idempotency key was used before: this is that run. */
      readonly isRepeat: boolean;
    }
  | Refusal;

export interface Assistant {
  submit(request: RunRequest): Promise<Submission>;
  /** Null when there is no such run. */
  run(runId: RunId): Promise<RunRecord | null>;
  /** Newest first; records without their traces. */
  runs(
    filter: { readonly status?: RunStatus } & Page,
  ): Promise<{ readonly runs: readonly RunRecord[]; readonly total: number }>;
  /** From the event after `afterSeq` to the terminal one. Null when there is no such run. */
  watch(runId: RunId, afterSeq: number, signal: AbortSignal): Promise<AsyncIterable<RunUpdate> | null>;
  cancel(runId: RunId, principal: string): Promise<{ readonly ok: true; readonly status: RunStatus } | Refusal>;
  /** The signed bundle of an ended run, as text. */
  bundle(runId: RunId): Promise<{ readonly ok: true; readonly text: string } | Refusal>;
}
