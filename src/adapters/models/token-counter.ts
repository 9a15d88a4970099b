/**
 * Counts tokens with the model's own tokenizer (P-1.5), for families whose tokenizer is published.
 *
 * K1. Nothing is loaded before `prepare`: an encoding takes a sixth of a second. Until then counts are estimates.
 * K2. The family follows from the model's name alone; an unknown name is estimated.
 * K3. The time to count is linear in the text's length. The tokenizer is quadratic in a word's length, so long words are
 *     counted in slices, at most one token more per slice.
 * K4. Special tokens in a text count as text, because they are sent as text.
 */
import { ESTIMATED_TOKENS, estimateTokens, MESSAGE_TOKENS } from "../../runtime/model/estimate-tokens.ts";
import type { TokenCounter } from "../../runtime/ports/model-backend.ts";

type Count = (text: string) => number;
type Family = "o200k" | "cl100k";

/** OpenAI's models, by their names there and on OpenRouter; the first match counts. */
const FAMILIES: readonly (readonly [RegExp, Family])[] = [
  [/^(?:chatgpt-4o|gpt-4o|gpt-4\.\d|gpt-5|gpt-oss|o[134])(?:[-.:]|$)/, "o200k"],
  [/^(?:gpt-4|gpt-3\.5-turbo)(?:[-:]|$)/, "cl100k"],
];

const SLICE = /.{1,128}/gsu;
const LONG_WORD = /\S{129}|\s{129}/;

export function tokenCounterFor(model: string): TokenCounter {
  const family = familyOf(model);
  return family === null ? ESTIMATED_TOKENS : lazyCounter(family);
}

function familyOf(model: string): Family | null {
  const name = model.slice(model.lastIndexOf("/") + 1);
  return FAMILIES.find(([names]) => names.test(name))?.[1] ?? null;
}

function lazyCounter(family: Family): TokenCounter {
  let count: Count | null = null;
  let loading: Promise<void> | null = null;
  const load = async (): Promise<void> => {
    count = await LOAD[family]();
  };
  return {
    prepare: () => {
      loading ??= load();
      return loading;
    },
    count: (text) => (count === null ? estimateTokens(text) : countSliced(count, text) + MESSAGE_TOKENS),
  };
}

function countSliced(count: Count, text: string): number {
  if (!LONG_WORD.test(text)) return count(text);
  return (text.match(SLICE) ?? []).reduce((sum, slice) => sum + count(slice), 0);
}

const PLAIN = { disallowedSpecial: new Set<string>() };

const LOAD: Readonly<Record<Family, () => Promise<Count>>> = {
  o200k: async () => {
    const { countTokens } = await import("gpt-tokenizer/encoding/o200k_base");
    return (text) => countTokens(text, PLAIN);
  },
  cl100k: async () => {
    const { countTokens } = await import("gpt-tokenizer/encoding/cl100k_base");
    return (text) => countTokens(text, PLAIN);
  },
};
