/**
 * `builtin:demo`: a few rules instead of a model, so that a newcomer sees runs, approvals, journal and replay at once.
 *
 * D1. Deterministic: the answer depends only on the request, and on nothing before the last user message but the memories that
 *     were retrieved for it.
 * D2. It calls only offered tools, and at most once per user message: after a result it answers. For a reminder at a time of
 *     day it asks for the time first.
 * D3. It says what it is, and never claims that something was done which was not.
 * D4. It follows a dictation (`surety conformance`) literally: it makes the listed calls with the listed arguments and
 *     repeats the given words. It has no rules for single conformance cases.
 * D5. It stops at the request's token limit, even within a call, and says so.
 */
import { readDictation } from "../../../assistant/conformance/dictation.ts";
import { escapeMarkers } from "../../../kernel/protocol/escape-markers.ts";
import { NOTES_BEGIN, NOTES_END } from "../../../kernel/protocol/markers.ts";
import type { RawToolCall } from "../../../kernel/protocol/raw-model-output.ts";
import { encodeToolName } from "../../../kernel/protocol/tool-names.ts";
import { getOutputSummaryPrompt, getSummaryPrompt } from "../../../prompts/summary-prompt.ts";
import type { ModelBackend, ModelReply, ModelRequest, PromptMessage } from "../../../runtime/ports/model-backend.ts";
import { fault } from "../provider-fault.ts";
import { fieldsOf, textOf } from "../wire-fields.ts";
import { type CompletedCall, capabilityRequests, describeResult } from "./describe-result.ts";
import { extractOutput, extractSummary } from "./extract-summary.ts";
import { scheduleOf } from "./local-reminder.ts";
import { findFileName, findReminder, type Intent, parseIntent } from "./parse-intent.ts";
import { recall } from "./recall.ts";
import { describeImages, smallTalk } from "./small-talk.ts";
import { parseDelegation, readTypedTask, type TypedTask, typedAnswer } from "./sub-agents.ts";

export const DEMO_MODEL = "demo";
const BUILT_IN = "built in: no network, no key";
const MAX_PIECES = 4;
const CHARS_PER_TOKEN = 4;

export const builtinDemo: ModelBackend = {
  check: () => Promise.resolve({ responsive: true, detail: BUILT_IN }),
  inspect: () => Promise.resolve({ ok: true, detail: BUILT_IN }),
  complete(request, { signal, onText }) {
    if (signal.aborted) return Promise.resolve(fault("provider.cancelled"));
    const reaction = react(request);
    const whole =
      reaction.kind === "call"
        ? { content: "", calls: reaction.intents.map((intent, index) => callOf(request, intent, index)) }
        : // Files and results may contain markers, which have a meaning in a model's own text.
          { content: escapeMarkers(reaction.text) + reaction.notes, calls: [] };
    const answer = withinLimit(whole, request.maxOutputTokens * CHARS_PER_TOKEN);
    const pieces = onText === null || answer.content === "" ? [answer.content] : piecesOf(answer.content);
    if (answer.content !== "") for (const piece of pieces) onText?.(piece);
    return Promise.resolve(reply(request, answer, pieces.length));
  },
};

type DemoReaction =
  | { readonly kind: "call"; readonly intents: readonly Intent[] }
  /** `notes`: a block that only the runtime reads; may be empty. */
  | { readonly kind: "say"; readonly text: string; readonly notes: string };

function react(request: ModelRequest): DemoReaction {
  const { messages, tools, toolChoice } = request;
  const asked = messages.findLast((message) => message.role === "user");
  const { content: message, images = [] } = asked ?? { content: "" };
  if (messages[0]?.content === getSummaryPrompt().content)
    return { kind: "say", text: extractSummary(message), notes: "" };
  if (messages[0]?.content === getOutputSummaryPrompt().content)
    return { kind: "say", text: extractOutput(message), notes: "" };
  const results = resultsSince({ messages });
  const dictation = readDictation(message);
  const offered = toolChoice === "none" ? [] : tools.map(({ name }) => name);
  if (dictation !== null && (results.length > 0 || dictation.calls.length === 0)) {
    return { kind: "say", text: dictation.answer, notes: notesOf(dictation.notes) };
  }
  const typed = readTypedTask(message);
  if (typed !== null) return reactTyped(typed, results, offered);
  const reminding = remind(message, results, offered);
  if (reminding !== null) return reminding;
  if (results.length > 0)
    return { kind: "say", text: results.map(describeResult).join("\n\n"), notes: capabilityRequests(results) };
  if (dictation !== null) return callOffered(dictation.calls, offered);
  const delegated = parseDelegation(message);
  if (delegated !== null) return callOffered(delegated, offered);
  const intent = parseIntent(message) ?? (toolChoice === "required" ? fallbackIntent(message, offered) : null);
  if (intent !== null) return callOffered([intent], offered);
  const recalled = recall(message, messages);
  if (recalled !== null) return { kind: "say", text: recalled, notes: "" };
  return { kind: "say", text: images.length > 0 ? describeImages(images) : smallTalk(message, offered), notes: "" };
}

