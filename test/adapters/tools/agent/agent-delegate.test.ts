import { expect, test } from "vitest";
import { agentTools, MAX_TASK_TOKENS } from "../../../../src/adapters/tools/agent/agent-delegate.ts";
import { createToolbox } from "../../../../src/adapters/tools/create-toolbox.ts";
import { systemClock } from "../../../../src/boot/system-clock.ts";
import { verifies } from "../../../requirements.ts";

const toolbox = createToolbox(
  agentTools([
    { name: "CriticAgent", purpose: "review" },
    { name: "own", purpose: "" },
  ]),
  { clock: systemClock, onDefect: (error) => expect(error).toBeUndefined() },
);
const plan = (args: Record<string, string>) => toolbox.plan("agent.delegate", args);

test("the tool takes an agent, a description and a context, and names the agents there are", () => {
  const [tool] = toolbox.tools;
  const { properties } = JSON.parse(JSON.stringify(tool?.parameters ?? {}));
  expect(Object.keys(properties)).toEqual(["agent", "description", "context"]);
  expect(properties.agent.description).toBe("CriticAgent (review), own");
});

test("a plan is the task with its context, and changes nothing by itself", async () => {
  const planned = await plan({ agent: "CriticAgent", description: "Look at it", context: "1 + 1 = 3" });
  const message = "Look at it\n\nContext:\n1 + 1 = 3";
  expect(planned).toMatchObject({
    ...{ ok: true, risk: "draft_only", idempotency: "own_store", egress: [], reversal: { kind: "reversible" } },
    ...{ delegation: { agent: "CriticAgent", message }, shown: `Delegate to CriticAgent\n\n${message}` },
  });
  expect(await plan({ agent: "own", description: "Look at it" })).toMatchObject({
    delegation: { agent: "own", message: "Look at it" },
  });
});

verifies("T-3b/context", "more than about 500 tokens of task and context are refused, and nothing is cut", async () => {
  const words = (count: number): string => Array(count).fill("word").join(" ");
  expect(await plan({ agent: "own", description: "Look", context: words(MAX_TASK_TOKENS / 2) })).toMatchObject({
    ok: true,
  });
  for (const args of [
    { agent: "own", description: "Look", context: words(MAX_TASK_TOKENS) },
    { agent: "own", description: words(MAX_TASK_TOKENS) },
  ]) {
    expect(await plan(args)).toMatchObject({
      ok: false,
      error: {
        code: "tool.input_invalid",
        message: expect.stringMatching(/tokens, and a sub-agent gets 500 at most: give it only/),
      },
    });
  }
});
