/** The approver of an embedding program: hands each question to `onQuestion`, and knows which ones it leaves open. */
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { ApprovalServices } from "../../runtime/approvals/operations.ts";
import type { ApprovalCard, Approver } from "../../runtime/ports/approver.ts";
import type { OpenOptions } from "./surety-api.ts";

type Decide = ApprovalServices["approvals"]["decide"];
type Verdict = Parameters<Decide>[0];

export class Questions implements Approver {
  readonly #onQuestion: OpenOptions["onQuestion"];
  readonly #onDefect: (errorId: string, error: unknown) => void;
  readonly #open = new Map<RunId, PromiseWithResolvers<ApprovalCard>>();
  /** Set once the assistant is open. */
  decide: Decide = () => Promise.reject(new Error("not open yet"));

  constructor(onQuestion: OpenOptions["onQuestion"], onDefect: (errorId: string, error: unknown) => void) {
    this.#onQuestion = onQuestion;
    this.#onDefect = onDefect;
  }

  isReachable(): boolean {
    return this.#onQuestion !== undefined;
  }

  ask(card: ApprovalCard): void {
    if (this.#onQuestion === undefined) this.#openFor(card.runId).resolve(card);
    else this.#answer(card, this.#onQuestion).catch((error: unknown) => this.#onDefect("question", error));
  }

  withdraw(): void {
    // `onQuestion` may still answer: a late answer is refused.
  }

  /** Resolves when the run asks a question that `onQuestion` does not answer. */
  unanswered(runId: RunId): Promise<ApprovalCard> {
    return this.#openFor(runId).promise;
  }

  forget(runId: RunId): void {
    this.#open.delete(runId);
  }

  #openFor(runId: RunId): PromiseWithResolvers<ApprovalCard> {
    const open = this.#open.get(runId) ?? Promise.withResolvers<ApprovalCard>();
    this.#open.set(runId, open);
    return open;
  }

  async #answer(card: ApprovalCard, onQuestion: NonNullable<OpenOptions["onQuestion"]>): Promise<void> {
    const { id, planHash, kind, runId, tool, shown, why } = card;
    const decide = (decision: Verdict["decision"]) => this.decide({ id, decision, planHash, principal: "operator" });
    try {
      await decide(await onQuestion({ kind, runId, tool, shown, why }));
    } catch (error) {
      await decide(kind === "approve" ? "deny" : "fail");
      throw error;
    }
  }
}
