/** The receipt of an answer: who gave it, what it cost, under which contract, and where the proof ends. */
import { type Static, Type } from "typebox";
import { Count, closed } from "../../vocabulary/schema-primitives.ts";
import type { Entry } from "../entry.ts";
import { budgetAfter } from "./run-snapshot.ts";
import { acceptedOf } from "./run-timeline.ts";

export const ReceiptSchema = Type.Object(
  {
    /** As the contract names it, `provider:model`. */
    model: Type.String(),
    /** As the provider's last answer named it; empty when none did. */
    model_fingerprint: Type.String(),
    tokens: Count,
    cost_usd: Type.Number({ minimum: 0 }),
    contract_hash: Type.String(),
    outcome: Type.String(),
    head_hash: Type.String(),
  },
  closed,
);
export type Receipt = Static<typeof ReceiptSchema>;

/** Whether its tokens had a price. Records from before prices count as priced. */
export function isPriced(entries: readonly Entry[]): boolean {
  return acceptedOf(entries)?.price !== null;
}

export function receiptOf(entries: readonly Entry[], model: string): Receipt | null {
  const last = entries.at(-1);
  if (last?.kind !== "TERMINATE") return null;
  const { tokens, spendMicrousd } = budgetAfter(entries);
  return {
    model,
    model_fingerprint: last.modelFingerprint,
    tokens,
    cost_usd: spendMicrousd / 1_000_000,
    contract_hash: last.contractHash,
    outcome: last.decided.outcome,
    head_hash: last.hash,
  };
}
