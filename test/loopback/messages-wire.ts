/** Answers of Anthropic's Messages API as bytes on the wire, by the scripts of chat-wire. No code under test in it. */
import type { ChatScript, Dialect, ScriptedCall } from "./chat-wire.ts";
import { sealHidden, signatureOf } from "./thought-seal.ts";

const USAGE = { prompt_tokens: 12, completion_tokens: 7 };

export function encodeDocument(script: ChatScript): string {
  const { text = "", reasoning = "", hidden = "", calls = [], model = "scripted-1", usage = USAGE } = script;
  const content = [
    ...(reasoning === "" ? [] : [{ type: "thinking", thinking: reasoning, signature: signatureOf(reasoning) }]),
    ...(hidden === "" ? [] : [hiddenBlock(hidden)]),
    ...(text === "" ? [] : [{ type: "text", text }]),
    ...calls.map((call, index) => ({ ...headOf(call, index), input: inputOf(call) })),
  ];
  return JSON.stringify({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model,
    content,
    stop_reason: stopOf(script),
    stop_sequence: null,
    ...(usage === null ? null : { usage: { ...inputCounts(usage), ...outputCount(usage) } }),
  });
}

/** One text an event, with everything that ends it. */
export function encodeEvents(script: ChatScript): readonly string[] {
  const { text = "", reasoning = "", hidden = "", calls = [], model = "scripted-1" } = script;
  const { usage = USAGE, dialect = {} } = script;
  const blocks = [
    ...(reasoning === "" ? [] : [thinkingBlock(reasoning, dialect)]),
    ...(hidden === "" ? [] : [{ start: hiddenBlock(hidden), deltas: [] }]),
    ...(text === "" ? [] : [textBlock(text, dialect)]),
    ...calls.map((call, index) => callBlock(call, index, dialect)),
  ];
  const started = { id: "msg_1", type: "message", role: "assistant", model, content: [], stop_reason: null };
  const counted = usage === null ? {} : { usage: { ...inputCounts(usage), output_tokens: 1 } };
  const ended = usage === null ? {} : { usage: outputCount(usage) };
  const events: readonly object[] = [
    { type: "message_start", message: { ...started, ...counted } },
    { type: "ping" },
    ...blocks.flatMap(({ start, deltas }, index) => [
      { type: "content_block_start", index, content_block: start },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason: stopOf(script), stop_sequence: null }, ...ended },
    ...(dialect.saysDone === false ? [] : [{ type: "message_stop" }]),
  ];
  const { newline = "\n", hasComments = false } = dialect;
  const write = (event: object) => {
    const name = (event as { readonly type: string }).type;
    return `event: ${name}${newline}data: ${JSON.stringify(event)}${newline}${newline}`;
  };
  const keepAlive = hasComments ? `: still there${newline}${newline}${write({ type: "ping" })}` : "";
  return events.map((event) => keepAlive + write(event));
}

interface BlockScript {
  readonly start: object;
  readonly deltas: readonly object[];
}

function textBlock(text: string, dialect: Dialect): BlockScript {
  const deltas = cut(text, dialect).map((piece) => ({ type: "text_delta", text: piece }));
  return { start: { type: "text", text: "" }, deltas };
}

function thinkingBlock(reasoning: string, dialect: Dialect): BlockScript {
  const deltas = cut(reasoning, dialect).map((thinking) => ({ type: "thinking_delta", thinking }));
  const signed = { type: "signature_delta", signature: signatureOf(reasoning) };
  return { start: { type: "thinking", thinking: "", signature: "" }, deltas: [...deltas, signed] };
}

function hiddenBlock(hidden: string): object {
  return { type: "redacted_thinking", data: sealHidden(hidden) };
}

function callBlock(call: ScriptedCall, index: number, dialect: Dialect): BlockScript {
  const written = typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments);
  // The real one sends no fragment of an empty object, and begins with an empty fragment otherwise.
  const fragments = written === "{}" ? [""] : ["", ...cut(written, dialect)];
  const deltas = fragments.map((partial_json) => ({ type: "input_json_delta", partial_json }));
  return { start: { ...headOf(call, index), input: {} }, deltas };
}

function headOf({ id, name }: ScriptedCall, index: number): object {
  const named = { type: "tool_use", name: name.replaceAll(".", "__") };
  return id === null ? named : { ...named, id: id ?? `call_${index + 1}` };
}

/** What is no JSON cannot be sent in a document; there it stands as a text. */
function inputOf({ arguments: written }: ScriptedCall): unknown {
  if (typeof written !== "string") return written;
  try {
    return JSON.parse(written);
  } catch {
    return written;
  }
}

function inputCounts(usage: Readonly<Record<string, unknown>>): object {
  return {
    input_tokens: usage["prompt_tokens"],
    cache_creation_input_tokens: usage["cache_creation_input_tokens"] ?? 0,
    cache_read_input_tokens: usage["cache_read_input_tokens"] ?? 0,
  };
}

function outputCount(usage: Readonly<Record<string, unknown>>): object {
  return { output_tokens: usage["completion_tokens"] };
}

const STOPS: Readonly<Record<string, string>> = { stop: "end_turn", tool_calls: "tool_use", length: "max_tokens" };

function stopOf({ calls = [], finishReason }: ChatScript): string | null {
  if (finishReason === undefined) return calls.length > 0 ? "tool_use" : "end_turn";
  return finishReason === null ? null : (STOPS[finishReason] ?? finishReason);
}

function cut(text: string, { pieceChars = 16 }: Dialect): readonly string[] {
  const characters = [...text];
  return Array.from({ length: Math.ceil(characters.length / pieceChars) }, (_, index) =>
    characters.slice(index * pieceChars, (index + 1) * pieceChars).join(""),
  );
}
