/**
 * How many tokens a message is where no tokenizer is known: an upper bound for prose, code and dense scripts.
 */
import type { TokenCounter } from "./ports/model-backend.ts";

/** Even dense scripts and code stay below a token per three bytes of UTF-8. */
const BYTES_PER_TOKEN = 3;
/** Role, separators and call framing of one message. */
export const MESSAGE_TOKENS = 8;

export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN) + MESSAGE_TOKENS;
}

/** For models of a family whose tokenizer nobody published, and for those that have none. */
export const ESTIMATED_TOKENS: TokenCounter = { prepare: null, count: estimateTokens };
