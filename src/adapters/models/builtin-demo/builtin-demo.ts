/**
 * `builtin:demo`: a model without a model, so that a newcomer sees runs, approvals, journal and replay at once.
 *
 * D1. Deterministic: the answer is a function of the request, and of nothing before the last user message.
 * D2. It asks for a tool only when it is offered, and at most once a message: what follows a result is an answer.
 * D3. It says what it is, and never that something was done which was not.
 */
import { escapeMarkers } from "../../../kernel/protocol/escape-markers.ts";
import { encodeToolName } from "../../../kernel/protocol/tool-names.ts";
import type { ModelBackend, ModelReply, ModelRequest, PromptMessage } from "../../../runtime/ports/model-backend.ts";
import { fault } from "../provider-fault.ts";
import { fieldsOf } from "../read-fields.ts";
import { requestsFor } from "./ask-permission.ts";
import { findFileName, readWish, type Wish } from "./read-wish.ts";
import { talkAbout } from "./small-talk.ts";
import { type ToldCall, tellResult } from "./tell-result.ts";

export const DEMO_MODEL = "demo";
const MAX_PIECES = 4;
const CHARS_PER_TOKEN = 4;

export const builtinDemo: ModelBackend = {
  check: () => Promise.resolve({ responsive: true, detail: "built in: no network, no key" }),
  complete(request, { signal, onText }) {
    if (signal.aborted) return Promise.resolve(fault("provider.cancelled"));
    const reaction = react(request);
    if (typeof reaction !== "string") return Promise.resolve(callReply(request, reaction));
    // Files and results may hold markers; in a model's own text they would mean something.
    const content = escapeMarkers(reaction) + requestsFor(resultsSince(request));
    const pieces = onText === null ? [content] : piecesOf(content);
    for (const piece of pieces) onText?.(piece);
    return Promise.resolve(reply(request, content, pieces.length, null));
  },
};

/** What to say, or what to call. */
function react({ messages, tools, toolChoice }: ModelRequest): string | Wish {
  const message = messages.findLast(({ role }) => role === "user")?.content ?? "";
  const results = resultsSince({ messages });
  if (results.length > 0) return results.map(tellResult).join("\n\n");

  const offered = toolChoice === "none" ? [] : tools.map(({ name }) => name);
  const wish = readWish(message) ?? (toolChoice === "required" ? nearestWish(message, offered) : null);
  if (wish === null) return talkAbout(message);
  if (offered.includes(wish.tool)) return wish;
  return `That needs the tool ${wish.tool}, which this run does not offer, so nothing was done. \`surety tools ls\` shows the tools there are.`;
}

/** Where a call is demanded and no rule fits, looking does no harm. */
function nearestWish(message: string, offered: readonly string[]): Wish | null {
  const path = findFileName(message);
  if (path !== null && offered.includes("fs.read_text")) return { tool: "fs.read_text", args: { path } };
  return offered.includes("fs.list_dir") ? { tool: "fs.list_dir", args: { path: "." } } : null;
}

/** What became of the calls that the last user message led to. */
function resultsSince({ messages: all }: { readonly messages: readonly PromptMessage[] }): readonly ToldCall[] {
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

function callReply(request: ModelRequest, { tool, args }: Wish): ModelReply {
  const earlier = request.messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
  const id = `demo_${earlier.length + 1}`;
  return reply(request, "", 1, { id, name: encodeToolName(tool), argumentsText: JSON.stringify(args) });
}

function reply(
  request: ModelRequest,
  content: string,
  chunks: number,
  call: { readonly id: string; readonly name: string; readonly argumentsText: string } | null,
): ModelReply {
  const read = request.messages.reduce((sum, message) => sum + message.content.length, 0);
  const written = content.length + (call?.argumentsText.length ?? 0);
  return {
    ok: true,
    raw: {
      content,
      toolCalls: call === null ? [] : [call],
      stopReason: call === null ? "stop" : "tool_calls",
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
