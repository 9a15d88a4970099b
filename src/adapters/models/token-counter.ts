/**
 * Tokens as the model's own tokenizer counts them (P-1.5), for the families whose tokenizer is published.
 *
 * K1. Nothing is loaded before `prepare`: an encoding takes a sixth of a second. Until then the estimate holds.
 * K2. The family is told by the model's name alone. A name that is not known for certain is estimated, never guessed at.
 * K3. The time to count grows with the length of a text and no faster. The tokenizer itself takes the square of a word's
 *     length, so long words are counted in slices, which is at most a token more a slice.
 * K4. Special tokens in a text are text: they are sent as such.
 */
import { ESTIMATED_TOKENS, estimateTokens, MESSAGE_TOKENS } from "../../runtime/model/estimate-tokens.ts";
import type { TokenCounter } from "../../runtime/ports/model-backend.ts";

type Count = (text: string) => number;
type Family = "o200k" | "cl100k";

/** OpenAI's models, by the names they have there and on OpenRouter; the later names first, as they begin alike. */
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
