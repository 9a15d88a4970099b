/**
 * A request in the spelling of OpenAI's chat completions.
 *
 * R1. Messages keep their order; a tool's result names the call it answers.
 * R2. `tool_choice` is said only beside tools: servers refuse it without them.
 * R3. Messages and tools are written once: a conversation is sent again with every turn, a little longer each time.
 * R4. An effort is said only where one was asked for, since servers refuse it for models that do not reason, or where a
 *     model wants one beside tools.
 * R5. What a model thought before its calls goes back to it beside them: some refuse to go on without.
 */
import { encodeToolName } from "../../../kernel/protocol/tool-names.ts";
import type {
  ModelRequest,
  PromptCall,
  PromptImage,
  PromptMessage,
  ToolOffer,
} from "../../../runtime/ports/model-backend.ts";
import { wireToolName } from "../wire-tool-name.ts";
import { writeOnce } from "../write-once.ts";
import { callFields, thoughtFields } from "./chat-thoughts.ts";
import { effortFields } from "./effort-fields.ts";

export interface ChatDialect {
  /** OpenAI itself knows the older name for some models only, other servers often only that. */
  readonly limitField: "max_tokens" | "max_completion_tokens";
  readonly translatesEffort: boolean;
}

export function encodeRequest(request: ModelRequest, isStreamed: boolean, dialect: ChatDialect): string {
  const { model, messages, tools, toolChoice, maxOutputTokens, effort } = request;
  const rest = JSON.stringify({
    ...(tools.length === 0 ? null : { tool_choice: toolChoice }),
    ...effortFields(model, effort, { isTranslated: dialect.translatesEffort, hasTools: tools.length > 0 }),
    [dialect.limitField]: maxOutputTokens,
    stream: isStreamed,
    ...(isStreamed ? { stream_options: { include_usage: true } } : null),
  }).slice(1);
  const said = messages.map(writtenMessage);
  const offered = tools.length === 0 ? "" : `"tools":[${tools.map(writtenTool).join()}],`;
  return `{"model":${JSON.stringify(model)},"messages":[${said.join()}],${offered}${rest}`;
}

const writtenMessage = writeOnce((message: PromptMessage) => JSON.stringify(encodeMessage(message)));
const writtenTool = writeOnce((tool: ToolOffer) => JSON.stringify(encodeTool(tool)));

function encodeMessage(message: PromptMessage): object {
  const { role, content } = message;
  if (role === "tool") return { role, tool_call_id: message.callId, content };
  if (role === "user" && message.images !== undefined) return { role, content: encodeParts(content, message.images) };
  if (role !== "assistant" || message.toolCalls.length === 0) return { role, content };
  const { thoughts, toolCalls } = message;
  const calls = toolCalls.map((call, place) => ({ ...encodeCall(call), ...callFields(thoughts, place) }));
  const called = { role, content: content === "" ? null : content, tool_calls: calls };
  return thoughts === undefined ? called : { ...called, ...thoughtFields(thoughts) };
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
