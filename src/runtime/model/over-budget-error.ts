/** The prompt and the room reserved for an answer do not fit the model's window (P-1.5). Raised before the network. */
export class OverBudgetError extends Error {
  override readonly name = "OverBudgetError";
  readonly code = "context.over-budget";

  constructor(neededTokens: number, contextWindow: number) {
    super(`Prompt and answer need ${neededTokens} tokens, and the model's window holds ${contextWindow}.`);
  }
}
