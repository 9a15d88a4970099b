/**
 * How a thinking level is expressed in chat completions; models differ in what they accept
 * (https://platform.openai.com/docs/guides/reasoning, https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model,
 * https://openrouter.ai/docs/use-cases/reasoning-tokens).
 *
 * E1. `off` is the lowest level that a model accepts: some cannot be switched off.
 * E2. The family follows from the model's name alone. For an unknown name OpenAI's current fields are used, because its
 *     operator configured that it accepts some.
 * E3. OpenAI's models since gpt-5.2 do not reason beside tools here and refuse an effort: up to gpt-5.5 none may be sent,
 *     since gpt-5.6 "none" must be, always. This is from public threads; OpenAI's pages do not say it
 *     (https://github.com/openai/openai-openapi/issues/541, https://github.com/livekit/agents/issues/5084 and pull/5088,
 *     https://github.com/BerriAI/litellm/pull/34569).
 */
import type { ThinkingLevel } from "../../../kernel/vocabulary/thinking-level.ts";

type EffortEncoder = (level: ThinkingLevel) => object;

const effortFrom =
  (least: string): EffortEncoder =>
  (level) => ({ reasoning_effort: level === "off" ? least : level });

const switched: EffortEncoder = (level) => ({ thinking: { type: level === "off" ? "disabled" : "enabled" } });

const OPENAI_EFFORT = effortFrom("none");
const DATE = "(?:-\\d{4}-\\d{2}-\\d{2})?";
const SIZE = "(?:-mini|-nano|-luna|-sol|-terra)?";

const FAMILIES: readonly (readonly [RegExp, EffortEncoder])[] = [
  [new RegExp(`^(?:o1|o3|o3-mini|o4-mini)${DATE}$`), effortFrom("low")],
  [new RegExp(`^gpt-5(?:-mini|-nano)?${DATE}$`), effortFrom("minimal")],
  [new RegExp(`^gpt-5\\.\\d+${SIZE}${DATE}$`), OPENAI_EFFORT],
  [/^gpt-oss(?:[-:]|$)/, effortFrom("low")],
  [/^kimi-k2\.[56]$/, switched],
];

/** Beside tools these fields replace all others; the first match counts. */
const BESIDE_TOOLS: readonly (readonly [RegExp, object])[] = [
  [new RegExp(`^gpt-5\\.[2-5]${SIZE}${DATE}$`), {}],
  [new RegExp(`^gpt-5\\.(?:[6-9]|\\d{2,})${SIZE}${DATE}$`), { reasoning_effort: "none" }],
];

/** OpenRouter translates an effort for each model, and ignores it for models without. */
export function translatesEffort({ hostname }: URL): boolean {
  return hostname === "openrouter.ai";
}

/** By the model's name; for other names the operator must configure it. */
export function isThinker(model: string): boolean {
  return encoderFor(model) !== null;
}

/** `level` undefined: the model's default. */
export function effortFields(
  model: string,
  level: ThinkingLevel | undefined,
  { isTranslated, hasTools }: { readonly isTranslated: boolean; readonly hasTools: boolean },
): object {
  const demanded = hasTools && !isTranslated ? findByName(BESIDE_TOOLS, model) : null;
  if (demanded !== null) return demanded;
  if (level === undefined) return {};
  return isTranslated ? OPENAI_EFFORT(level) : (encoderFor(model) ?? OPENAI_EFFORT)(level);
}

function encoderFor(model: string): EffortEncoder | null {
  return findByName(FAMILIES, model);
}

function findByName<Found>(rows: readonly (readonly [RegExp, Found])[], model: string): Found | null {
  const name = model.slice(model.lastIndexOf("/") + 1);
  return rows.find(([names]) => names.test(name))?.[1] ?? null;
}
