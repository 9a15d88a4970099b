/**
 * How many tokens one inference may put out, thoughts and answer together, where nobody says otherwise.
 *
 * R1. As many as its model is configured to give. What the prompt leaves of the window is the machine's to see to.
 * R2. All of it is reserved against every limit before anything is sent. So where dollars or a day's tokens are limited, one
 *     inference takes a small share of each limit: runs side by side, and the last ones of a day, find something left.
 * R3. It is never less than an answer of a page or two needs with its thoughts: a limit that does not cover that is met.
 */
import { DEFAULT_TERMS } from "../kernel/contract/default-terms.ts";
import type { ThinkingLevel } from "../kernel/vocabulary/thinking-level.ts";
import { outputTokenLimit } from "../runtime/model/output-token-limit.ts";
import type { ConfiguredModel } from "../runtime/ports/model-backend.ts";
import type { Ceilings } from "./term-bounds.ts";

/** What is reserved at once; null where nothing limits it. */
export type OutputLimits = Pick<Ceilings, "maxOutputTokens" | "maxSpendMicrousd" | "daySpendMicrousd" | "dayTokens">;

/** As many inferences can be under way at once before a limit refuses one. */
const ROOMS_IN_A_LIMIT = 16;

type RoomyModel = Pick<ConfiguredModel, "maxOutputTokens" | "thinking" | "price">;

export function defaultOutputTokens(model: RoomyModel, level: ThinkingLevel | null, limits: OutputLimits): number {
  const tokensIn = (microusd: number | null): number =>
    microusd === null || model.price === null ? Number.POSITIVE_INFINITY : (microusd * 1000) / model.price.outputPer1k;
  const limit = Math.min(
    limits.dayTokens ?? Number.POSITIVE_INFINITY,
    tokensIn(limits.maxSpendMicrousd),
    tokensIn(limits.daySpendMicrousd),
  );
  const least = outputTokenLimit(DEFAULT_TERMS.maxOutputTokens, model, level);
  const share = Math.max(least, Math.floor(limit / ROOMS_IN_A_LIMIT));
  return Math.min(share, limits.maxOutputTokens, model.maxOutputTokens);
}
