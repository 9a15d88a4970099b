/**
 * A request in the form of Anthropic's Messages API.
 *
 * R1. System messages become the system prompt wherever they are in the conversation, never a user's words.
 * R2. Consecutive messages of one side become one turn: all results of a batch must be in the turn after it.
 * R3. Blank text is left out: the server refuses it.
 * R4. Calls in the conversation need tools beside them; when none is offered any more, their names are sent and none may be
 *     called.
 * R5. The result of a call that was made in text is sent as text: the server requires a matching call for results.
 * R6. Thinking goes back to its place among text and calls, unless the model must not think now: the server then refuses
 *     it.
 * R7. A model that cannot be forced to call a tool is not; its profile says so, and the run enforces the requirement.
 */
import { encodeToolName } from "../../../kernel/protocol/tool-names.ts";
import type { JsonValue } from "../../../kernel/vocabulary/parse-json.ts";
import type {
  ModelRequest,
  PromptCall,
  PromptImage,
  PromptMessage,
  ToolOffer,
} from "../../../runtime/ports/model-backend.ts";
import { parseFields, wireToolName } from "../wire-fields.ts";
import { readBlocks } from "./thinking-blocks.ts";
import { mayForceTools, mayReplayThinking, mayThink, thinkingFields } from "./thinking-fields.ts";

const TOOL_CHOICES = { auto: "auto", required: "any", none: "none" } as const;

export function encodeRequest(request: ModelRequest, isStreamed: boolean): string {
  const { model, messages, maxOutputTokens, temperature } = request;
  const system = messages.flatMap(({ role, content }) => (role === "system" && !isBlank(content) ? [content] : []));
  const thinking = thinkingFields(request);
  return JSON.stringify({
    model,
    messages: encodeTurns(messages, mayReplayThinking(model, thinking)),
    ...toolFields(request),
    ...(system.length === 0 ? null : { system: system.join("\n\n") }),
    ...thinking,
    // Beside extended thinking the server accepts no temperature but its default.
    ...(temperature === undefined || mayThink(thinking) ? null : { temperature }),
    max_tokens: maxOutputTokens,
    stream: isStreamed,
  });
}

interface Turn {
  readonly role: "user" | "assistant";
  readonly content: object[];
}

function encodeTurns(messages: readonly PromptMessage[], hasThinking: boolean): readonly Turn[] {
  const turns: Turn[] = [];
  const called = new Set(callsIn(messages).map(({ id }) => id));
  for (const message of messages) {
    if (message.role === "system") continue;
    const isCallUnknown = message.role === "tool" && !called.has(message.callId);
    const blocks = isCallUnknown ? encodeText(message.content) : encodeBlocks(message, hasThinking);
    if (blocks.length === 0) continue;
    const role = message.role === "assistant" ? "assistant" : "user";
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else turns.push({ role, content: [...blocks] });
  }
  return turns;
}

function toolFields({ model, messages, tools, toolChoice }: ModelRequest): object {
  if (tools.length > 0) {
    const isForceable = toolChoice !== "required" || mayForceTools(model);
    const choice = TOOL_CHOICES[isForceable ? toolChoice : "auto"];
    return { tools: tools.map(encodeTool), tool_choice: { type: choice } };
  }
  const names = new Set(callsIn(messages).map(({ tool }) => wireToolName(tool)));
  if (names.size === 0) return {};
  const stubs = [...names].map((name) => ({ name, input_schema: { type: "object" } }));
  return { tools: stubs, tool_choice: { type: "none" } };
}

function encodeTool({ name, description, parameters }: ToolOffer): object {
  return { name: encodeToolName(name), description, input_schema: parameters };
}

function callsIn(messages: readonly PromptMessage[]): readonly PromptCall[] {
  return messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
}

function encodeBlocks(message: PromptMessage, hasThinking: boolean): readonly object[] {
  const { content } = message;
  if (message.role === "tool") return [{ type: "tool_result", tool_use_id: wireId(message.callId), content }];
  const text = encodeText(content);
  // Claude reads images best before the text.
  if (message.role === "user" && message.images !== undefined) return [...message.images.map(encodeImage), ...text];
  if (message.role !== "assistant") return text;
  const calls = message.toolCalls.map(encodeCall);
  if (message.thoughts === undefined || !hasThinking) return [...text, ...calls];
  return withThinking(message.thoughts, text, calls);
}

function encodeText(text: string): readonly object[] {
  return isBlank(text) ? [] : [{ type: "text", text }];
}

/** Beside calls only, and never after the last one: the server refuses a turn that ends in thinking. */
function withThinking(kept: JsonValue, text: readonly object[], calls: readonly object[]): readonly object[] {
  const thoughts = calls.length === 0 ? [] : readBlocks(kept);
  const at = (wanted: number): readonly object[] =>
    thoughts.filter(({ place }) => Math.min(place, calls.length) === wanted).map(({ block }) => block);
  return [...at(0), ...text, ...calls.flatMap((call, index) => [...at(index + 1), call])];
}

function encodeImage({ mimeType, data }: PromptImage): object {
  return { type: "image", source: { type: "base64", media_type: mimeType, data } };
}

function encodeCall({ id, tool, argumentsText }: PromptCall): object {
  return { type: "tool_use", id: wireId(id), name: wireToolName(tool), input: parseFields(argumentsText) ?? {} };
}

/** Ids of other providers may contain a dot or a colon, which Anthropic refuses. */
function wireId(id: string): string {
  return id.replaceAll(".", "_dot_").replaceAll(":", "_colon_");
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}
