/**
 * An answer of OpenAI's chat completions, put together from the pieces of a stream or read whole. A pure reducer: it
 * takes the payload of one event after another and judges nothing of what the model wrote.
 *
 * C1. An answer is complete when the provider said so (`[DONE]`) or named a finish reason and then ended the response
 *     properly. What broke off before is marked, whatever stands in it.
 * C2. A fragment joins the call it belongs to, by index or by id, and none is lost: what belongs to no call opens one.
 * C3. What is not this protocol makes the answer unreadable for good: no later piece mends it.
 * C4. Of several finish reasons the one that tells of a cut stays.
 * C5. A refusal is what the model answered; its reasoning is not.
 */
import type { RawModelOutput, RawToolCall } from "../../../kernel/protocol/raw-model-output.ts";
import { type AnswerDraft, type AnswerProtocol, EMPTY_DRAFT, joinReasons } from "../answer-draft.ts";
import { fault } from "../provider-fault.ts";
import { entriesOf, fieldsOf, parseFields, textOf } from "../read-fields.ts";
import { readUsage } from "../read-usage.ts";
import { addThoughts, type ChatThoughts, NO_THOUGHTS, reasoningIn, thoughtsOf } from "./chat-thoughts.ts";

/** Far beyond what a model proposes at once; copying the list for each fragment stays cheap. */
const MAX_CALLS = 256;

interface CallDraft extends RawToolCall {
  readonly index: number | null;
}

interface ChatAnswer extends AnswerDraft {
  readonly calls: readonly CallDraft[];
  readonly thoughts: ChatThoughts;
}

const EMPTY: ChatAnswer = { ...EMPTY_DRAFT, calls: [], thoughts: NO_THOUGHTS };
const DONE = "[DONE]";

export const CHAT_ANSWER: AnswerProtocol<ChatAnswer> = {
  empty: EMPTY,
  step: (answer, payload) =>
    payload.trim() === DONE ? { ...answer, isDone: true } : addDocument(answer, payload, "delta"),
  readWhole: (body) => ({ ...addDocument(EMPTY, body, "message"), isDone: true }),
  rawOutputOf,
  thoughtsOf: ({ thoughts, reasoning }) => thoughtsOf(thoughts, reasoning),
};

function rawOutputOf(
  { content, calls, stopReason, model, failure, isDone }: ChatAnswer,
  hasEnded: boolean,
): RawModelOutput {
  return {
    content,
    toolCalls: calls.map(({ id, name, argumentsText }) => ({ id, name, argumentsText })),
    stopReason,
    model,
    complete: failure === null && (isDone || (hasEnded && stopReason !== "")),
  };
}

function addDocument(answer: ChatAnswer, text: string, part: "delta" | "message"): ChatAnswer {
  const document = parseFields(text);
  if (document === null) return { ...answer, isUnreadable: true };
  if (fieldsOf(document["error"]) !== null) return { ...answer, failure: fault("provider.failed") };
  // One answer was asked for; a server that sends more is heard for the first.
  const choice = fieldsOf(entriesOf(document["choices"])[0]);
  // Moonshot tells it within the choice.
  const usage = fieldsOf(document["usage"]) ?? fieldsOf(choice?.["usage"]);
  const told: ChatAnswer = {
    ...answer,
    model: answer.model || textOf(document["model"]),
    usage: usage === null ? answer.usage : readUsage([usage["prompt_tokens"]], usage["completion_tokens"]),
  };
  return choice === null || (choice["index"] ?? 0) !== 0 ? told : addChoice(told, choice, part);
}

function addChoice(answer: ChatAnswer, choice: Record<string, unknown>, part: "delta" | "message"): ChatAnswer {
  const message = fieldsOf(choice[part]) ?? {};
  const calls = entriesOf(message["tool_calls"]).reduce<readonly CallDraft[]>((known, value, place) => {
    // Read whole, each entry is a call of its own; in pieces, the entry says which call it is about.
    return addFragment(known, value, part === "message" ? place : null);
  }, answer.calls);
  return {
    ...answer,
    content: answer.content + readContent(message["content"]) + textOf(message["refusal"]),
    reasoning: answer.reasoning + reasoningIn(message),
    thoughts: addThoughts(answer.thoughts, message, part === "message"),
    calls,
    stopReason: joinReasons(answer.stopReason, textOf(choice["finish_reason"])),
    pieces: answer.pieces + 1,
    isUnreadable: calls.length > MAX_CALLS,
  };
}

/** A text, or a list of parts of which those with a text count. */
function readContent(content: unknown): string {
  if (typeof content === "string") return content;
  return entriesOf(content)
    .map((part) => textOf(fieldsOf(part)?.["text"]))
    .join("");
}

function addFragment(calls: readonly CallDraft[], value: unknown, place: number | null): readonly CallDraft[] {
  const fragment = fieldsOf(value) ?? {};
  const written = fieldsOf(fragment["function"]) ?? {};
  const index = place ?? (typeof fragment["index"] === "number" ? fragment["index"] : null);
  const id = textOf(fragment["id"]) || null;
  const name = textOf(written["name"]);
  const argumentsText = readArguments(written["arguments"]);
  const at = findCall(calls, index, id, name);
  const call = calls[at];
  if (call === undefined) return [...calls, { index, id, name, argumentsText }];
  return calls.with(at, {
    index: call.index,
    id: call.id ?? id,
    // Some servers write the name in pieces, some repeat it whole.
    name: name === call.name ? name : call.name + name,
    argumentsText: call.argumentsText + argumentsText,
  });
}

/** Which call a fragment continues; -1 when it opens one. Some servers number every call 0, or none. */
function findCall(calls: readonly CallDraft[], index: number | null, id: string | null, name: string): number {
  if (index !== null) {
    return calls.findLastIndex((call) => call.index === index && (id === null || (call.id ?? id) === id));
  }
  if (id !== null) return calls.findLastIndex((call) => call.id === id);
  return name === "" ? calls.length - 1 : -1;
}

/** Some servers parse the arguments before they send them. */
function readArguments(value: unknown): string {
  return typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value);
}
