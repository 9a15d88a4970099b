/** Answers of a chat completions server as bytes on the wire, in the dialects met in the wild. No code under test in it. */
export interface ScriptedCall {
  /** `fs.read_text` or `fs__read_text`. */
  readonly name: string;
  /** An object, or the text the model wrote. */
  readonly arguments: object | string;
  /** `call_1`, `call_2` … unless given; null leaves it out. */
  readonly id?: string | null;
}

export interface ChatScript {
  readonly text?: string;
  /** What the model thinks first. */
  readonly reasoning?: string;
  /** What it thinks next and the server shows to nobody, where the wire has such a thing. */
  readonly hidden?: string;
  readonly calls?: readonly ScriptedCall[];
  /** As fits the answer unless given; null says none. */
  readonly finishReason?: string | null;
  readonly model?: string;
  /** Null says nothing of it. */
  readonly usage?: Readonly<Record<string, unknown>> | null;
  readonly dialect?: Dialect;
}

export interface Dialect {
  readonly newline?: "\n" | "\r\n" | "\r";
  /** Keep-alive comments between events; where the wire has pings, those too. */
  readonly hasComments?: boolean;
  /** Characters of text and arguments an event holds. */
  readonly pieceChars?: number;
  /** OpenAI sends it in an event of its own, others with the finish reason. */
  readonly usageIn?: "own-event" | "last-event";
  /** Some never say `[DONE]`. */
  readonly saysDone?: boolean;
  /** Some number no call. */
  readonly hasIndexes?: boolean;
  /** Some stream whatever was asked for. */
  readonly alwaysStreams?: boolean;
  /** The body comes in pieces of so many bytes, wherever that cuts it, or an event at a time; at once unless given. */
  readonly writeBytes?: number | "event";
}

const USAGE = { prompt_tokens: 12, completion_tokens: 7, total_tokens: 19 };

export function encodeDocument(script: ChatScript): string {
  const { text = "", reasoning = "", calls = [], model = "scripted-1", usage = USAGE } = script;
  const message = {
    role: "assistant",
    ...(reasoning === "" ? null : { reasoning_content: reasoning }),
    content: text === "" && calls.length > 0 ? null : text,
    ...(calls.length === 0 ? null : { tool_calls: calls.map(wholeCall) }),
  };
  return JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 0,
    model,
    choices: [{ index: 0, message, finish_reason: finishOf(script) }],
    ...(usage === null ? null : { usage }),
  });
}

/** One text an event, with everything that ends it. */
export function encodeEvents(script: ChatScript): readonly string[] {
  const { text = "", reasoning = "", calls = [], model = "scripted-1", usage = USAGE, dialect = {} } = script;
  const { newline = "\n", hasComments = false, usageIn = "own-event", saysDone = true } = dialect;
  const chunk = (choices: readonly object[], more: object = {}) => {
    return JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 0, model, choices, ...more });
  };
  const delta = (fields: object) => chunk([{ index: 0, delta: fields, finish_reason: null }]);
  const atEnd = usage !== null && usageIn === "last-event" ? { usage } : {};
  const payloads = [
    delta({ role: "assistant", content: "" }),
    ...cut(reasoning, dialect).map((piece) => delta({ reasoning_content: piece })),
    ...cut(text, dialect).map((content) => delta({ content })),
    ...calls.flatMap((call, index) =>
      callDeltas(call, index, dialect).map((fields) => delta({ tool_calls: [fields] })),
    ),
    chunk([{ index: 0, delta: {}, finish_reason: finishOf(script) }], atEnd),
    ...(usage !== null && usageIn === "own-event" ? [chunk([], { usage })] : []),
    ...(saysDone ? ["[DONE]"] : []),
  ];
  const comment = hasComments ? `: still there${newline}${newline}` : "";
  return payloads.map((payload) => `${comment}data: ${payload}${newline}${newline}`);
}

function wholeCall(call: ScriptedCall, index: number): object {
  const written = { name: wireName(call), arguments: argumentsOf(call) };
  return { ...idOf(call, index), type: "function", function: written };
}

function callDeltas(call: ScriptedCall, index: number, dialect: Dialect): readonly object[] {
  const place = dialect.hasIndexes === false ? {} : { index };
  const opening = {
    ...place,
    ...idOf(call, index),
    type: "function",
    function: { name: wireName(call), arguments: "" },
  };
  return [opening, ...cut(argumentsOf(call), dialect).map((text) => ({ ...place, function: { arguments: text } }))];
}

function idOf({ id }: ScriptedCall, index: number): object {
  return id === null ? {} : { id: id ?? `call_${index + 1}` };
}

function wireName({ name }: ScriptedCall): string {
  return name.replaceAll(".", "__");
}

function argumentsOf(call: ScriptedCall): string {
  return typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments);
}

function finishOf({ calls = [], finishReason }: ChatScript): string | null {
  return finishReason === undefined ? (calls.length > 0 ? "tool_calls" : "stop") : finishReason;
}

function cut(text: string, { pieceChars = 16 }: Dialect): readonly string[] {
  const pieces: string[] = [];
  const characters = [...text];
  for (let at = 0; at < characters.length; at += pieceChars)
    pieces.push(characters.slice(at, at + pieceChars).join(""));
  return pieces;
}
