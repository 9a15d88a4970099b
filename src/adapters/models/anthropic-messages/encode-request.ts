/**
 * A request in the spelling of Anthropic's Messages API.
 *
 * R1. What the system says stays the system's, wherever in the conversation it stands: never a user's word.
 * R2. Messages of one side that follow one another are one turn: all results of a batch must stand in the turn after it.
 * R3. What is empty is left out: the server refuses blank text.
 * R4. Messages and tools are written once: a conversation is sent again with every turn, a little longer each time.
 * R5. Calls in the conversation need tools beside them; where none is offered any more, their names stand there and
 *     none may be called.
 * R6. A result whose call stands nowhere as a call, since it was made in text, comes back as text: the server knows no other
 *     way.
 * R7. Of a model that cannot be made to call a tool it is not demanded: its profile says so, and the run sees to it.
 */
import { encodeToolName } from "../../../kernel/protocol/tool-names.ts";
import type { ModelRequest, PromptCall, PromptMessage, ToolOffer } from "../../../runtime/ports/model-backend.ts";
import { parseFields } from "../read-fields.ts";
import { wireToolName } from "../wire-tool-name.ts";
import { writeOnce } from "../write-once.ts";
import { mayForceTools } from "./may-force-tools.ts";
import { thinkingFields } from "./thinking-fields.ts";

const TOOL_CHOICES = { auto: "auto", required: "any", none: "none" } as const;

export function encodeRequest(request: ModelRequest, isStreamed: boolean): string {
  const { model, messages, maxOutputTokens } = request;
  const system = messages.flatMap(({ role, content }) => (role === "system" && !isBlank(content) ? [content] : []));
  const rest = JSON.stringify({
    ...(system.length === 0 ? null : { system: system.join("\n\n") }),
    ...thinkingFields(request),
    max_tokens: maxOutputTokens,
    stream: isStreamed,
  }).slice(1);
  return `{"model":${JSON.stringify(model)},"messages":[${writeTurns(messages)}],${writeTools(request)}${rest}`;
}

function writeTurns(messages: readonly PromptMessage[]): string {
  const turns: { readonly role: "user" | "assistant"; readonly blocks: string[] }[] = [];
  const called = new Set(callsIn(messages).map(({ id }) => id));
  for (const message of messages) {
    const isAnswer = message.role === "tool" && !called.has(message.callId);
    const blocks = message.role === "system" ? "" : isAnswer ? writtenText(message) : writtenBlocks(message);
    if (blocks === "") continue;
    const role = message.role === "assistant" ? "assistant" : "user";
    const last = turns.at(-1);
    if (last?.role === role) last.blocks.push(blocks);
    else turns.push({ role, blocks: [blocks] });
  }
  return turns.map(({ role, blocks }) => `{"role":"${role}","content":[${blocks.join()}]}`).join();
}

function writeTools({ model, messages, tools, toolChoice }: ModelRequest): string {
  const isAskedTooMuch = toolChoice === "required" && !mayForceTools(model);
  const choice = `"tool_choice":{"type":"${TOOL_CHOICES[isAskedTooMuch ? "auto" : toolChoice]}"},`;
  if (tools.length > 0) return `"tools":[${tools.map(writtenTool).join()}],${choice}`;
  const called = callsIn(messages);
  if (called.length === 0) return "";
  const names = new Set(called.map(({ tool }) => wireToolName(tool)));
  const stubs = [...names].map((name) => ({ name, input_schema: { type: "object" } }));
  return `"tools":${JSON.stringify(stubs)},"tool_choice":{"type":"none"},`;
}

const writtenBlocks = writeOnce((message: PromptMessage) =>
  encodeBlocks(message)
    .map((block) => JSON.stringify(block))
    .join(),
);
const writtenText = writeOnce(({ content }: PromptMessage) =>
  isBlank(content) ? "" : JSON.stringify({ type: "text", text: content }),
);
const writtenTool = writeOnce(({ name, description, parameters }: ToolOffer) =>
  JSON.stringify({ name: encodeToolName(name), description, input_schema: parameters }),
);

function callsIn(messages: readonly PromptMessage[]): readonly PromptCall[] {
  return messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
}

function encodeBlocks(message: PromptMessage): readonly object[] {
  const { content } = message;
  if (message.role === "tool") return [{ type: "tool_result", tool_use_id: wireId(message.callId), content }];
  const text = isBlank(content) ? [] : [{ type: "text", text: content }];
  return message.role === "assistant" ? [...text, ...message.toolCalls.map(encodeCall)] : text;
}

function encodeCall({ id, tool, argumentsText }: PromptCall): object {
  return { type: "tool_use", id: wireId(id), name: wireToolName(tool), input: parseFields(argumentsText) ?? {} };
}

/** An id that another provider gave may hold a dot or a colon, which this one refuses. */
function wireId(id: string): string {
  return id.replaceAll(".", "_dot_").replaceAll(":", "_colon_");
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}
