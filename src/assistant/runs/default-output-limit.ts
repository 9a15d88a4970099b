/**
 * The default output limit of one inference, reasoning and answer together.
 *
 * R1. The model's configured maximum. The machine accounts for the room that the prompt leaves in the window.
 * R2. The whole limit is reserved before a request is sent. Under a spending or daily token limit one inference takes only a
 *     small share, so that parallel runs and the last runs of a day still get through.
 * R3. Never less than a page or two with its reasoning; a spending limit below that is reached instead.
 */
import { DEFAULT_TERMS } from "../../kernel/contract/default-terms.ts";
import type { ThinkingLevel } from "../../kernel/vocabulary/thinking-level.ts";
import { outputTokenLimit } from "../../runtime/model/output-token-limit.ts";
import type { ConfiguredModel } from "../../runtime/ports/model-backend.ts";
import type { Ceilings } from "./term-bounds.ts";

/** Null: not limited. */
export type OutputLimits = Pick<Ceilings, "maxOutputTokens" | "maxSpendMicrousd" | "daySpendMicrousd" | "dayTokens">;

/** Inferences that fit into a limit at the same time. */
const SHARES_OF_A_LIMIT = 16;

type LimitedModel = Pick<ConfiguredModel, "maxOutputTokens" | "thinking" | "price">;

export function defaultOutputTokens(model: LimitedModel, level: ThinkingLevel | null, limits: OutputLimits): number {
  const tokensIn = (microusd: number | null): number =>
    microusd === null || model.price === null ? Number.POSITIVE_INFINITY : (microusd * 1000) / model.price.outputPer1k;
  const limit = Math.min(
    limits.dayTokens ?? Number.POSITIVE_INFINITY,
    tokensIn(limits.maxSpendMicrousd),
    tokensIn(limits.daySpendMicrousd),
  );
  const least = outputTokenLimit(DEFAULT_TERMS.maxOutputTokens, model, level);
  const share = Math.max(least, Math.floor(limit / SHARES_OF_A_LIMIT));
  return Math.min(share, limits.maxOutputTokens, model.maxOutputTokens);
}
