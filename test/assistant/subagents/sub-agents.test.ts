import { describe, expect, test } from "vitest";
import { BUILT_IN_AGENTS, isOutputSchema, SubAgents } from "../../../src/assistant/subagents/sub-agents.ts";
import { isAgentId } from "../../../src/kernel/vocabulary/agent-id.ts";
import { verifies } from "../../requirements.ts";

const NONE = new SubAgents(() => ({}));
const SCHEMA = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };

describe("the built-in sub-agents", () => {
  verifies("T-3b/agents", "are the seed's five, each with its prompt, its tools and the fields of its answer", () => {
    const fields = NONE.list().map(({ name, outputSchema }) => [name, outputSchema?.["required"]]);
    expect(fields).toEqual([
      ["ResearchAgent", ["summary", "sources", "key_facts"]],
      ["PlannerAgent", ["steps", "risks", "timeline"]],
      ["WriterAgent", ["content", "explanation"]],
      ["CriticAgent", ["issues", "suggestions", "score"]],
      ["SummarizerAgent", ["summary", "action_items"]],
    ]);
    const tools = BUILT_IN_AGENTS.map((agent) => agent.tools);
    expect(tools).toEqual([["web.search", "http.get"], [], [], [], []]);
    for (const { agentId, name, prompt } of BUILT_IN_AGENTS) {
      expect(isAgentId(agentId)).toBe(true);
      expect(prompt).toMatch(new RegExp(`^You are ${name}\\.`));
    }
  });

  test("are found by name and by id", () => {
    for (const agent of BUILT_IN_AGENTS) {
      expect([NONE.find(agent.name), NONE.find(agent.agentId)]).toEqual([agent, agent]);
    }
    expect(NONE.find("researchagent")).toBeNull();
  });

  test("have the prompt and the schema that the config gives them under their id", () => {
    const agents = new SubAgents(() => ({ "critic-agent": { prompt: "Be kind.", outputSchema: SCHEMA } }));
    expect(agents.find("CriticAgent")).toMatchObject({ prompt: "Be kind.", outputSchema: SCHEMA, tools: [] });
    expect(agents.list()).toHaveLength(BUILT_IN_AGENTS.length);
    expect([agents.promptOf("critic-agent"), agents.promptOf("writer-agent")]).toEqual([
      "Be kind.",
      BUILT_IN_AGENTS[2]?.prompt,
    ]);
  });
});

describe("an agent of the operator's", () => {
  const own = {
    main: { prompt: "Be brief." },
    translator: { prompt: "Translate.", purpose: "English", outputSchema: SCHEMA },
  };
  const agents = new SubAgents(() => own);

  verifies("T-3b/agents", "is listed behind the built-in ones, with its schema and its parent's tools", () => {
    expect(agents.list().slice(BUILT_IN_AGENTS.length)).toEqual([
      {
        ...{ name: "translator", agentId: "translator", purpose: "English", prompt: "Translate." },
        ...{ tools: null, maxInferences: null, outputSchema: SCHEMA },
      },
    ]);
  });

  test("main is not offered, but may be asked", () => {
    expect(agents.list().map(({ name }) => name)).not.toContain("main");
    expect(agents.find("main")).toMatchObject({ agentId: "main", prompt: "Be brief.", outputSchema: null });
  });
});

test.each([
  ["no object", { type: "string" }],
  ["no type", {}],
  ["a pattern that is none", { type: "object", properties: { a: { type: "string", pattern: "(" } } }],
  ["no JSON", { type: "object", default: undefined }],
])("%s is no output schema", (_, schema) => {
  expect(isOutputSchema(schema)).toBe(false);
});

test("a task's own schema makes a variant of its agent, known under a name of its own", () => {
  const agents = new SubAgents(() => ({}));
  const name = agents.withOutput("WriterAgent", SCHEMA);
  expect(name).toMatch(/^WriterAgent#[0-9a-f]{8}$/);
  expect(agents.find(name)).toMatchObject({ agentId: "writer-agent", outputSchema: SCHEMA });
  expect(agents.find("WriterAgent")?.outputSchema).not.toEqual(SCHEMA);
  expect([agents.list().length, agents.withOutput("Nobody", SCHEMA)]).toEqual([BUILT_IN_AGENTS.length, "Nobody"]);
});
