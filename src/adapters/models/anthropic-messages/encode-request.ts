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
 * R7. What a model thought stands where it stood when it comes back to it, unless it is not to think now: then the server
 *     wants none of it.
 * R8. Of a model that cannot be made to call a tool it is not demanded: its profile says so, and the run sees to it.
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
import { parseFields } from "../read-fields.ts";
import { wireToolName } from "../wire-tool-name.ts";
import { writeOnce } from "../write-once.ts";
import { mayForceTools } from "./may-force-tools.ts";
import { mayRecall, mayThink, thinkingFields } from "./thinking-fields.ts";
import { readThoughts } from "./thought-blocks.ts";

const TOOL_CHOICES = { auto: "auto", required: "any", none: "none" } as const;

export function encodeRequest(request: ModelRequest, isStreamed: boolean): string {
  const { model, messages, maxOutputTokens, temperature } = request;
  const system = messages.flatMap(({ role, content }) => (role === "system" && !isBlank(content) ? [content] : []));
  const thinking = thinkingFields(request);
  const rest = JSON.stringify({
    ...(system.length === 0 ? null : { system: system.join("\n\n") }),
    ...thinking,
    // Beside extended thinking the server accepts no temperature but its default.
    ...(temperature === undefined || mayThink(thinking) ? null : { temperature }),
    max_tokens: maxOutputTokens,
    stream: isStreamed,
  }).slice(1);
  return `{"model":${JSON.stringify(model)},"messages":[${writeTurns(messages, mayRecall(model, thinking))}],${writeTools(request)}${rest}`;
}

function writeTurns(messages: readonly PromptMessage[], isRecalled: boolean): string {
  const turns: { readonly role: "user" | "assistant"; readonly blocks: string[] }[] = [];
  const called = new Set(callsIn(messages).map(({ id }) => id));
  for (const message of messages) {
    const isAnswer = message.role === "tool" && !called.has(message.callId);
    const written = isAnswer ? writtenText : isRecalled ? writtenBlocks : writtenBare;
    const blocks = message.role === "system" ? "" : written(message);
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
/** Without what the model thought. */
const writtenBare = writeOnce((message: PromptMessage) => {
  if (message.role !== "assistant" || message.thoughts === undefined) return writtenBlocks(message);
  const { thoughts: _, ...bare } = message;
  return writtenBlocks(bare);
});
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
  // Images before the text, where Claude reads them best.
  if (message.role === "user" && message.images !== undefined) return [...message.images.map(encodeImage), ...text];
  if (message.role !== "assistant") return text;
  const calls = message.toolCalls.map(encodeCall);
  return message.thoughts === undefined ? [...text, ...calls] : withThoughts(message.thoughts, text, calls);
}

/** Beside calls only, and never behind the last of them: the server refuses a turn that ends in a thought. */
function withThoughts(kept: JsonValue, text: readonly object[], calls: readonly object[]): readonly object[] {
  const thoughts = calls.length === 0 ? [] : readThoughts(kept);
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

/** An id that another provider gave may hold a dot or a colon, which this one refuses. */
function wireId(id: string): string {
  return id.replaceAll(".", "_dot_").replaceAll(":", "_colon_");
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}
