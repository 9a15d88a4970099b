/**
 * A request for a model whose answer is one JSON document (`grammar-json`): the system prompt describes the tools and the
 * document, and the model's earlier answers are sent in that form.
 *
 * G1. The request offers no native tools: two ways to call would conflict (D1 of the adapters).
 * G2. Results stay messages of the role `tool` with unchanged content (S-3.2).
 * G3. The description joins the first system message: many chat templates support only one.
 * G4. Without a constraint the answer is a plain text, and nothing is described.
 */
import type { GrammarEntry } from "../../kernel/protocol/grammar/derive-grammar.ts";
import type { ModelRequest, PromptMessage, ToolOffer } from "../../runtime/ports/model-backend.ts";
import { addToSystem } from "./marker-request.ts";

export function writeGrammarRequest(request: ModelRequest): ModelRequest {
  const { constraint, messages, tools } = request;
  if (constraint === undefined) return { ...request, tools: [] };
  const written = messages.map(writeMessage);
  return { ...request, messages: addToSystem(written, describe(constraint.entry, tools)), tools: [] };
}

function writeMessage(message: PromptMessage): PromptMessage {
  if (message.role !== "assistant") return message;
  const { content, toolCalls } = message;
  const calls = toolCalls.map(({ tool, argumentsText }) => {
    return `{"tool":${JSON.stringify(tool)},"args":${argumentsText || "{}"}}`;
  });
  const fields = [
    ...(calls.length === 0 ? [] : [`"calls":[${calls.join(",")}]`]),
    ...(content === "" && calls.length > 0 ? [] : [`"text":${JSON.stringify(content)}`]),
  ];
  return { role: "assistant", content: `{${fields.join(",")}}`, toolCalls: [] };
}

const CALLS = 'To call tools: {"calls":[{"tool":"<name>","args":{}}]}. The calls run in order.';
const TEXT =
  'To answer the user: {"text":"<your answer>"}. What you would write below the answer is part of this text.';
const RESULTS =
  "Each result comes back as a message of the role tool: {id, tool, ok, output, error}. Say nothing about a result before you have it.";

const FORMS: Readonly<Record<GrammarEntry, readonly string[]>> = {
  calls: [CALLS, RESULTS, "This task requires a tool: call one now."],
  "calls-or-text": [CALLS, TEXT, RESULTS],
  text: [TEXT],
};

function describe(entry: GrammarEntry, tools: readonly ToolOffer[]): string {
  const lines = tools.map(({ name, description, parameters }) => {
    return `- ${name}: ${description}\n  args: ${JSON.stringify(parameters)}`;
  });
  return [
    "Every message of yours is one JSON object and nothing else: no code fence, no comment.",
    ...FORMS[entry],
    ...(lines.length === 0 || entry === "text" ? [] : ["", "Tools:", ...lines]),
  ].join("\n");
}
