/**
 * A request in the form of OpenAI's chat completions.
 *
 * R1. Messages keep their order; a tool's result names the call it answers.
 * R2. `tool_choice` is sent only beside tools: servers refuse it without them.
 * R3. An effort is sent only if one was asked for, since servers refuse it for models that do not reason, or if the model
 *     requires one beside tools.
 * R4. A model's reasoning before its calls goes back to it beside them: some servers refuse to continue without.
 * R5. Messages and tools are encoded once: a run sends them again with every step.
 * R6. A constraint is sent as the JSON Schema that the answer has to fit (`response_format`).
 */
import type { AnswerSchemas } from "../../../kernel/protocol/grammar/derive-answer-schema.ts";
import { encodeToolName } from "../../../kernel/protocol/tool-names.ts";
import type {
  AnswerConstraint,
  ModelRequest,
  PromptCall,
  PromptImage,
  PromptMessage,
  ToolOffer,
} from "../../../runtime/ports/model-backend.ts";
import { wireToolName } from "../wire-fields.ts";
import { callFields, reasoningFields } from "./chat-reasoning.ts";
import { effortFields } from "./effort-fields.ts";

export interface ChatDialect {
  /** OpenAI accepts the older name for some models only; other servers often know only that one. */
  readonly limitField: "max_tokens" | "max_completion_tokens";
  readonly translatesEffort: boolean;
}

export function encodeRequest(request: ModelRequest, isStreamed: boolean, dialect: ChatDialect): string {
  const { model, messages, tools, toolChoice, constraint, maxOutputTokens, effort, temperature } = request;
  const fields = JSON.stringify({
    model,
    ...(tools.length === 0 ? null : { tool_choice: toolChoice }),
    ...(constraint === undefined || constraint.grammar === null ? null : encodeConstraint(constraint)),
    ...effortFields(model, effort, { isTranslated: dialect.translatesEffort, hasTools: tools.length > 0 }),
    ...(temperature === undefined ? null : { temperature }),
    [dialect.limitField]: maxOutputTokens,
    stream: isStreamed,
    ...(isStreamed ? { stream_options: { include_usage: true } } : null),
  });
  const offered = tools.length === 0 ? "" : `"tools":${listOf(tools, toolText)},`;
  return `{"messages":${listOf(messages, messageText)},${offered}${fields.slice(1)}`;
}

/** Concatenated, not joined: V8 copies a long text only when it is sent. */
function listOf<Part>(parts: readonly Part[], textOf: (part: Part) => string): string {
  let list = "";
  for (const part of parts) list += `${list === "" ? "" : ","}${textOf(part)}`;
  return `[${list}]`;
}

const messageText = encodedOnce(encodeMessage);
const toolText = encodedOnce(encodeTool);

function encodedOnce<Part extends object>(encode: (part: Part) => object): (part: Part) => string {
  const texts = new WeakMap<Part, string>();
  return (part) => {
    const text = texts.get(part) ?? JSON.stringify(encode(part));
    texts.set(part, text);
    return text;
  };
}

function encodeConstraint({ entry, grammar }: AnswerConstraint): object {
  const schema = (JSON.parse(grammar ?? "{}") as AnswerSchemas)[entry];
  return { response_format: { type: "json_schema", json_schema: { name: "answer", strict: true, schema } } };
}

function encodeMessage(message: PromptMessage): object {
  const { role, content } = message;
  if (role === "tool") return { role, tool_call_id: message.callId, content };
  if (role === "user" && message.images !== undefined) return { role, content: encodeParts(content, message.images) };
  if (role !== "assistant" || message.toolCalls.length === 0) return { role, content };
  const { thoughts, toolCalls } = message;
  const called = { role, content: content === "" ? null : content };
  if (thoughts === undefined) return { ...called, tool_calls: toolCalls.map(encodeCall) };
  const calls = toolCalls.map((call, place) => ({ ...encodeCall(call), ...callFields(thoughts, place) }));
  return { ...called, tool_calls: calls, ...reasoningFields(thoughts) };
}

function encodeParts(text: string, images: readonly PromptImage[]): readonly object[] {
  const shown = images.map(({ mimeType, data }) => ({
    type: "image_url",
    image_url: { url: `data:${mimeType};base64,${data}` },
  }));
  return [{ type: "text", text }, ...shown];
}

function encodeCall({ id, tool, argumentsText }: PromptCall): object {
  return { id, type: "function", function: { name: wireToolName(tool), arguments: argumentsText || "{}" } };
}

function encodeTool({ name, description, parameters }: ToolOffer): object {
  return { type: "function", function: { name: encodeToolName(name), description, parameters } };
}
