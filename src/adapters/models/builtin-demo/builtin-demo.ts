/**
 * `builtin:demo`: a model without a model, so that a newcomer sees runs, approvals, journal and replay at once.
 *
 * D1. Deterministic: the answer is a function of the request, and of nothing before the last user message.
 * D2. It asks for tools only when they are offered, and at most once a message: what follows a result is an answer.
 * D3. It says what it is, and never that something was done which was not.
 * D4. A dictation (`surety conformance`) it follows to the letter: it calls what is listed, with what stands beside it, and
 *     repeats the words it is given, which are the user's own. So it passes by doing what any model must do, and by no rule
 *     about single cases.
 * D5. It stops where the request's limit of tokens is reached, be it within a call, and says so.
 */
import { readDictation } from "../../../assistant/conformance/dictation.ts";
import { escapeMarkers } from "../../../kernel/protocol/escape-markers.ts";
import { NOTES_BEGIN, NOTES_END } from "../../../kernel/protocol/markers.ts";
import type { RawToolCall } from "../../../kernel/protocol/raw-model-output.ts";
import { encodeToolName } from "../../../kernel/protocol/tool-names.ts";
import type { ModelBackend, ModelReply, ModelRequest, PromptMessage } from "../../../runtime/ports/model-backend.ts";
import { fault } from "../provider-fault.ts";
import { fieldsOf } from "../read-fields.ts";
import { requestsFor } from "./ask-permission.ts";
import { findFileName, readWish, type Wish } from "./read-wish.ts";
import { talkAbout } from "./small-talk.ts";
import { tellImages } from "./tell-images.ts";
import { type FormattedCall, formatToolResult } from "./tell-result.ts";

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
        ? { content: "", calls: reaction.wishes.map((wish, index) => callOf(request, wish, index)) }
        : // Files and results may hold markers; in a model's own text they would mean something.
          { content: escapeMarkers(reaction.text) + reaction.notes, calls: [] };
    const said = withinLimit(whole, request.maxOutputTokens * CHARS_PER_TOKEN);
    const pieces = onText === null || said.content === "" ? [said.content] : piecesOf(said.content);
    if (said.content !== "") for (const piece of pieces) onText?.(piece);
    return Promise.resolve(reply(request, said, pieces.length));
  },
};

type Reaction =
  | { readonly kind: "call"; readonly wishes: readonly Wish[] }
  /** `notes`: a block for the runtime, seen by nobody else; may be empty. */
  | { readonly kind: "say"; readonly text: string; readonly notes: string };

function react(request: ModelRequest): Reaction {
  const { messages, tools, toolChoice } = request;
  const asked = messages.findLast((message) => message.role === "user");
  const { content: message, images = [] } = asked ?? { content: "" };
  const results = resultsSince({ messages });
  const dictation = readDictation(message);
  const offered = toolChoice === "none" ? [] : tools.map(({ name }) => name);
  if (dictation !== null && (results.length > 0 || dictation.calls.length === 0)) {
    return { kind: "say", text: dictation.answer, notes: notesOf(dictation.notes) };
  }
  if (results.length > 0)
    return { kind: "say", text: results.map(formatToolResult).join("\n\n"), notes: requestsFor(results) };
  if (dictation !== null) return callOffered(dictation.calls, offered);
  const wish = readWish(message) ?? (toolChoice === "required" ? nearestWish(message, offered) : null);
  if (wish !== null) return callOffered([wish], offered);
  return { kind: "say", text: images.length > 0 ? tellImages(images) : talkAbout(message, offered), notes: "" };
}

function callOffered(wishes: readonly Wish[], offered: readonly string[]): Reaction {
  const lacking = wishes.find(({ tool }) => !offered.includes(tool));
  if (lacking === undefined) return { kind: "call", wishes };
  const text = `That needs the tool ${lacking.tool}, which this run does not offer, so nothing was done. \`surety tools ls\` shows the tools there are.`;
  return { kind: "say", text, notes: "" };
}

function notesOf(notes: object | null): string {
  return notes === null ? "" : `\n${NOTES_BEGIN}\n${JSON.stringify(notes)}\n${NOTES_END}`;
}

/** Where a call is demanded and no rule fits, looking does no harm. */
function nearestWish(message: string, offered: readonly string[]): Wish | null {
  const path = findFileName(message);
  if (path !== null && offered.includes("fs.read_text")) return { tool: "fs.read_text", args: { path } };
  return offered.includes("fs.list_dir") ? { tool: "fs.list_dir", args: { path: "." } } : null;
}

/** What became of the calls that the last user message led to. */
function resultsSince({ messages: all }: { readonly messages: readonly PromptMessage[] }): readonly FormattedCall[] {
  const messages = all.slice(all.findLastIndex(({ role }) => role === "user") + 1);
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
  return messages.flatMap((message) => {
    if (message.role !== "tool") return [];
    const argumentsText = calls.find(({ id }) => id === message.callId)?.argumentsText;
    return [{ tool: message.tool, args: readArgs(argumentsText), result: message.content }];
  });
}

function readArgs(argumentsText: string | undefined): Readonly<Record<string, unknown>> {
  try {
    return fieldsOf(JSON.parse(argumentsText ?? "{}")) ?? {};
  } catch {
    return {};
  }
}

function callOf({ messages }: ModelRequest, { tool, args }: Wish, index: number): RawToolCall {
  const earlier = messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
  const id = `demo_${earlier.length + index + 1}`;
  return { id, name: encodeToolName(tool), argumentsText: JSON.stringify(args) };
}

interface Said {
  readonly content: string;
  readonly calls: readonly RawToolCall[];
  readonly isCut: boolean;
}

/** As a server cuts what grows too long: where it stands. */
function withinLimit({ content, calls }: Omit<Said, "isCut">, maxChars: number): Said {
  let left = maxChars - content.length;
  if (left < 0) return { content: content.slice(0, maxChars).toWellFormed(), calls: [], isCut: true };
  const kept: RawToolCall[] = [];
  for (const call of calls) {
    if (call.argumentsText.length > left) {
      const argumentsText = call.argumentsText.slice(0, left).toWellFormed();
      return { content, calls: [...kept, { ...call, argumentsText }], isCut: true };
    }
    left -= call.argumentsText.length;
    kept.push(call);
  }
  return { content, calls: kept, isCut: false };
}

function reply(request: ModelRequest, { content, calls, isCut }: Said, chunks: number): ModelReply {
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

/** A few, cut between words, that make up the text. */
function piecesOf(text: string): readonly string[] {
  const words = text.match(/\s*\S+\s*/g) ?? [text];
  const size = Math.ceil(words.length / MAX_PIECES);
  const pieces: string[] = [];
  for (let at = 0; at < words.length; at += size) pieces.push(words.slice(at, at + size).join(""));
  return pieces;
}
