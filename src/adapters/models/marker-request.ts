/**
 * A request for a model that calls tools in its text (S-3): the system prompt describes the tools and the block, and the
 * model's earlier calls are sent as it wrote them.
 *
 * W1. The request offers no native tools: two ways to call would conflict (D1 of the adapters).
 * W2. Results stay messages of the role `tool` with unchanged content (S-3.2).
 * W3. The description joins the first system message: many chat templates support only one.
 * W4. A block has exactly one begin and one end marker: markers within arguments are written as JSON escapes.
 */
import { TOOL_CALLS_BEGIN, TOOL_CALLS_END } from "../../kernel/protocol/markers.ts";
import type { ModelRequest, PromptCall, PromptMessage, ToolOffer } from "../../runtime/ports/model-backend.ts";

export function writeMarkerRequest(request: ModelRequest): ModelRequest {
  const messages = request.messages.map(writeMessage);
  const isOffered = request.tools.length > 0 && request.toolChoice !== "none";
  const protocol = isOffered ? describeProtocol(request.tools, request.toolChoice === "required") : null;
  return { ...request, messages: protocol === null ? messages : addToSystem(messages, protocol), tools: [] };
}

function writeMessage(message: PromptMessage): PromptMessage {
  if (message.role !== "assistant" || message.toolCalls.length === 0) return message;
  const block = `${TOOL_CALLS_BEGIN}\n[${message.toolCalls.map(writeCall).join(",")}]\n${TOOL_CALLS_END}`;
  const content = message.content === "" ? block : `${message.content}\n${block}`;
  return { role: "assistant", content, toolCalls: [] };
}

function writeCall({ id, tool, argumentsText }: PromptCall): string {
  // In JSON, `<` occurs only within strings.
  const args = (argumentsText || "{}").replaceAll("<<<", "\\u003c<<");
  return `{"id":${JSON.stringify(id)},"tool":${JSON.stringify(tool)},"args":${args}}`;
}

/** Joins the first system message. */
export function addToSystem(messages: readonly PromptMessage[], text: string): readonly PromptMessage[] {
  const [first, ...rest] = messages;
  if (first?.role !== "system") return [{ role: "system", content: text }, ...messages];
  return [{ role: "system", content: `${first.content}\n\n${text}` }, ...rest];
}

function describeProtocol(tools: readonly ToolOffer[], isRequired: boolean): string {
  const lines = tools.map(({ name, description, parameters }) => {
    return `- ${name}: ${description}\n  args: ${JSON.stringify(parameters)}`;
  });
  return [
    "You can use tools. To call some, end your message with one block of exactly this form:",
    TOOL_CALLS_BEGIN,
    '[{"id":"t1","tool":"<name>","args":{}}]',
    TOOL_CALLS_END,
    "The block holds a JSON array and nothing else: no code fence, no comment. Each id is used once in a message. The",
    "calls run in order, and each result comes back as a message of the role tool: {id, tool, ok, output, error}. Say",
    "nothing about a result before you have it. Without a block, your message is the answer to the user.",
    ...(isRequired ? ["This task requires a tool: answer only after you have called one."] : []),
    "",
    "Tools:",
    ...lines,
  ].join("\n");
}
