/** Shows questions to the operator. Verdicts come through `Approvals` with an authenticated principal, never as text. */
import type { QuestionBackground } from "../approvals/question-background.ts";
import type { StoredApproval } from "./store.ts";
import type { Reversal } from "./toolbox.ts";

export interface ApprovalCard extends StoredApproval {
  /** The whole plan. */
  readonly shown: string;
  readonly background: QuestionBackground;
  /** The same in parts, while the run that asks is open here. */
  readonly call?: AskedCall;
}

/** A planned call, redacted as its text is. */
export interface AskedCall {
  /** JSON. */
  readonly args: string;
  /** The words of the command; empty where no process is started. */
  readonly argv: readonly string[];
  readonly cwd: string | null;
  readonly targets: readonly string[];
  readonly reversal: Reversal;
  /** What the tool itself says about its plan. */
  readonly text: string;
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
