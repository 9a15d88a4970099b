/**
 * The output limit of one inference for an answer of a given length.
 *
 * Both wires have one limit for reasoning and answer together, and bill both as output; so the allowance of the thinking
 * level is added to the answer's. A model that thinks without being told a level is assumed to think at the middle one.
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