/** As a sub-agent it calls what it may, and answers in the form that is demanded. */
function reactTyped(typed: TypedTask, results: readonly CompletedCall[], offered: readonly string[]): DemoReaction {
  const intent = results.length === 0 ? parseIntent(typed.task) : null;
  if (intent !== null && offered.includes(intent.tool)) return { kind: "call", intents: [intent] };
  return { kind: "say", text: typedAnswer(typed, results), notes: "" };
}

function remind(message: string, results: readonly CompletedCall[], offered: readonly string[]): DemoReaction | null {
  const reminder = findReminder(message);
  if (reminder === null) return null;
  if (results.length === 0) {
    const needed = offered.includes("schedule.add") ? "schedule.list" : "schedule.add";
    return callOffered([{ tool: needed, args: {} }], offered);
  }
  const [asked, added] = results;
  const output = fieldsOf(fieldsOf(readJson(asked?.result))?.["output"]);
  const schedule = scheduleOf(reminder, textOf(output?.["now"]), textOf(output?.["time_zone"]));
  const told = added ?? asked;
  if (schedule === null || added !== undefined || told === undefined) {
    return told === undefined ? null : { kind: "say", text: describeResult(told), notes: "" };
  }
  return callOffered([{ tool: "schedule.add", args: { schedule, message: reminder.message } }], offered);
}

function callOffered(intents: readonly Intent[], offered: readonly string[]): DemoReaction {
  const missing = intents.find(({ tool }) => !offered.includes(tool));
  if (missing === undefined) return { kind: "call", intents };
  const text = `That needs the tool ${missing.tool}, which this run does not offer, so nothing was done. \`surety tools ls\` shows the tools there are.`;
  return { kind: "say", text, notes: "" };
}

function notesOf(notes: object | null): string {
  return notes === null ? "" : `\n${NOTES_BEGIN}\n${JSON.stringify(notes)}\n${NOTES_END}`;
}

/** When a call is required and no rule matches, reading is harmless. */
function fallbackIntent(message: string, offered: readonly string[]): Intent | null {
  const path = findFileName(message);
  if (path !== null && offered.includes("fs.read_text")) return { tool: "fs.read_text", args: { path } };
  return offered.includes("fs.list_dir") ? { tool: "fs.list_dir", args: { path: "." } } : null;
}

/** The results of the calls since the last user message. */
function resultsSince({ messages: all }: { readonly messages: readonly PromptMessage[] }): readonly CompletedCall[] {
  const messages = all.slice(all.findLastIndex(({ role }) => role === "user") + 1);
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
  return messages.flatMap((message) => {
    if (message.role !== "tool") return [];
    const argumentsText = calls.find(({ id }) => id === message.callId)?.argumentsText;
    return [{ tool: message.tool, args: readArgs(argumentsText), result: message.content }];
  });
}

function readArgs(argumentsText: string | undefined): Readonly<Record<string, unknown>> {
  return fieldsOf(readJson(argumentsText)) ?? {};
}

function readJson(text = "{}"): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function callOf({ messages }: ModelRequest, { tool, args }: Intent, index: number): RawToolCall {
  const earlier = messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
  const id = `demo_${earlier.length + index + 1}`;
  return { id, name: encodeToolName(tool), argumentsText: JSON.stringify(args) };
}

interface DemoAnswer {
  readonly content: string;
  readonly calls: readonly RawToolCall[];
  readonly isCut: boolean;
}

/** Cuts at the limit, as a server does. */
function withinLimit({ content, calls }: Omit<DemoAnswer, "isCut">, maxChars: number): DemoAnswer {
  let left = maxChars - content.length;
  if (left < 0) return { content: content.slice(0, maxChars).toWellFormed(), calls: [], isCut: true };
  const fitting: RawToolCall[] = [];
  for (const call of calls) {
    if (call.argumentsText.length > left) {
      const argumentsText = call.argumentsText.slice(0, left).toWellFormed();
      return { content, calls: [...fitting, { ...call, argumentsText }], isCut: true };
    }
    left -= call.argumentsText.length;
    fitting.push(call);
  }
  return { content, calls: fitting, isCut: false };
}

function reply(request: ModelRequest, { content, calls, isCut }: DemoAnswer, chunks: number): ModelReply {
  const read = request.messages.reduce((sum, message) => sum + message.content.length, 0);
  const written = calls.reduce((sum, { argumentsText }) => sum + argumentsText.length, content.length);
  return {
    ok: true,
    raw: {
      content,
      toolCalls: calls,
      stopReason: isCut ? "length" : calls.length === 0 ? "stop" : "tool_calls",
      model: DEMO_MODEL,
      complete: true,
    },
    usage: { inputTokens: tokens(read), outputTokens: tokens(written) },
    stream: { chunks, firstMs: 0, lastMs: 0 },
  };
}

function tokens(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN);
}

/** At most MAX_PIECES, cut between words. */
function piecesOf(text: string): readonly string[] {
  const words = text.match(/\s*\S+\s*/g) ?? [text];
  const size = Math.ceil(words.length / MAX_PIECES);
  const pieces: string[] = [];
  for (let at = 0; at < words.length; at += size) pieces.push(words.slice(at, at + size).join(""));
  return pieces;
}
