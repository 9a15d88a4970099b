/**
 * How a thinking level is expressed in the Messages API
 * (https://platform.claude.com/docs/en/build-with-claude/extended-thinking).
 *
 * T1. Without a level, nothing is sent.
 * T2. Claude models since 4.6 decide how much to think and accept an effort; some cannot be switched off, so `off` is the
 *     lowest effort. Older ones get a token budget out of the output limit, which leaves the answer its usual share, or
 *     half.
 * T3. Thinking and a forced tool exclude each other; the tool wins.
 * T4. A budget applies to whole turns: within one it needs the thinking of the turn's beginning, or the server refuses. A
 *     model that gets no budget is not sent its earlier thinking.
 */
import { THOUGHT_TOKENS } from "../../../runtime/model/output-token-limit.ts";
import type { ModelRequest } from "../../../runtime/ports/model-backend.ts";
import { readBlocks } from "./thinking-blocks.ts";

const LEAST_BUDGET_TOKENS = 1_024;
/** The answer's share of the output limit. */
const ANSWER_TOKENS = 2_048;
const WITH_BUDGET = /^claude-(?:3-|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-\d{8}|-latest)?$)/;
const WITHOUT_THINKING = /^claude-(?:instant|[12]|3-(?!7))/;

interface ThinkingFields {
  readonly thinking?:
    | { readonly type: "adaptive" | "disabled" }
    | { readonly type: "enabled"; readonly budget_tokens: number };
  readonly output_config?: { readonly effort: string };
}

/** By the model's name; for other names the operator must configure it. */
export function isThinker(model: string): boolean {
  return model.startsWith("claude-") && !WITHOUT_THINKING.test(model);
}

/** Models with a budget think only when they get one. */
export function thinksByDefault(model: string): boolean {
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
  const available = maxOutputTokens - Math.min(ANSWER_TOKENS, Math.ceil(maxOutputTokens / 2));
  const budget_tokens = Math.min(THOUGHT_TOKENS[effort], available);
  const isThinking = budget_tokens >= LEAST_BUDGET_TOKENS && toolChoice !== "required" && mayBeginThinking(request);
  return isThinking ? { thinking: { type: "enabled", budget_tokens } } : {};
}

export function mayThink({ thinking }: ThinkingFields): boolean {
  return thinking !== undefined && thinking.type !== "disabled";
}

/** Whether earlier thinking may be sent back. */
export function mayReplayThinking(model: string, { thinking }: ThinkingFields): boolean {
  return thinking === undefined ? !WITH_BUDGET.test(model) : thinking.type !== "disabled";
}

/** Whether the current turn, since the last user message, began without calls or with thinking that can be sent back. */
function mayBeginThinking({ messages }: ModelRequest): boolean {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  const first = messages.slice(asked + 1).find(({ role }) => role === "assistant");
  if (first?.role !== "assistant" || first.toolCalls.length === 0) return true;
  return readBlocks(first.thoughts)[0]?.place === 0;
}

/**
 * These models think before every answer, and the server refuses a forced tool beside thinking
 * (https://platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5).
 */
const NEVER_FORCED = /^claude-(?:opus-5-5|fable-5-1)(?:-|$)/;

export function mayForceTools(model: string): boolean {
  return !NEVER_FORCED.test(model);
}
