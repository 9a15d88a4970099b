/**
 * The same constraint as `derive-grammar.ts`, as JSON Schemas for servers that hold a model to one (`response_format`).
 * Every property is required, as some servers demand: each optional argument has a default the model can state. None has a
 * union at its top, which some refuse.
 */
import { type ConstrainedTool, type GrammarEntry, MAX_CALLS } from "./derive-grammar.ts";

type Schema = Readonly<Record<string, unknown>>;

/** By entry. */
export type AnswerSchemas = Readonly<Partial<Record<GrammarEntry, object>>>;

export function deriveAnswerSchemas(tools: readonly ConstrainedTool[]): AnswerSchemas {
  const text = { type: "string" };
  if (tools.length === 0) return { text: closedObject({ text }) };
  const call = {
    anyOf: tools.map(({ name, parameters }) =>
      closedObject({ tool: { type: "string", enum: [name] }, args: allRequired(parameters as Schema) }),
    ),
  };
  const calls = (minItems: number) => ({ type: "array", items: call, minItems, maxItems: MAX_CALLS });
  return {
    calls: closedObject({ calls: calls(1) }),
    "calls-or-text": closedObject({ calls: calls(0), text }),
    text: closedObject({ text }),
  };
}

function closedObject(properties: Schema): object {
  return { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
}

function allRequired(schema: Schema): Schema {
  const { properties, items, default: _, ...others } = schema;
  if (schema["type"] === "array") return { ...others, items: allRequired(items as Schema) };
  if (schema["type"] !== "object") return others;
  const named = Object.entries(properties as Readonly<Record<string, Schema>>);
  const required = named.map(([name]) => name);
  return {
    ...others,
    properties: Object.fromEntries(named.map(([name, each]) => [name, allRequired(each)])),
    required,
  };
}
