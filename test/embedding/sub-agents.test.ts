/** SubAgentManager on a real home, with the demo model: the seed's interface, literally. */
import { join } from "node:path";
import { describe, expect, onTestFinished } from "vitest";
import { openSurety, SubAgentManager } from "../../src/boot/embedding/library.ts";
import { temporaryDirectory } from "../boot/temporary-home.ts";
import { verifies } from "../requirements.ts";

// Talon §3b.
interface SeedSubAgentManager {
  spawn(task: SubAgentTask): Promise<SubAgentResult>;
  spawnParallel(tasks: SubAgentTask[]): Promise<SubAgentResult[]>;
  getAgents(): SubAgentDef[];
}
interface SubAgentDef {
  name: string;
  systemPrompt: string;
  defaultModel: string;
  outputSchema?: object;
}
interface SubAgentTask {
  agent: string;
  description: string;
  context: string;
  outputSchema?: object;
}
interface SubAgentResult {
  agent: string;
  result: Record<string, unknown>;
  tokensUsed: number;
  cost: number;
  duration: number;
}

const SCHEMA = {
  type: "object",
  properties: { verdict: { type: "string" }, points: { type: "array", items: { type: "integer" }, minItems: 2 } },
  required: ["verdict", "points"],
};

async function open(config: Readonly<Record<string, unknown>> = {}) {
  const surety = await openSurety({ home: join(await temporaryDirectory(), "home"), config });
  onTestFinished(() => surety.close());
  const agents: SeedSubAgentManager = new SubAgentManager(surety);
  return { surety, agents };
}

describe("SubAgentManager", () => {
  verifies(
    "T-3b/spawn",
    "spawn is a run of its own that verifies, with a typed result, tokens, cost and duration",
    async () => {
      const { surety, agents } = await open();
      const result = await agents.spawn({ agent: "ResearchAgent", description: "sea otters", context: "" });
      expect(result).toEqual({
        agent: "ResearchAgent",
        result: { summary: expect.stringContaining("sea otters"), sources: [], key_facts: [] },
        ...{ tokensUsed: expect.any(Number), cost: 0, duration: expect.any(Number) },
        runId: expect.stringMatching(/^run_/),
      });
      expect(result.tokensUsed).toBeGreaterThan(100);
      expect(await surety.verify((result as { runId?: string }).runId ?? "")).toMatchObject({ ok: true });
    },
  );

  verifies(
    ["T-3b/parallel", "T-3b/failures"],
    "spawnParallel keeps the order of its tasks; one that cannot start is an error of its own",
    async () => {
      const { agents } = await open();
      const task = { description: "the plan", context: "one weekend" };
      const results = await agents.spawnParallel([
        { ...task, agent: "PlannerAgent" },
        { ...task, agent: "CriticAgent", outputSchema: SCHEMA },
        { ...task, agent: "NoAgent" },
        { ...task, agent: "SummarizerAgent", context: "word ".repeat(600) },
        { ...task, agent: "SummarizerAgent" },
      ]);
      expect(results).toMatchObject([
        { agent: "PlannerAgent", result: { steps: [], risks: [], timeline: expect.any(String) } },
        { agent: "CriticAgent", result: { verdict: expect.any(String), points: [0, 0] } },
        {
          agent: "NoAgent",
          result: {},
          tokensUsed: 0,
          error: { code: "invalid.request", message: expect.stringContaining("There is no sub-agent NoAgent.") },
        },
        { agent: "SummarizerAgent", result: {}, error: { code: "tool.input_invalid" } },
        { agent: "SummarizerAgent", result: { summary: expect.any(String), action_items: [] } },
      ]);
      expect(await agents.spawnParallel([])).toEqual([]);
    },
  );

  verifies(
    ["T-3b/agents", "T-3a"],
    "getAgents lists the five and the operator's own, with the model that each works with",
    async () => {
      const agents = { translator: { prompt: "Translate.", model: "builtin:demo", outputSchema: SCHEMA } };
      const listed = (await open({ agents })).agents.getAgents();
      expect(listed.map(({ name }) => name)).toEqual([
        ...["ResearchAgent", "PlannerAgent", "WriterAgent", "CriticAgent", "SummarizerAgent", "translator"],
      ]);
      expect(listed.at(-1)).toEqual({
        name: "translator",
        systemPrompt: "Translate.",
        defaultModel: "builtin:demo",
        outputSchema: SCHEMA,
      });
      for (const { systemPrompt, defaultModel, outputSchema } of listed.slice(0, 5)) {
        expect([defaultModel, outputSchema]).toEqual(["builtin:demo", expect.objectContaining({ type: "object" })]);
        expect(systemPrompt).not.toBe("");
      }
    },
  );
});
