/**
 * The demo model and sub-agents: "ask the research agent about …" becomes a delegation, and a task that demands a form gets an
 * answer of that form, which says that nothing intelligent was done.
 */
import { FORM } from "../../../assistant/subagents/delegate.ts";
import { fieldsOf, textOf } from "../wire-fields.ts";
import { type CompletedCall, describeResult } from "./describe-result.ts";
import type { Intent } from "./parse-intent.ts";

const MAX_CHARS = 4_000;
const ROLES: Readonly<Record<string, string>> = {
  research: "ResearchAgent",
  planner: "PlannerAgent",
  writer: "WriterAgent",
  critic: "CriticAgent",
  summarizer: "SummarizerAgent",
};
const ROLE = `(?:the |my |a )?(?:${Object.keys(ROLES).join("|")})(?:[ -]?agent)?`;
const ASKED = new RegExp(
  `^(?:please )?(?:ask|let|have) (${ROLE}(?:(?:,| and|, and) ${ROLE})*) (?:(?:about|for|to) )?(.+)$`,
  "is",
);
const NAMED = new RegExp(`\\b(?:${Object.keys(ROLES).join("|")})`, "gi");

/** One call for each agent that the message names; null: it names none. */
export function parseDelegation(message: string): readonly Intent[] | null {
  if (message.length > MAX_CHARS) return null;
  const [, named = "", task = ""] = ASKED.exec(message.trim()) ?? [];
  const agents = new Set(named.match(NAMED)?.map((role) => ROLES[role.toLowerCase()] ?? role));
  if (agents.size === 0) return null;
  return [...agents].map((agent) => ({ tool: "agent.delegate", args: { agent, description: task } }));
}

export interface TypedTask {
  readonly task: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

/** Null unless the message ends with the form that its answer must have. */
export function readTypedTask(message: string): TypedTask | null {
  const at = message.lastIndexOf(`\n\n${FORM}\n`);
  if (at < 0) return null;
  try {
    const schema = fieldsOf(JSON.parse(message.slice(at + FORM.length + 3)));
    return schema === null ? null : { task: message.slice(0, at), schema };
  } catch {
    return null;
  }
}

export function typedAnswer({ task, schema }: TypedTask, results: readonly CompletedCall[]): string {
  const found = results.map(describeResult).join("\n\n");
  const said = `I am Surety's built-in demo model: nothing was looked up or thought through. A real model would answer this: ${task}`;
  const sources = results.flatMap(({ tool, args }) => (tool === "http.get" ? [textOf(args["url"])] : []));
  return JSON.stringify(instanceOf(schema, found === "" ? said : found, sources));
}

/** The plainest value that fulfils the schema. */
function instanceOf(schema: unknown, text: string, sources: readonly string[], name = ""): unknown {
  const { type, properties, items, minItems, minimum, const: fixed, enum: allowed } = fieldsOf(schema) ?? {};
  if (fixed !== undefined) return fixed;
  if (Array.isArray(allowed)) return allowed[0];
  switch (type) {
    case "object": {
      const named = Object.entries(fieldsOf(properties) ?? {});
      return Object.fromEntries(named.map(([key, inner]) => [key, instanceOf(inner, text, sources, key)]));
    }
    case "array": {
      if (name === "sources") return sources;
      const length = typeof minItems === "number" ? Math.min(minItems, 8) : 0;
      return Array.from({ length }, () => instanceOf(items, text, sources));
    }
    case "number":
    case "integer":
      return typeof minimum === "number" ? minimum : 0;
    case "boolean":
      return false;
    case "null":
      return null;
    default:
      return text;
  }
}
