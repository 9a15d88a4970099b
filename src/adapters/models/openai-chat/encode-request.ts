/**
 * A request in the spelling of OpenAI's chat completions.
 *
 * R1. Messages keep their order; a tool's result names the call it answers.
 * R2. A name the model made up goes back as close to what it wrote as the wire allows, for it must see what it did wrong.
 * R3. `tool_choice` is said only beside tools: servers refuse it without them.
 * R4. Messages and tools are written once: a conversation is sent again with every turn, a little longer each time.
 */
import { encodeToolName, isToolName } from "../../../kernel/protocol/tool-names.ts";
import type { ModelRequest, PromptCall, PromptMessage, ToolOffer } from "../../../runtime/ports/model-backend.ts";

const MAX_NAME_CHARS = 64;

export function encodeRequest(request: ModelRequest, isStreamed: boolean): string {
  const { model, messages, tools, toolChoice, maxOutputTokens } = request;
  const rest = JSON.stringify({
    ...(tools.length === 0 ? null : { tool_choice: toolChoice }),
    max_tokens: maxOutputTokens,
    stream: isStreamed,
    ...(isStreamed ? { stream_options: { include_usage: true } } : null),
  }).slice(1);
  const offered = tools.length === 0 ? "" : `"tools":[${tools.map(writtenTool).join()}],`;
  return `{"model":${JSON.stringify(model)},"messages":[${messages.map(writtenMessage).join()}],${offered}${rest}`;
}

const writtenMessage = writingOnce(encodeMessage);
const writtenTool = writingOnce(encodeTool);

function writingOnce<Item extends object>(encode: (item: Item) => object): (item: Item) => string {
  const written = new WeakMap<Item, string>();
  return (item) => {
    const known = written.get(item);
    if (known !== undefined) return known;
    const text = JSON.stringify(encode(item));
    written.set(item, text);
    return text;
  };
}

function encodeMessage(message: PromptMessage): object {
  const { role, content } = message;
  if (role === "tool") return { role, tool_call_id: message.callId, content };
  if (role !== "assistant" || message.toolCalls.length === 0) return { role, content };
  return { role, content: content === "" ? null : content, tool_calls: message.toolCalls.map(encodeCall) };
}

function encodeCall({ id, tool, argumentsText }: PromptCall): object {
  return { id, type: "function", function: { name: encodeName(tool), arguments: argumentsText || "{}" } };
}

function encodeName(tool: string): string {
  if (isToolName(tool)) return encodeToolName(tool);
  return tool.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_NAME_CHARS) || "_";
}

function encodeTool({ name, description, parameters }: ToolOffer): object {
  return { type: "function", function: { name: encodeToolName(name), description, parameters } };
}
