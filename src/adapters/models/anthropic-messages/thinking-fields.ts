/**
 * How a level of thinking is said to a model behind the Messages API.
 *
 * T1. Nothing is said where nothing was asked for.
 * T2. Claude models since 4.6 decide by themselves how much to think and are told an effort; some of them cannot be told
 *     not to think, so that `off` is the least effort. Others are given a budget, which takes no more than half the output.
 * T3. Thinking and a tool that must be called exclude each other: the tool wins.
 * T4. A budget is given only when the model begins a turn. Within one, the server wants back what the model thought, and
 *     that is not kept.
 */
import type { ModelRequest } from "../../../runtime/ports/model-backend.ts";

const BUDGET_TOKENS = { low: 1_024, medium: 4_096, high: 16_384 } as const;
const LEAST_BUDGET_TOKENS = 1_024;
const WITH_BUDGET = /^claude-(?:3-|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-\d{8}|-latest)?$)/;

export function thinkingFields(request: ModelRequest): object {
  const { model, effort, toolChoice } = request;
  if (effort === undefined) return {};
  if (model.startsWith("claude-") && !WITH_BUDGET.test(model)) {
    const output_config = { effort: effort === "off" ? "low" : effort };
    return effort === "off" || toolChoice === "required"
      ? { output_config }
      : { thinking: { type: "adaptive" }, output_config };
  }
  if (effort === "off") return { thinking: { type: "disabled" } };
  const budget_tokens = Math.min(BUDGET_TOKENS[effort], Math.floor(request.maxOutputTokens / 2));
  const mayThink = budget_tokens >= LEAST_BUDGET_TOKENS && toolChoice !== "required" && beginsTurn(request);
  return mayThink ? { thinking: { type: "enabled", budget_tokens } } : {};
}

function beginsTurn({ messages }: ModelRequest): boolean {
  return messages.findLast(({ role }) => role !== "system")?.role === "user";
}
