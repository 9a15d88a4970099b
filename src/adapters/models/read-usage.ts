import type { ModelUsage } from "../../runtime/ports/model-backend.ts";

const MAX_TOKENS = 2 ** 31;

/**
 * Null where one of the counts cannot be true: half a bill is none, and the reservation stands instead. Some providers
 * count what came out of a cache apart from the rest of the input.
 */
export function readUsage(inputs: readonly unknown[], outputTokens: unknown): ModelUsage | null {
  if (!inputs.every(isTokenCount) || !isTokenCount(outputTokens)) return null;
  const inputTokens = inputs.reduce((sum, count) => sum + count, 0);
  return isTokenCount(inputTokens) ? { inputTokens, outputTokens } : null;
}

function isTokenCount(count: unknown): count is number {
  return typeof count === "number" && Number.isSafeInteger(count) && count >= 0 && count <= MAX_TOKENS;
}
