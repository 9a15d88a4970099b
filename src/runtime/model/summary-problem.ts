/** Simple rules, without a model, for what cannot be a summary. */
import { deflateRawSync } from "node:zlib";

/** Fewer letters and digits say nothing about a conversation. */
const MIN_SIGNS = 10;
/** A summary may be longer than a very short original. */
const SHORT_TOKENS = 200;
/** Prose of this size deflates to half of it; a text that repeats itself to a small part. */
const MIN_REPETITION_BYTES = 120;
const REPETITION_RATIO = 0.22;

/** Why the text cannot be the summary of the original; null when it can. */
export function summaryProblem(
  text: string,
  original: string,
  countTokens: (text: string) => number,
  maxTokens: number,
): string | null {
  const signs = text.match(/[\p{L}\p{N}]/gu)?.length ?? 0;
  if (signs < MIN_SIGNS) return "it says nothing";
  const tokens = countTokens(text);
  if (tokens > maxTokens) return `it has ${tokens} tokens, and ${maxTokens} are allowed`;
  if (tokens > SHORT_TOKENS && tokens >= countTokens(original)) return "it is longer than what it condenses";
  const bytes = Buffer.byteLength(text);
  const isRepeating = bytes >= MIN_REPETITION_BYTES && deflateRawSync(text).length < bytes * REPETITION_RATIO;
  if (isRepeating) return "it repeats itself";
  return isCopy(text, original) ? "it is a copy of what it condenses" : null;
}

/** One part of it, word for word, whatever the line breaks; a short one may well be all that was said. */
function isCopy(text: string, original: string): boolean {
  const copied = unspaced(text);
  return copied.length >= MIN_REPETITION_BYTES && unspaced(original).includes(copied);
}

function unspaced(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
