/** Whoever can put a question before a person. Deciding goes through `Approvals`, with a principal; never through text. */
import type { StoredApproval } from "./store.ts";

export interface ApprovalCard extends StoredApproval {
  /** What would be done, whole. */
  readonly shown: string;
}

export interface Approver {
  /** Could anybody answer now? Where nobody can, a question is denied at once. */
  isReachable(): boolean;
  /** A question was asked, or asked again after a restart. */
  ask(card: ApprovalCard): void;
  /** It no longer needs an answer. */
  withdraw(id: StoredApproval["id"]): void;
}

/** No person can be asked. */
export const noApprover: Approver = { isReachable: () => false, ask: () => {}, withdraw: () => {} };

/** The operator reads the questions through the API and answers there. */
export const apiApprover: Approver = { isReachable: () => true, ask: () => {}, withdraw: () => {} };
