/**
 * How a level of thinking is said in chat completions, where models differ in what they take
 * (https://platform.openai.com/docs/guides/reasoning, https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model,
 * https://openrouter.ai/docs/use-cases/reasoning-tokens).
 *
 * E1. `off` is the least that a model takes: some cannot be told not to think.
 * E2. A model is told by its name alone. One whose name says nothing is told in OpenAI's latest words, since its owner said
 *     that it takes some.
 */
import type { ThinkingLevel } from "../../../kernel/vocabulary/thinking-level.ts";

type Spelling = (level: ThinkingLevel) => object;

const effortDownTo =
  (least: string): Spelling =>
  (level) => ({ reasoning_effort: level === "off" ? least : level });

const switched: Spelling = (level) => ({ thinking: { type: level === "off" ? "disabled" : "enabled" } });

const IN_ANY_CASE = effortDownTo("none");
const DATE = "(?:-\\d{4}-\\d{2}-\\d{2})?";

const FAMILIES: readonly (readonly [RegExp, Spelling])[] = [
  [new RegExp(`^(?:o1|o3|o3-mini|o4-mini)${DATE}$`), effortDownTo("low")],
  [new RegExp(`^gpt-5(?:-mini|-nano)?${DATE}$`), effortDownTo("minimal")],
  [new RegExp(`^gpt-5\\.\\d+(?:-mini|-nano)?${DATE}$`), IN_ANY_CASE],
  [/^gpt-oss(?:[-:]|$)/, effortDownTo("low")],
  [/^kimi-k2\.[56]$/, switched],
];

/** OpenRouter makes of an effort what its models take, and nothing of it where they take none. */
export function translatesEffort({ hostname }: URL): boolean {
  return hostname === "openrouter.ai";
}

/** Of models that are known by name; another one's owner has to say so. */
export function isThinker(model: string): boolean {
  return spellingOf(model) !== null;
}

export function effortFields(model: string, level: ThinkingLevel, isTranslated: boolean): object {
  return isTranslated ? IN_ANY_CASE(level) : (spellingOf(model) ?? IN_ANY_CASE)(level);
}

function spellingOf(model: string): Spelling | null {
  const name = model.slice(model.lastIndexOf("/") + 1);
  return FAMILIES.find(([names]) => names.test(name))?.[1] ?? null;
}
