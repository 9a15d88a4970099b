/**
 * An answer of OpenAI's chat completions, put together from the pieces of a stream or read whole. A pure reducer: it
 * takes the payload of one event after another and judges nothing of what the model wrote.
 *
 * C1. An answer is complete when the provider said so (`[DONE]`) or named a finish reason and then ended the response
 *     properly. What broke off before is marked, whatever stands in it.
 * C2. A fragment joins the call it belongs to, by index or by id, and none is lost: what belongs to no call opens one.
 * C3. What is not this protocol makes the answer unreadable for good: no later piece mends it.
 * C4. Of several finish reasons the one that tells of a cut stays.
 */
import { isCut, type RawModelOutput, type RawToolCall } from "../../../kernel/protocol/raw-model-output.ts";
import type { ModelUsage } from "../../../runtime/ports/model-backend.ts";
import { entriesOf, fieldsOf, textOf } from "../read-fields.ts";
import { readUsage } from "../read-usage.ts";

/** Far beyond what a model proposes at once; copying the list for each fragment stays cheap. */
const MAX_CALLS = 256;

interface CallDraft extends RawToolCall {
  readonly index: number | null;
}

export interface ChatAnswer {
  readonly content: string;
  readonly calls: readonly CallDraft[];
  readonly stopReason: string;
  readonly model: string;
  readonly usage: ModelUsage | null;
  /** Pieces that held something of the answer. */
  readonly pieces: number;
  readonly isDone: boolean;
  /** The provider told of an error within its stream. */
  readonly hasFailed: boolean;
  readonly isUnreadable: boolean;
}

export const EMPTY_ANSWER: ChatAnswer = {
  content: "",
  calls: [],
  stopReason: "",
  model: "",
  usage: null,
  pieces: 0,
  isDone: false,
  hasFailed: false,
  isUnreadable: false,
};

const DONE = "[DONE]";

/** Takes the payload of one event of the stream. */
export function stepAnswer(answer: ChatAnswer, payload: string): ChatAnswer {
  if (answer.isDone || answer.hasFailed || answer.isUnreadable) return answer;
  if (payload.trim() === DONE) return { ...answer, isDone: true };
  return addDocument(answer, payload, "delta");
}

/** Reads a response that was not streamed. */
export function readAnswer(body: string): ChatAnswer {
  return { ...addDocument(EMPTY_ANSWER, body, "message"), isDone: true };
}

export function rawOutputOf(answer: ChatAnswer, hasEnded: boolean): RawModelOutput {
  const { content, stopReason, model } = answer;
  return {
    content,
    toolCalls: answer.calls.map(({ id, name, argumentsText }) => ({ id, name, argumentsText })),
    stopReason,
    model,
    complete: !answer.hasFailed && (answer.isDone || (hasEnded && stopReason !== "")),
  };
}

function addDocument(answer: ChatAnswer, text: string, part: "delta" | "message"): ChatAnswer {
  const document = fieldsOf(parse(text));
  if (document === null) return { ...answer, isUnreadable: true };
  if (fieldsOf(document["error"]) !== null) return { ...answer, hasFailed: true };
  const usage = fieldsOf(document["usage"]);
  const told: ChatAnswer = {
    ...answer,
    model: answer.model || textOf(document["model"]),
    usage: usage === null ? answer.usage : readUsage(usage["prompt_tokens"], usage["completion_tokens"]),
  };
  // One answer was asked for; a server that sends more is heard for the first.
  const choice = fieldsOf(entriesOf(document["choices"])[0]);
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

function joinReasons(known: string, next: string): string {
  if (known === "" || next === "") return known || next;
  return isCut({ ...rawOutputOf(EMPTY_ANSWER, true), stopReason: next }) ? next : known;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
