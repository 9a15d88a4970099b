/** The constraint of a contract, in the form that its model's backend applies. It is the contract's `grammar`. */
import { deriveAnswerSchemas } from "./derive-answer-schema.ts";
import { type ConstrainedTool, deriveGrammar } from "./derive-grammar.ts";

/** GBNF for a model in this process, JSON Schema for a server. */
export type GrammarForm = "gbnf" | "json-schema";

export function deriveConstraint(form: GrammarForm, tools: readonly ConstrainedTool[]): string {
  return form === "gbnf" ? deriveGrammar(tools) : JSON.stringify(deriveAnswerSchemas(tools));
}
