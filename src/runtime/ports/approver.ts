/** Shows questions to the operator. Verdicts come through `Approvals` with an authenticated principal, never as text. */
import type { QuestionBackground } from "../approvals/question-background.ts";
import type { StoredApproval } from "./store.ts";

export interface ApprovalCard extends StoredApproval {
  /** The whole plan. */
  readonly shown: string;
  readonly background: QuestionBackground;
}

export interface Approver {
  /** Where no operator can answer, a question for permission is denied immediately. */
  isReachable(): boolean;
  /** A question is open; called again after a restart. */
  ask(card: ApprovalCard): void;
  /** The question no longer needs an answer. */
  withdraw(id: StoredApproval["id"]): void;
}

/** No operator can be asked. */
export const noApprover: Approver = { isReachable: () => false, ask: () => {}, withdraw: () => {} };

/** The operator reads the questions through the API and answers there. */
export const apiApprover: Approver = { isReachable: () => true, ask: () => {}, withdraw: () => {} };
