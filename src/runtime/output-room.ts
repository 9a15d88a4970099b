/**
 * How many tokens one inference may put out where nobody says otherwise.
 *
 * On both wires the limit of the output is one for thoughts and answer together, and both are paid for as output. So what
 * a level of thinking may take comes on top of what an answer may take; a reservation of the whole then covers both.
 */
import type { ThinkingLevel } from "../kernel/vocabulary/thinking-level.ts";

export const THOUGHT_TOKENS: Readonly<Record<ThinkingLevel, number>> = {
  off: 0,
  low: 1_024,
  medium: 4_096,
  high: 16_384,
};

export function outputRoom(answerTokens: number, level: ThinkingLevel | null): number {
  return answerTokens + (level === null ? 0 : THOUGHT_TOKENS[level]);
}
