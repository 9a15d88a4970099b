/**
 * A request in the spelling of OpenAI's chat completions.
 *
 * R1. Messages keep their order; a tool's result names the call it answers.
 * R2. A name the model made up goes back as close to what it wrote as the wire allows, for it must see what it did wrong.
 * R3. `tool_choice` is said only beside tools: servers refuse it without them.
 */
import { encodeToolName, isToolName } from "../../../kernel/protocol/tool-names.ts";
import type { ModelRequest, PromptCall, PromptMessage, ToolOffer } from "../../../runtime/ports/model-backend.ts";

const MAX_NAME_CHARS = 64;

export function encodeRequest(request: ModelRequest, isStreamed: boolean): string {
  const { model, messages, tools, toolChoice, maxOutputTokens } = request;
  return JSON.stringify({
    model,
    messages: messages.map(encodeMessage),
    ...(tools.length === 0 ? null : { tools: tools.map(encodeTool), tool_choice: toolChoice }),
    max_tokens: maxOutputTokens,
    stream: isStreamed,
    ...(isStreamed ? { stream_options: { include_usage: true } } : null),
  });
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
