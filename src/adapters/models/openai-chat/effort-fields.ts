/**
 * How a level of thinking is said in chat completions, where models differ in what they take
 * (https://platform.openai.com/docs/guides/reasoning, https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model,
 * https://openrouter.ai/docs/use-cases/reasoning-tokens).
 *
 * E1. `off` is the least that a model takes: some cannot be told not to think.
 * E2. A model is told by its name alone. One whose name says nothing is told in OpenAI's latest words, since its owner said
 *     that it takes some.
 * E3. OpenAI's models since gpt-5.2 do not think beside tools here, and refuse to be told how much: up to gpt-5.5 nothing may
 *     be said, since gpt-5.6 "none" must be, asked for or not. So say public threads; no page of OpenAI's does
 *     (https://github.com/openai/openai-openapi/issues/541, https://github.com/livekit/agents/issues/5084 and pull/5088,
 *     https://github.com/BerriAI/litellm/pull/34569).
 */
import type { ThinkingLevel } from "../../../kernel/vocabulary/thinking-level.ts";

type Spelling = (level: ThinkingLevel) => object;

const effortDownTo =
  (least: string): Spelling =>
  (level) => ({ reasoning_effort: level === "off" ? least : level });

const switched: Spelling = (level) => ({ thinking: { type: level === "off" ? "disabled" : "enabled" } });

const IN_ANY_CASE = effortDownTo("none");
const DATE = "(?:-\\d{4}-\\d{2}-\\d{2})?";
const SIZE = "(?:-mini|-nano|-luna|-sol|-terra)?";

const FAMILIES: readonly (readonly [RegExp, Spelling])[] = [
  [new RegExp(`^(?:o1|o3|o3-mini|o4-mini)${DATE}$`), effortDownTo("low")],
  [new RegExp(`^gpt-5(?:-mini|-nano)?${DATE}$`), effortDownTo("minimal")],
  [new RegExp(`^gpt-5\\.\\d+${SIZE}${DATE}$`), IN_ANY_CASE],
  [/^gpt-oss(?:[-:]|$)/, effortDownTo("low")],
  [/^kimi-k2\.[56]$/, switched],
];

/** Beside tools, in place of any other; the first that fits. */
const BESIDE_TOOLS: readonly (readonly [RegExp, object])[] = [
  [new RegExp(`^gpt-5\\.[2-5]${SIZE}${DATE}$`), {}],
  [new RegExp(`^gpt-5\\.(?:[6-9]|\\d{2,})${SIZE}${DATE}$`), { reasoning_effort: "none" }],
];

/** OpenRouter makes of an effort what its models take, and nothing of it where they take none. */
export function translatesEffort({ hostname }: URL): boolean {
  return hostname === "openrouter.ai";
}

/** Of models that are known by name; another one's owner has to say so. */
export function isThinker(model: string): boolean {
  return spellingOf(model) !== null;
}

/** `level` undefined: as the model sees fit. */
export function effortFields(
  model: string,
  level: ThinkingLevel | undefined,
  { isTranslated, hasTools }: { readonly isTranslated: boolean; readonly hasTools: boolean },
): object {
  const demanded = hasTools && !isTranslated ? findByName(BESIDE_TOOLS, model) : null;
  if (demanded !== null) return demanded;
  if (level === undefined) return {};
  return isTranslated ? IN_ANY_CASE(level) : (spellingOf(model) ?? IN_ANY_CASE)(level);
}

function spellingOf(model: string): Spelling | null {
  return findByName(FAMILIES, model);
}

function findByName<Found>(rows: readonly (readonly [RegExp, Found])[], model: string): Found | null {
  const name = model.slice(model.lastIndexOf("/") + 1);
  return rows.find(([names]) => names.test(name))?.[1] ?? null;
}
