/** Cuts a text to a number of tokens, with a marker where something is missing. */
import { truncateOutput } from "../../kernel/vocabulary/truncate-output.ts";

/** Whatever the tokenizer says of it, the result has at most `maxTokens`; it is empty where not even the marker fits. */
export function truncateToTokens(
  text: string,
  maxTokens: number,
  marker: string,
  countTokens: (text: string) => number,
): string {
  if (countTokens(text) <= maxTokens) return text;
  let fits = "";
  let low = Buffer.byteLength(marker);
  let high = Buffer.byteLength(text) - 1;
  while (low <= high) {
    const bytes = Math.floor((low + high) / 2);
    const cut = truncateOutput(text, bytes, marker).text;
    if (countTokens(cut) <= maxTokens) {
      fits = cut;
      low = bytes + 1;
    } else high = bytes - 1;
  }
  return fits;
}
