import type { ModelUsage } from "../../runtime/ports/model-backend.ts";

const MAX_TOKENS = 2 ** 31;

/** Null where one of the counts cannot be true: half a bill is none, and the reservation stands instead. */
export function readUsage(inputTokens: unknown, outputTokens: unknown): ModelUsage | null {
  return isTokenCount(inputTokens) && isTokenCount(outputTokens) ? { inputTokens, outputTokens } : null;
}

function isTokenCount(count: unknown): count is number {
  return typeof count === "number" && Number.isSafeInteger(count) && count >= 0 && count <= MAX_TOKENS;
}
