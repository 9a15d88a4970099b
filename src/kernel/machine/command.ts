/**
 * Commands: the work the machine asks for, as data. The driver performs them and answers with events.
 *
 * A command may be performed twice after a crash unless its event says otherwise; only `run-tool` and `spawn-child`
 * act on the world, and both follow an EXECUTE entry that must be durable first. Answers repeat the `step` (and
 * `attempt` or `round`) of their command.
 */
import type { InferMode } from "../journal/entry.ts";
import type { PlannedCall, ProposedCall } from "../journal/event.ts";
import type { FailureReason } from "../vocabulary/failures.ts";
import type { ApprovalId, BodyRef, CallId, Hash } from "../vocabulary/identifiers.ts";
import type { Labels } from "../vocabulary/labels.ts";
import type { Outcome } from "../vocabulary/outcome.ts";

export type Command =
  | { readonly type: "check-backend" }
  | {
      readonly type: "call-model";
      /** Tags stream deltas, so that a client drops those of an abandoned attempt. */
      readonly attempt: number;
      readonly mode: InferMode;
      readonly promptHead: Hash;
      readonly maxOutputTokens: number;
      /** Offered tools; none when the run must wrap up or may not act. */
      readonly tools: readonly string[];
      readonly constraintHash: Hash;
      readonly delayMs: number;
    }
  | { readonly type: "compact"; readonly step: number; readonly promptHead: Hash; readonly targetTokens: number }
  | {
      readonly type: "plan-calls";
      readonly step: number;
      readonly round: number;
      readonly calls: readonly ProposedCall[];
    }
  | {
      readonly type: "ask-approval";
      readonly step: number;
      /** `approve`: may this be done? `resolve`: was it done, before we were interrupted? */
      readonly kind: "approve" | "resolve";
      /** After a restore the question is about the run as a whole; no call has this id. */
      readonly aboutRun?: true;
      /** The call was cut off before: an answer to an earlier question about this plan does not count. */
      readonly isRetry?: true;
      readonly callId: CallId;
      readonly planHash: Hash;
      readonly why: string;
      readonly labels: Labels;
    }
  | {
      readonly type: "run-tool";
      readonly step: number;
      readonly callId: CallId;
      readonly tool: string;
      readonly argsRef: BodyRef;
      readonly planHash: Hash;
      readonly idempotencyKey: Hash | null;
      readonly approvalId: ApprovalId | null;
      readonly timeoutMs: number;
    }
  | {
      readonly type: "spawn-child";
      readonly step: number;
      readonly callId: CallId;
      readonly argsRef: BodyRef;
      readonly child: NonNullable<PlannedCall["child"]>;
    }
  /** Stop everything in flight: close the socket, end the process, withdraw the question, cancel the children. */
  | { readonly type: "stop-work" }
  | {
      readonly type: "finish";
      readonly outcome: Outcome;
      readonly reason: FailureReason | null;
      readonly answerRef: BodyRef | null;
    };
