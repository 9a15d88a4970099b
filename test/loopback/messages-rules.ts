/**
 * What Anthropic's Messages API demands of a request, as far as a client can break it:
 * https://platform.claude.com/docs/en/api/messages and the pages on tool use and thinking beside it.
 */
import { isSealed } from "./thought-seal.ts";

export interface MessagesRequestBody {
  readonly model: string;
  readonly system?: string;
  readonly messages: readonly { readonly role: string; readonly content: readonly ContentBlock[] }[];
  readonly tools?: readonly { readonly name: string; readonly input_schema: { readonly type?: unknown } }[];
  readonly tool_choice?: { readonly type: string };
  readonly max_tokens?: number;
  readonly thinking?: { readonly type: string; readonly budget_tokens?: number };
  readonly output_config?: { readonly effort?: string };
  readonly stream?: boolean;
}

export interface ContentBlock {
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
  readonly name?: string;
  readonly input?: unknown;
  readonly tool_use_id?: string;
  readonly content?: string;
  readonly thinking?: string;
  readonly signature?: string;
  readonly data?: string;
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** The first rule that is broken, in words; null where all are kept. */
export function findBrokenRule(body: MessagesRequestBody): string | null {
  const broken = [
    ...(Number.isInteger(body.max_tokens) ? [] : ["max_tokens: field required"]),
    ...(body.system?.trim() === "" ? ["system: text must not be blank"] : []),
    ...brokenTurns(body),
    ...brokenTools(body),
    ...brokenThinking(body),
    ...brokenThoughts(body),
  ];
  return broken[0] ?? null;
}

function brokenTurns({ messages }: MessagesRequestBody): readonly string[] {
  if (messages[0]?.role !== "user") return ["messages: first message must use the user role"];
  return messages.flatMap(({ role, content }, at) => {
    const called = usesIn(messages[at - 1]?.content ?? []);
    const answered = content.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id ?? ""] : []));
    const blank = content.some(({ type, text }) => type === "text" && (text ?? "").trim() === "");
    return [
      ...(role === "user" || role === "assistant" ? [] : [`messages.${at}: role ${role}`]),
      ...(content.length === 0 ? [`messages.${at}: content must not be empty`] : []),
      ...(blank ? [`messages.${at}: text must not be blank`] : []),
      ...(called.every((id) => answered.includes(id)) ? [] : [`messages.${at}: tool_use without tool_result`]),
      ...(answered.every((id) => called.includes(id)) ? [] : [`messages.${at}: tool_result without tool_use`]),
      ...(usesIn(content).every((id) => NAME.test(id)) ? [] : [`messages.${at}: tool_use id`]),
    ];
  });
}

function brokenTools({ messages, tools = [], tool_choice }: MessagesRequestBody): readonly string[] {
  const hasUses = messages.some(({ content }) => usesIn(content).length > 0);
  return [
    ...(hasUses && tools.length === 0 ? ["tools: tool_use blocks need tools"] : []),
    ...(tools.length === 0 && tool_choice !== undefined ? ["tool_choice: may only be said with tools"] : []),
    ...(tools.every(({ name }) => NAME.test(name)) ? [] : ["tools: name"]),
    ...(tools.every(({ input_schema }) => input_schema.type === "object") ? [] : ["tools: input_schema.type"]),
    ...(["auto", "any", "none", undefined].includes(tool_choice?.type) ? [] : ["tool_choice: type"]),
  ];
}

function brokenThinking({ messages, thinking, tool_choice, max_tokens = 0 }: MessagesRequestBody): readonly string[] {
  if (thinking === undefined || thinking.type === "disabled") return [];
  const { type, budget_tokens = 0 } = thinking;
  const begun = turnIn(messages)[0]?.content ?? [];
  const isMissing = usesIn(begun).length > 0 && !isThought(begun[0]);
  return [
    ...(tool_choice?.type === "any" ? ["thinking: not with a tool_choice that forces a tool"] : []),
    ...(type === "enabled" && (budget_tokens < 1_024 || budget_tokens >= max_tokens)
      ? ["thinking: budget_tokens"]
      : []),
    ...(type === "enabled" && isMissing ? ["messages: expected thinking before tool_use"] : []),
  ];
}

/** Thoughts come back as they were given, before what they led to, and not where there is to be no thinking. */
function brokenThoughts({ messages, thinking }: MessagesRequestBody): readonly string[] {
  const thoughts = messages.flatMap(({ content }) => content.filter(isThought));
  const isLast = messages.some(({ content }) => isThought(content.at(-1)));
  const isUnwanted = thinking?.type === "disabled" && turnIn(messages).some(({ content }) => content.some(isThought));
  return [
    ...(thoughts.every(isSealed) ? [] : ["messages: invalid signature in thinking block"]),
    ...(isLast ? ["messages: the final block may not be thinking"] : []),
    ...(isUnwanted ? ["messages: thinking blocks while thinking is disabled"] : []),
  ];
}

/** What the model has said since a person last said something: results are no such thing. */
function turnIn(messages: MessagesRequestBody["messages"]): MessagesRequestBody["messages"] {
  const asked = messages.findLastIndex(
    ({ role, content }) => role === "user" && content.some(({ type }) => type !== "tool_result"),
  );
  return messages.slice(asked + 1).filter(({ role }) => role === "assistant");
}

function isThought(block: ContentBlock | undefined): boolean {
  return block?.type === "thinking" || block?.type === "redacted_thinking";
}

function usesIn(content: readonly ContentBlock[]): readonly string[] {
  return content.flatMap(({ type, id }) => (type === "tool_use" ? [id ?? ""] : []));
}
