/**
 * Assembles an answer of OpenAI's chat completions from stream events, or reads it whole. A pure reducer: it takes one
 * payload after another and does not judge what the model wrote.
 *
 * C1. An answer is complete when the provider sent `[DONE]`, or gave a finish reason and ended the response properly.
 *     Anything shorter is marked incomplete.
 * C2. A fragment joins its call, by index or id; a fragment that matches no call opens one. None is lost.
 * C3. A payload that is not this protocol makes the answer unreadable for good.
 * C4. Of several finish reasons, one that says the answer was cut takes precedence.
 * C5. A refusal is the answer; one without text gets ours. Reasoning, and what accompanies a call, is not part of the
 *     answer (`chat-reasoning.ts`).
 */
import type { RawModelOutput, RawToolCall } from "../../../kernel/protocol/raw-model-output.ts";
import type { ModelUsage } from "../../../runtime/ports/model-backend.ts";
import { type AnswerDraft, type AnswerProtocol, EMPTY_DRAFT, joinReasons, REFUSED } from "../answer-draft.ts";
import { fault, inWords, wordsOfBody } from "../provider-fault.ts";
import { entriesOf, fieldsOf, parseFields, readUsage, textOf } from "../wire-fields.ts";
import {
  addExtra,
  addReasoning,
  type ChatReasoning,
  type Extra,
  extraIn,
  NO_REASONING,
  opaqueChars,
  reasoningIn,
  thoughtsOf,
} from "./chat-reasoning.ts";

/** Far more than a model proposes at once; the list is copied for each fragment. */
const MAX_CALLS = 256;

interface CallDraft extends RawToolCall {
  readonly index: number | null;
  readonly extra: Extra;
}

interface ChatAnswer extends AnswerDraft {
  readonly calls: readonly CallDraft[];
  readonly thoughts: ChatReasoning;
}

const EMPTY: ChatAnswer = { ...EMPTY_DRAFT, calls: [], thoughts: NO_REASONING };
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
  if (fieldsOf(document["error"]) !== null)
    return { ...answer, failure: inWords(fault("provider.failed"), wordsOfBody(text)) };
  // One answer was requested; further choices are ignored.
  const choice = fieldsOf(entriesOf(document["choices"])[0]);
  // Moonshot reports usage within the choice.
  const counts = fieldsOf(document["usage"]) ?? fieldsOf(choice?.["usage"]);
  const model = answer.model || textOf(document["model"]);
  const usage = counts === null ? answer.usage : usageOf(counts);
  return choice === null || (choice["index"] ?? 0) !== 0
    ? { ...answer, model, usage }
    : addChoice(answer, model, usage, choice, part);
}

/** xAI bills reasoning separately from the completion: only the total includes it. */
function usageOf({ prompt_tokens, completion_tokens, total_tokens }: Record<string, unknown>): ModelUsage | null {
  const usage = readUsage([prompt_tokens], completion_tokens);
  const total = readUsage([total_tokens], 0);
  if (usage === null || total === null) return usage;
  return { ...usage, outputTokens: Math.max(usage.outputTokens, total.inputTokens - usage.inputTokens) };
}

function addChoice(
  answer: ChatAnswer,
  model: string,
  usage: ModelUsage | null,
  choice: Record<string, unknown>,
  part: "delta" | "message",
): ChatAnswer {
  const message = fieldsOf(choice[part]) ?? {};
  const entries = entriesOf(message["tool_calls"]).slice(0, MAX_CALLS + 1);
  const calls = addFragments(answer.calls, entries, part);
  const finish = textOf(choice["finish_reason"]);
  const text = readContent(message["content"]) + textOf(message["refusal"]);
  const isSilent = finish === FILTERED && calls.length === 0 && (answer.content + text).trim() === "";
  const added = isSilent ? REFUSED : text;
  const reasoning = reasoningIn(message);
  const called = entries.length === 0 ? 0 : charsOf(calls) - charsOf(answer.calls);
  return {
    ...answer,
    content: answer.content + added,
    added,
    reasoning: answer.reasoning + reasoning,
    stopReason: joinReasons(answer.stopReason, finish),
    model,
    usage,
    chars: answer.chars + added.length + reasoning.length + called + opaqueChars(message, entries),
    pieces: answer.pieces + 1,
    isUnreadable: Math.max(entries.length, calls.length) > MAX_CALLS,
    calls,
    thoughts: addReasoning(answer.thoughts, message, part === "message"),
  };
}

function addFragments(
  calls: readonly CallDraft[],
  entries: readonly unknown[],
  part: "delta" | "message",
): readonly CallDraft[] {
  return entries.reduce<readonly CallDraft[]>((known, value, place) => {
    // In a whole message each entry is a call; in a stream the entry names its call.
    return addFragment(known, value, part === "message" ? place : null);
  }, calls);
}

/** A text, or a list of parts; parts without text are ignored. */
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
    // Some servers send the name in pieces, some repeat it.
    name: name === call.name ? name : call.name + name,
    argumentsText: call.argumentsText + argumentsText,
    extra: addExtra(call.extra, extra),
  });
}

/** The call that a fragment continues; -1 when it opens one. Some servers number every call 0, or none. */
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
