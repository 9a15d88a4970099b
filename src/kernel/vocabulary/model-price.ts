/** The price of a model and of a number of tokens, in millionths of a dollar, rounded up. */
import { type Static, Type } from "typebox";
import { closed } from "./schema-primitives.ts";

/** Millionths of a dollar per thousand tokens; all zero for a model that is free. */
export const ModelPriceSchema = Type.Object(
  { inputPer1k: Type.Number({ minimum: 0 }), outputPer1k: Type.Number({ minimum: 0 }) },
  closed,
);
export type ModelPrice = Static<typeof ModelPriceSchema>;

export function costOf(
  price: ModelPrice | null,
  { inputTokens, outputTokens }: { readonly inputTokens: number; readonly outputTokens: number },
): number {
  if (price === null) return 0;
  return Math.ceil((inputTokens * price.inputPer1k + outputTokens * price.outputPer1k) / 1000);
}
