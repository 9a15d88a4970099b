/**
 * The sub-agents that a run may delegate to (T-3b): the seed's five, and the operator's own agents.
 *
 * A sub-agent is an agent: `agents.<id>` of the config gives a built-in one another model or prompt under its id, such as
 * `research-agent`, and any other id there is an agent of the operator's.
 */

import { Compile } from "typebox/compile";
import type { ContractTerms } from "../../kernel/contract/contract.ts";
import { hashCanonical } from "../../kernel/vocabulary/hash.ts";
import { jsonProblem } from "../../kernel/vocabulary/json-problem.ts";

export type OutputSchema = NonNullable<ContractTerms["outputSchema"]>;

export interface SubAgent {
  /** By which `agent.delegate` knows it. */
  readonly name: string;
  /** Of its runs; file systems that take `A` and `a` for one name hold them. */
  readonly agentId: string;
  readonly purpose: string;
  readonly prompt: string;
  /** What it may call, of the tools its parent may call; null: all of them. */
  readonly tools: readonly string[] | null;
  /** What it needs at most; null: half of what its parent has left. */
  readonly maxInferences: number | null;
  /** Null: it answers with text. */
  readonly outputSchema: OutputSchema | null;
}

/** What the config says of an agent. */
export interface OwnAgent {
  readonly prompt?: string | undefined;
  readonly purpose?: string;
  readonly outputSchema?: OutputSchema;
}

const text = { type: "string", minLength: 1 } as const;
const texts = { type: "array", items: { type: "string" } } as const;

function answer(properties: Readonly<Record<string, object>>): OutputSchema {
  return { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
}

/** One answer and one repair of its form. */
const ANSWER_ONLY = { tools: [], maxInferences: 2 } as const;

export const BUILT_IN_AGENTS: readonly SubAgent[] = [
  {
    ...{ name: "ResearchAgent", agentId: "research-agent", purpose: "web search" },
    prompt:
      "You are ResearchAgent. You gather facts for one question. Use your tools where they help, name each source by its URL, and state only what a source or the context says. If you find nothing, say so.",
    ...{ tools: ["web.search", "http.get"], maxInferences: 6 },
    outputSchema: answer({ summary: text, sources: texts, key_facts: texts }),
  },
  {
    ...{ name: "PlannerAgent", agentId: "planner-agent", purpose: "plans" },
    prompt:
      "You are PlannerAgent. You make a plan for one task: concrete steps in order, what can go wrong, and how long it takes.",
    ...ANSWER_ONLY,
    outputSchema: answer({ steps: texts, risks: texts, timeline: text }),
  },
  {
    ...{ name: "WriterAgent", agentId: "writer-agent", purpose: "code, texts" },
    prompt:
      "You are WriterAgent. You write the code or the text that the task asks for, complete and ready to use, and explain in a few sentences what you chose and why.",
    ...ANSWER_ONLY,
    outputSchema: answer({ content: text, explanation: { type: "string" } }),
  },
  {
    ...{ name: "CriticAgent", agentId: "critic-agent", purpose: "review" },
    prompt:
      "You are CriticAgent. You review what you are given: what is wrong or missing, what would make it better, and a score from 0 (unusable) to 10 (nothing to improve).",
    ...ANSWER_ONLY,
    outputSchema: answer({ issues: texts, suggestions: texts, score: { type: "number", minimum: 0, maximum: 10 } }),
  },
  {
    ...{ name: "SummarizerAgent", agentId: "summarizer-agent", purpose: "" },
    prompt:
      "You are SummarizerAgent. You condense what you are given to its substance and list what someone has to do. You add nothing.",
    ...ANSWER_ONLY,
    outputSchema: answer({ summary: text, action_items: texts }),
  },
];

/** A contract holds it. */
const MAX_SCHEMA_DEPTH = 24;

/** Of an object, and such that an answer can be checked against it. */
export function isOutputSchema(schema: Readonly<Record<string, unknown>>): schema is OutputSchema {
  if (schema["type"] !== "object" || jsonProblem(schema, MAX_SCHEMA_DEPTH) !== null) return false;
  try {
    Compile(schema);
    return true;
  } catch {
    return false;
  }
}

export class SubAgents {
  readonly #own: () => Readonly<Record<string, OwnAgent>>;
  /** Built-in or own agents with the output schema of one task. */
  readonly #variants = new Map<string, SubAgent>();

  constructor(own: () => Readonly<Record<string, OwnAgent>>) {
    this.#own = own;
  }

  /** The built-in ones first. `main`, who delegates, may be asked too, but is not offered. */
  list(): readonly SubAgent[] {
    const own = this.#own();
    const ids = new Set(BUILT_IN_AGENTS.map(({ agentId }) => agentId));
    const others = Object.keys(own).filter((id) => id !== "main" && !ids.has(id));
    return [
      ...BUILT_IN_AGENTS.map((agent) => adapted(agent, own[agent.agentId])),
      ...others.map((id) => ownAgent(id, own[id])),
    ];
  }

  /** By its name or its id. */
  find(name: string): SubAgent | null {
    const variant = this.#variants.get(name);
    if (variant !== undefined) return variant;
    if (name === "main") return ownAgent(name, this.#own()[name]);
    return this.list().find((agent) => agent.name === name || agent.agentId === name) ?? null;
  }

  /** The name of the same agent with another form of answer; this process knows it until it ends. */
  withOutput(name: string, outputSchema: OutputSchema): string {
    const agent = this.find(name);
    if (agent === null) return name;
    const variant = `${agent.name}#${hashCanonical(outputSchema).slice(0, 8)}`;
    this.#variants.set(variant, { ...agent, outputSchema });
    return variant;
  }

  /** The prompt of an agent, built in or own. Null: it has none. */
  promptOf(agentId: string): string | null {
    const builtIn = BUILT_IN_AGENTS.find((agent) => agent.agentId === agentId);
    return this.#own()[agentId]?.prompt ?? builtIn?.prompt ?? null;
  }
}

function adapted(agent: SubAgent, { prompt, purpose, outputSchema }: OwnAgent = {}): SubAgent {
  return {
    ...agent,
    prompt: prompt ?? agent.prompt,
    purpose: purpose ?? agent.purpose,
    outputSchema: outputSchema ?? agent.outputSchema,
  };
}

function ownAgent(id: string, { prompt = "", purpose = "", outputSchema }: OwnAgent = {}): SubAgent {
  return {
    ...{ name: id, agentId: id, purpose, prompt, tools: null, maxInferences: null },
    outputSchema: outputSchema ?? null,
  };
}
