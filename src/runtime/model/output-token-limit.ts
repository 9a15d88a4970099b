/**
 * How many tokens one inference puts out for an answer of so many.
 *
 * On both wires the limit of the output is one for thoughts and answer together, and both are paid for as output. So what
 * a level of thinking may take comes on top of what an answer may take; a reservation of the whole then covers both. A
 * model that thinks and is told no level takes as much as it likes, which is assumed to be the middle one.
 */
import type { ThinkingLevel } from "../../kernel/vocabulary/thinking-level.ts";
import type { ConfiguredModel } from "../ports/model-backend.ts";

export const THOUGHT_TOKENS: Readonly<Record<ThinkingLevel, number>> = {
  off: 0,
  low: 1_024,
  medium: 4_096,
  high: 16_384,
};

export function outputTokenLimit(
  answerTokens: number,
  { thinking }: Pick<ConfiguredModel, "thinking">,
  level: ThinkingLevel | null,
): number {
  const assumed = level ?? (thinking?.isByItself === true ? "medium" : "off");
  return answerTokens + THOUGHT_TOKENS[assumed];
}
