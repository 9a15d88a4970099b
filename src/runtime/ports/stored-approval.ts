/** Questions to a person about a call, as every store holds them. */
import type { ApprovalId, BodyRef, CallId, Hash, RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";

/** `forged`: decided in the table but not in the ledger; it allows nothing. */
export type ApprovalState =
  | "pending"
  | "allowed"
  | "denied"
  | "expired"
  | "consumed"
  | "done"
  | "retry"
  | "fail"
  | "forged";

export interface StoredApproval {
  readonly id: ApprovalId;
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly callId: CallId;
  readonly step: number;
  /** `approve`: may this call run? `resolve`: did it run before the interruption? */
  readonly kind: "approve" | "resolve";
  readonly tool: string;
  /** The body of the plan as shown. */
  readonly planRef: BodyRef;
  readonly planHash: Hash;
  /** The body of its `QuestionBackground`; null where there is none. */
  readonly backgroundRef: BodyRef | null;
  readonly why: string;
  readonly labels: Labels;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly state: ApprovalState;
  readonly decidedBy: string | null;
  readonly decidedAtMs: number | null;
}
