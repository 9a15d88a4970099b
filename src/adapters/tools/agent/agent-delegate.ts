/**
 * `agent.delegate` (T-3b): gives a focused task to a sub-agent, which answers in a run of its own. The runtime starts that
 * run; here the task is only put into words.
 *
 * A task with too much context is refused, not cut: what would be missing might be what matters.
 */
import { Type } from "typebox";
import type { SubAgent } from "../../../assistant/subagents/sub-agents.ts";
import { Defect } from "../../../kernel/vocabulary/defect.ts";
import { hashBytes } from "../../../kernel/vocabulary/hash.ts";
import { USER_LABELS } from "../../../kernel/vocabulary/labels.ts";
import { estimateTokens } from "../../../runtime/model/estimate-tokens.ts";
import { defineTool, fieldOf, type Tool } from "../define-tool.ts";
import { ToolFailure } from "../tool-failure.ts";

/** Of description and context together (seed: about 500). */
export const MAX_TASK_TOKENS = 500;

export function agentTools(agents: readonly Pick<SubAgent, "name" | "purpose">[]): readonly Tool[] {
  return [delegateTool(agents)];
}

function delegateTool(agents: readonly Pick<SubAgent, "name" | "purpose">[]) {
  const names = agents.map(({ name, purpose }) => (purpose === "" ? name : `${name} (${purpose})`));
  return defineTool({
    name: "agent.delegate",
    description: "Give a task to a sub-agent, which sees nothing else; several calls work in parallel.",
    parameters: Type.Object(
      {
        agent: Type.String({ minLength: 1, description: names.join(", ") }),
        description: Type.String({ minLength: 1, description: "The task" }),
        context: Type.Optional(
          Type.String({
            default: "",
            description: `What it needs to know; with the task, ${MAX_TASK_TOKENS} tokens at most`,
          }),
        ),
      },
      { additionalProperties: false },
    ),
    risk: "draft_only",
    idempotency: "own_store",
    plan({ agent, description, context }) {
      const message = context === "" ? description : `${description}\n\nContext:\n${context}`;
      const tokens = estimateTokens(message);
      if (tokens > MAX_TASK_TOKENS) throw tooLong(tokens);
      return {
        labels: USER_LABELS,
        reversal: {
          kind: "reversible",
          how: "it changes nothing by itself, and what the sub-agent does is decided by itself",
        },
        shown: `Delegate to ${agent}\n\n${message}`,
        delegation: { agent, message },
        plan: { argv: [agent], scriptHashes: [hashBytes(message)] },
      };
    },
    run() {
      throw new Defect("agent.delegate is a run, and no call of a tool");
    },
    summarize({ args }) {
      return `${fieldOf(args, "agent") ?? "a sub-agent"} has answered`;
    },
  });
}

function tooLong(tokens: number): ToolFailure {
  return new ToolFailure(
    "tool.input_invalid",
    `The task and its context have about ${tokens} tokens, and a sub-agent gets ${MAX_TASK_TOKENS} at most: give it only what it needs.`,
  );
}
