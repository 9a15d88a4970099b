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
  const { model, messages, tools, toolChoice, maxOutputTokens, effort, temperature } = request;
  const rest = JSON.stringify({
    ...(tools.length === 0 ? null : { tool_choice: toolChoice }),
    ...effortFields(model, effort, { isTranslated: dialect.translatesEffort, hasTools: tools.length > 0 }),
    ...(temperature === undefined ? null : { temperature }),
    [dialect.limitField]: maxOutputTokens,
    stream: isStreamed,
    ...(isStreamed ? { stream_options: { include_usage: true } } : null),
  }).slice(1);
  let text = `{"model":${JSON.stringify(model)},"messages":[`;
  // Added up rather than joined: the whole is laid out once, when it is sent.
  for (let index = 0; index < messages.length; index += 1) {
    text += (index === 0 ? "" : ",") + writtenMessage(messages[index] as PromptMessage);
  }
  return `${text}],${tools.length === 0 ? "" : writtenTools(tools)}${rest}`;
}

const writtenMessage = writeOnce((message: PromptMessage) =>
  message.role === "tool" ? writeResult(message) : JSON.stringify(encodeMessage(message)),
);
const writtenTools = writeOnce((tools: readonly ToolOffer[]) => `"tools":${JSON.stringify(tools.map(encodeTool))},`);

/** Half of a conversation is results. */
function writeResult({ callId, content }: Extract<PromptMessage, { role: "tool" }>): string {
  return `{"role":"tool","tool_call_id":${JSON.stringify(callId)},"content":${JSON.stringify(content)}}`;
}

function encodeMessage(message: Exclude<PromptMessage, { role: "tool" }>): object {
  const { role, content } = message;
  if (role === "user" && message.images !== undefined) return { role, content: encodeParts(content, message.images) };
  if (role !== "assistant" || message.toolCalls.length === 0) return { role, content };
  const { thoughts, toolCalls } = message;
  const called = { role, content: content === "" ? null : content };
  if (thoughts === undefined) return { ...called, tool_calls: toolCalls.map(encodeCall) };
  const calls = toolCalls.map((call, place) => ({ ...encodeCall(call), ...callFields(thoughts, place) }));
  return { ...called, tool_calls: calls, ...thoughtFields(thoughts) };
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
