/**
 * How a level of thinking is said to a model behind the Messages API
 * (https://platform.claude.com/docs/en/build-with-claude/extended-thinking).
 *
 * T1. Nothing is said where nothing was asked for.
 * T2. Claude models since 4.6 decide by themselves how much to think and are told an effort; some of them cannot be told
 *     not to think, so that `off` is the least effort. Others are given a budget out of the output they may write, which
 *     leaves the answer as much as an answer has without it, or half.
 * T3. Thinking and a tool that must be called exclude each other: the tool wins.
 * T4. A budget is given for whole turns: within one only if what the model thought at its beginning goes back as well, for
 *     the server refuses anything else. Where such a model is given none, what it thought stays here.
 */
import { THOUGHT_TOKENS } from "../../../runtime/model/output-token-limit.ts";
import type { ModelRequest } from "../../../runtime/ports/model-backend.ts";
import { readThoughts } from "./thought-blocks.ts";

const LEAST_BUDGET_TOKENS = 1_024;
/** What an answer keeps for itself. */
const ANSWER_TOKENS = 2_048;
const WITH_BUDGET = /^claude-(?:3-|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-\d{8}|-latest)?$)/;
const THOUGHTLESS = /^claude-(?:instant|[12]|3-(?!7))/;

interface ThinkingFields {
  readonly thinking?:
    | { readonly type: "adaptive" | "disabled" }
    | { readonly type: "enabled"; readonly budget_tokens: number };
  readonly output_config?: { readonly effort: string };
}

/** Of models that are known by name; another one's owner has to say so. */
export function isThinker(model: string): boolean {
  return model.startsWith("claude-") && !THOUGHTLESS.test(model);
}

/** Where nothing is said; those with a budget think only when they are given one. */
export function thinksByItself(model: string): boolean {
  return isThinker(model) && !WITH_BUDGET.test(model);
}

export function thinkingFields(request: ModelRequest): ThinkingFields {
  const { model, effort, toolChoice } = request;
  if (effort === undefined) return {};
  if (model.startsWith("claude-") && !WITH_BUDGET.test(model)) {
    const output_config = { effort: effort === "off" ? "low" : effort };
    return effort === "off" || toolChoice === "required"
      ? { output_config }
      : { thinking: { type: "adaptive" }, output_config };
  }
  if (effort === "off") return { thinking: { type: "disabled" } };
  const { maxOutputTokens } = request;
  const room = maxOutputTokens - Math.min(ANSWER_TOKENS, Math.ceil(maxOutputTokens / 2));
  const budget_tokens = Math.min(THOUGHT_TOKENS[effort], room);
  const isThinking = budget_tokens >= LEAST_BUDGET_TOKENS && toolChoice !== "required" && isFreeToThink(request);
  return isThinking ? { thinking: { type: "enabled", budget_tokens } } : {};
}

export function mayThink({ thinking }: ThinkingFields): boolean {
  return thinking !== undefined && thinking.type !== "disabled";
}

/** Whether what the model thought may be told to it again. */
export function mayRecall(model: string, { thinking }: ThinkingFields): boolean {
  return thinking === undefined ? !WITH_BUDGET.test(model) : thinking.type !== "disabled";
}

/** A turn goes from what a person said to the answer; it began without calls, or with a thought that is known. */
function isFreeToThink({ messages }: ModelRequest): boolean {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  const first = messages.slice(asked + 1).find(({ role }) => role === "assistant");
  if (first?.role !== "assistant" || first.toolCalls.length === 0) return true;
  return readThoughts(first.thoughts)[0]?.place === 0;
}
