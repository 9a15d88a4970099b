/** The receipt of an answer: who gave it, what it cost, under which contract, and where the proof ends. */
import { type Static, Type } from "typebox";
import { Count, closed, nullable } from "../../vocabulary/schema-primitives.ts";
import { type Entry, eventsOf } from "../entry.ts";
import { usagesOf } from "../event.ts";
import { budgetAfter } from "./run-snapshot.ts";
import { acceptedOf } from "./run-timeline.ts";

const Usd = Type.Number({ minimum: 0 });

export const ReceiptSchema = Type.Object(
  {
    /** As the contract names it, `provider:model`. */
    model: Type.String(),
    /** As the provider's last answer named it; empty when none did. */
    model_fingerprint: Type.String(),
    tokens: Count,
    /** Null if some of the tokens have no known price. */
    cost_usd: nullable(Usd),
    /** What is known of a cost that is null. */
    known_cost_usd: Type.Optional(Usd),
    /** Part of the usage was not reported, as of a cancelled inference: what may have been billed is charged in full. */
    is_estimate: Type.Optional(Type.Literal(true)),
    contract_hash: Type.String(),
    outcome: Type.String(),
    head_hash: Type.String(),
  },
  closed,
);
export type Receipt = Static<typeof ReceiptSchema>;
export type Cost = Pick<Receipt, "tokens" | "cost_usd" | "known_cost_usd" | "is_estimate">;

interface CostFacts {
  /** Delegated runs included. Records from before prices count as priced. */
  readonly isPriced: boolean;
  readonly isEstimate: boolean;
}

export function costFacts(entries: readonly Entry[]): CostFacts {
  const events = entries.flatMap(eventsOf);
  const children = events.filter((event) => event.type === "child.finished");
  const usages = events.flatMap(usagesOf);
  const asked = events.filter((event) => "usage" in event).map(({ usage }) => usage);
  const own = asked.reduce((sum, usage) => sum + usage.inputTokens + usage.outputTokens, 0);
  const isSummaryUnpriced = events.some((event) => event.type === "tool.finished" && event.summary?.isUnpriced);
  const hasCutOff = wasCutOff(entries);
  const hasOwnCost = own > 0 || hasCutOff;
  const hasLostChild = entries.some(
    (entry) =>
      entry.kind === "EXECUTE" &&
      entry.decided.child !== null &&
      children.every(({ childRunId }) => childRunId !== entry.decided.child?.runId),
  );
  return {
    isPriced:
      !(hasOwnCost && acceptedOf(entries)?.price === null) &&
      !isSummaryUnpriced &&
      children.every(({ isUnpriced }) => !isUnpriced),
    isEstimate:
      hasCutOff ||
      hasLostChild ||
      children.some(({ isEstimate }) => isEstimate === true) ||
      usages.some((usage) => usage.isEstimate === true),
  };
}

export function costOfTokens(tokens: number, microusd: number, { isPriced, isEstimate }: CostFacts): Cost {
  const usd = microusd / 1_000_000;
  return {
    tokens,
    cost_usd: isPriced ? usd : null,
    ...(!isPriced && usd > 0 ? { known_cost_usd: usd } : {}),
    ...(isEstimate ? { is_estimate: true as const } : {}),
  };
}

/** An inference ended without an answer or a failure, and COMMIT charged it all the same. */
function wasCutOff(entries: readonly Entry[]): boolean {
  let committed = 0;
  let isOpen = false;
  for (const entry of entries) {
    if (entry.kind === "INFER") isOpen = entry.result === null || !("usage" in entry.result);
    if (entry.kind !== "COMMIT") continue;
    if (isOpen && entry.decided.budget.tokens > committed) return true;
    committed = entry.decided.budget.tokens;
    isOpen = false;
  }
  return false;
}

export function receiptOf(entries: readonly Entry[], model: string): Receipt | null {
  const last = entries.at(-1);
  if (last?.kind !== "TERMINATE") return null;
  const { tokens, spendMicrousd } = budgetAfter(entries);
  return {
    model,
    model_fingerprint: last.modelFingerprint,
    ...costOfTokens(tokens, spendMicrousd, costFacts(entries)),
    contract_hash: last.contractHash,
    outcome: last.decided.outcome,
    head_hash: last.hash,
  };
}
