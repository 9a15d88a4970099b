/**
 * An answer of OpenAI's chat completions, put together from the pieces of a stream or read whole. A pure reducer: it
 * takes the payload of one event after another and judges nothing of what the model wrote.
 *
 * C1. An answer is complete when the provider said so (`[DONE]`) or named a finish reason and then ended the response
 *     properly. What broke off before is marked, whatever stands in it.
 * C2. A fragment joins the call it belongs to, by index or by id, and none is lost: what belongs to no call opens one.
 * C3. What is not this protocol makes the answer unreadable for good: no later piece mends it.
 * C4. Of several finish reasons the one that tells of a cut stays.
 * C5. A refusal is what the model answered, and one without words is said in ours; its reasoning is not, nor is what stands
 *     beside a call (`chat-thoughts.ts`).
 */
import type { RawModelOutput, RawToolCall } from "../../../kernel/protocol/raw-model-output.ts";
import type { ModelUsage } from "../../../runtime/ports/model-backend.ts";
import { type AnswerDraft, type AnswerProtocol, EMPTY_DRAFT, joinReasons, REFUSED } from "../answer-draft.ts";
import { fault } from "../provider-fault.ts";
import { entriesOf, fieldsOf, parseFields, textOf } from "../read-fields.ts";
import { readUsage } from "../read-usage.ts";
import {
  addExtra,
  addThoughts,
  type ChatThoughts,
  type Extra,
  extraIn,
  NO_THOUGHTS,
  reasoningIn,
  sealedChars,
  thoughtsOf,
} from "./chat-thoughts.ts";

/** Far beyond what a model proposes at once; copying the list for each fragment stays cheap. */
const MAX_CALLS = 256;

interface CallDraft extends RawToolCall {
  readonly index: number | null;
  readonly extra: Extra;
}

interface ChatAnswer extends AnswerDraft {
  readonly calls: readonly CallDraft[];
  readonly thoughts: ChatThoughts;
}

const EMPTY: ChatAnswer = { ...EMPTY_DRAFT, calls: [], thoughts: NO_THOUGHTS };
const DONE = "[DONE]";
const FILTERED = "content_filter";

export const CHAT_ANSWER: AnswerProtocol<ChatAnswer> = {
  empty: EMPTY,
  step: (answer, payload) =>
    payload.trim() === DONE ? { ...answer, isDone: true } : addDocument(answer, payload, "delta"),
  readWhole: (body) => ({ ...addDocument(EMPTY, body, "message"), isDone: true }),
  rawOutputOf,
  thoughtsOf: ({ thoughts, reasoning, calls }) =>
    thoughtsOf(
      thoughts,
      reasoning,
      calls.map(({ extra }) => extra),
    ),
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
  const counts = fieldsOf(document["usage"]) ?? fieldsOf(choice?.["usage"]);
  const model = answer.model || textOf(document["model"]);
  const usage = counts === null ? answer.usage : usageOf(counts);
  return choice === null || (choice["index"] ?? 0) !== 0
    ? { ...answer, model, usage }
    : addChoice(answer, model, usage, choice, part);
}

/** Where reasoning is billed apart from the completion (xAI), only the total tells of it. */
function usageOf({ prompt_tokens, completion_tokens, total_tokens }: Record<string, unknown>): ModelUsage | null {
  const told = readUsage([prompt_tokens], completion_tokens);
  const whole = readUsage([total_tokens], 0);
  if (told === null || whole === null) return told;
  return { ...told, outputTokens: Math.max(told.outputTokens, whole.inputTokens - told.inputTokens) };
}

/** Said in full: of a long answer a copy is made for every few letters, and to copy a copy takes twice as long. */
function addChoice(
  answer: ChatAnswer,
  model: string,
  usage: ModelUsage | null,
  choice: Record<string, unknown>,
  part: "delta" | "message",
): ChatAnswer {
  const message = fieldsOf(choice[part]) ?? {};
  const told = entriesOf(message["tool_calls"]);
  const entries = told.length > MAX_CALLS ? told.slice(0, MAX_CALLS + 1) : told;
  const calls = entries.length === 0 ? answer.calls : addFragments(answer.calls, entries, part);
  const finish = textOf(choice["finish_reason"]);
  const said = readContent(message["content"]) + textOf(message["refusal"]);
  const isMute = finish === FILTERED && calls.length === 0 && (answer.content + said).trim() === "";
  const added = isMute ? REFUSED : said;
  const reasoning = reasoningIn(message);
  const called = entries.length === 0 ? 0 : charsOf(calls) - charsOf(answer.calls);
  return {
    content: answer.content + added,
    added,
    reasoning: answer.reasoning + reasoning,
    stopReason: joinReasons(answer.stopReason, finish),
    model,
    usage,
    chars: answer.chars + added.length + reasoning.length + called + sealedChars(message, entries),
    pieces: answer.pieces + 1,
    isDone: answer.isDone,
    failure: answer.failure,
    isUnreadable: Math.max(entries.length, calls.length) > MAX_CALLS,
    calls,
    thoughts: addThoughts(answer.thoughts, message, part === "message"),
  };
}

function addFragments(
  calls: readonly CallDraft[],
  entries: readonly unknown[],
  part: "delta" | "message",
): readonly CallDraft[] {
  return entries.reduce<readonly CallDraft[]>((known, value, place) => {
    // Read whole, each entry is a call of its own; in pieces, the entry says which call it is about.
    return addFragment(known, value, part === "message" ? place : null);
  }, calls);
}

/** A text, or a list of parts of which those with a text count. */
function readContent(content: unknown): string {
  if (typeof content === "string") return content;
  if (content === undefined || content === null) return "";
  return entriesOf(content)
    .map((part) => textOf(fieldsOf(part)?.["text"]))
    .join("");
}

function charsOf(calls: readonly CallDraft[]): number {
  return calls.reduce(
    (sum, { id, name, argumentsText }) => sum + (id?.length ?? 0) + name.length + argumentsText.length,
    0,
  );
}

function addFragment(calls: readonly CallDraft[], value: unknown, place: number | null): readonly CallDraft[] {
  const fragment = fieldsOf(value) ?? {};
  const written = fieldsOf(fragment["function"]) ?? {};
  const index = place ?? (typeof fragment["index"] === "number" ? fragment["index"] : null);
  const id = textOf(fragment["id"]) || null;
  const name = textOf(written["name"]);
  const argumentsText = readArguments(written["arguments"]);
  const extra = extraIn(fragment);
  const at = findCall(calls, index, id, name);
  const call = calls[at];
  if (call === undefined) return [...calls, { index, id, name, argumentsText, extra }];
  return calls.with(at, {
    index: call.index,
    id: call.id ?? id,
    // Some servers write the name in pieces, some repeat it whole.
    name: name === call.name ? name : call.name + name,
    argumentsText: call.argumentsText + argumentsText,
    extra: addExtra(call.extra, extra),
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
