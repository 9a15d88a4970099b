/** An upper bound where no tokenizer is known: even dense scripts and code stay below a token per three bytes of UTF-8. */
const BYTES_PER_TOKEN = 3;
/** Role, separators and call framing of one message. */
const MESSAGE_TOKENS = 8;

export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN) + MESSAGE_TOKENS;
}
