/** Approvals of all runs: questions, decisions and expiry as the rest of the runtime sees them. */
import type { Answer } from "../../kernel/journal/entry.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { ApprovalCard } from "../ports/approver.ts";
import type { Page, StoredRun } from "../ports/store.ts";
import type { BodyCache } from "../run/body-cache.ts";
import type { RunPorts } from "../run-ports.ts";
import { ApprovalDecisions, type ApprovalVerdict, type Decided } from "./approval-decisions.ts";
import { ApprovalExpiry } from "./approval-expiry.ts";
import { ApprovalQuestions, decidedCards, pendingCards, type Question } from "./approval-questions.ts";

type ApprovalPorts = Pick<RunPorts, "store" | "clock" | "approver" | "approvalTimeoutMs" | "redactor">;

export class Approvals {
  readonly #store: ApprovalPorts["store"];
  readonly #questions: ApprovalQuestions;
  readonly #decisions: ApprovalDecisions;
  readonly #expiry: ApprovalExpiry;

  /** `wakeRun`: a question of the run was decided. */
  constructor(ports: ApprovalPorts, wakeRun: (runId: RunId) => void) {
    this.#store = ports.store;
    this.#questions = new ApprovalQuestions(ports, (expiresAtMs) => this.#expiry.watch(expiresAtMs));
    this.#decisions = new ApprovalDecisions(ports, (approval) => {
      this.#questions.hide(approval);
      wakeRun(approval.runId);
    });
    this.#expiry = new ApprovalExpiry(ports, (approval, nowMs) => this.#decisions.expire(approval, nowMs));
  }

  ask(run: StoredRun, questions: readonly Question[], bodyCache: BodyCache): Promise<readonly Answer[]> {
    return this.#questions.ask(run, questions, bodyCache);
  }

  decide(verdict: ApprovalVerdict): Promise<Decided> {
    return this.#decisions.decide(verdict);
  }

  /** Clients poll this list, usually empty: then the store is not read. */
  async pending(page: Page): Promise<readonly ApprovalCard[]> {
    return this.#expiry.isNonePending ? [] : await pendingCards(this.#store, page);
  }

  decided(page: Page): Promise<readonly ApprovalCard[]> {
    return decidedCards(this.#store, page);
  }

  /** A question was stored that no run asked. */
  watch(expiresAtMs: number): void {
    this.#expiry.watch(expiresAtMs);
  }

  sweep(): Promise<void> {
    return this.#expiry.sweep();
  }

  withdraw(runId: RunId): void {
    this.#questions.withdraw(runId);
  }

  stop(): void {
    this.#expiry.stop();
  }
}
