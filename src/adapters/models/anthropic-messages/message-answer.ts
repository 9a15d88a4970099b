/**
 * An answer of Anthropic's Messages API, put together from the events of a stream or read whole. A pure reducer that
 * judges nothing of what the model wrote.
 *
 * A1. An answer is complete when the provider said so (`message_stop`), or named a stop reason and then ended the
 *     response properly, and every tool block in it was closed.
 * A2. A fragment of arguments belongs to a block that is open. One that belongs to none makes the answer unreadable: the
 *     arguments of some call would lack it.
 * A3. Events and blocks we do not know are passed over, as the provider asks of its clients.
 * A4. Input is counted whole, whether it came out of a cache or went into one. Output is taken from the end of the
 *     answer only: what stands at its beginning is no count yet.
 * A5. Of several stop reasons the one that tells of a cut stays. What the provider says of a refusal is the answer, and one
 *     without words is said in ours; what the model thought is not. That is kept block by block, as it came
 *     (`thought-blocks.ts`).
 */
import type { RawModelOutput } from "../../../kernel/protocol/raw-model-output.ts";
import { type AnswerDraft, type AnswerProtocol, EMPTY_DRAFT, joinReasons, REFUSED } from "../answer-draft.ts";
import { type Fault, fault } from "../provider-fault.ts";
import { entriesOf, fieldsOf, parseFields, textOf } from "../read-fields.ts";
import { readUsage } from "../read-usage.ts";
import { addToThought, beginThought, placeOf, type Thought, thoughtsIn } from "./thought-blocks.ts";

/** Far beyond what a model writes at once; copying the list for each fragment stays cheap. */
const MAX_BLOCKS = 1024;

type Fields = Readonly<Record<string, unknown>>;

interface BlockDraft {
  readonly index: unknown;
  readonly isOpen: boolean;
  /** Null for a block that is no call. */
  readonly call: { readonly id: string | null; readonly name: string; readonly input: string } | null;
  /** Fragments of arguments; where none came, what the block began with stands. */
  readonly written: string;
  /** Null for a block that is no thought. */
  readonly thought: Thought | null;
}

interface TokenCounts {
  readonly inputs: Readonly<Record<(typeof INPUT_COUNTS)[number], unknown>>;
  readonly output: unknown;
}

interface MessageAnswer extends AnswerDraft {
  readonly blocks: readonly BlockDraft[];
  /** Of more than spaces. */
  readonly hasText: boolean;
  readonly counts: TokenCounts;
}

const INPUT_COUNTS = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"] as const;

const EMPTY: MessageAnswer = {
  ...EMPTY_DRAFT,
  blocks: [],
  hasText: false,
  counts: {
    inputs: { input_tokens: null, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
    output: null,
  },
};

export const MESSAGE_ANSWER: AnswerProtocol<MessageAnswer> = {
  empty: EMPTY,
  step,
  readWhole,
  rawOutputOf,
  thoughtsOf: ({ blocks }) => thoughtsIn(blocks.flatMap(({ thought }) => thought ?? [])),
};

function step(answer: MessageAnswer, payload: string): MessageAnswer {
  const event = parseFields(payload);
  if (event === null || typeof event["type"] !== "string") return { ...answer, isUnreadable: true };
  switch (event["type"]) {
    case "message_start":
      return beginMessage(answer, fieldsOf(event["message"]) ?? {});
    case "content_block_start":
      return openBlock(answer, event["index"], fieldsOf(event["content_block"]) ?? {});
    case "content_block_delta":
      return addDelta(answer, event["index"], fieldsOf(event["delta"]) ?? {});
    case "content_block_stop":
      return closeBlock(answer, event["index"]);
    case "message_delta":
      return endMessage(answer, fieldsOf(event["delta"]) ?? {}, event["usage"]);
    case "message_stop":
      return { ...answer, isDone: true };
    case "error":
      return { ...answer, failure: readFailure(event) };
    default:
      return answer;
  }
}

function readWhole(body: string): MessageAnswer {
  const message = parseFields(body);
  if (message?.["type"] === "error") return { ...EMPTY, failure: readFailure(message) };
  if (message === null || !Array.isArray(message["content"])) return { ...EMPTY, isUnreadable: true };
  const spoken = entriesOf(message["content"])
    .slice(0, MAX_BLOCKS + 1)
    .reduce<MessageAnswer>(
      (answer, value, index) => {
        return closeBlock(openBlock(answer, index, fieldsOf(value) ?? {}), index);
      },
      beginMessage(EMPTY, message),
    );
  return { ...endMessage(spoken, message, message["usage"]), pieces: 1, isDone: true };
}

function rawOutputOf(answer: MessageAnswer, hasEnded: boolean): RawModelOutput {
  const { content, blocks, stopReason, model, failure, isDone } = answer;
  const isWhole = failure === null && !blocks.some(({ call, isOpen }) => call !== null && isOpen);
  return {
    content,
    toolCalls: blocks.flatMap(({ call, written }) =>
      call === null ? [] : [{ id: call.id, name: call.name, argumentsText: written || call.input }],
    ),
    stopReason,
    model,
    complete: isWhole && (isDone || (hasEnded && stopReason !== "")),
  };
}

function beginMessage(answer: MessageAnswer, message: Fields): MessageAnswer {
  const counts = { ...addCounts(answer.counts, fieldsOf(message["usage"])), output: null };
  return { ...answer, model: answer.model || textOf(message["model"]), counts };
}

function openBlock(answer: MessageAnswer, index: unknown, block: Fields): MessageAnswer {
  const type = block["type"];
  const call =
    type === "tool_use"
      ? { id: textOf(block["id"]) || null, name: textOf(block["name"]), input: writeInput(block["input"]) }
      : null;
  const added = type === "text" ? textOf(block["text"]) : "";
  const thinking = type === "thinking" ? textOf(block["thinking"]) : "";
  const called = call === null ? 0 : (call.id?.length ?? 0) + call.name.length + call.input.length;
  const sealed = textOf(block["signature"]).length + textOf(block["data"]).length;
  const spoken = say(answer, added);
  return {
    ...spoken,
    reasoning: answer.reasoning + thinking,
    chars: spoken.chars + thinking.length + called + sealed,
    blocks: [
      ...answer.blocks,
      { index, isOpen: true, call, written: "", thought: beginThought(block, placeIn(answer)) },
    ],
    pieces: answer.pieces + 1,
    isUnreadable: answer.blocks.length >= MAX_BLOCKS,
  };
}

function say(answer: MessageAnswer, added: string): MessageAnswer {
  const hasText = answer.hasText || added.trim() !== "";
  return { ...answer, content: answer.content + added, added, hasText, chars: answer.chars + added.length };
}

function count(answer: MessageAnswer, written: string): MessageAnswer {
  return { ...answer, chars: answer.chars + written.length };
}

function addDelta(answer: MessageAnswer, index: unknown, delta: Fields): MessageAnswer {
  const told = { ...answer, pieces: answer.pieces + 1 };
  switch (delta["type"]) {
    case "text_delta":
      return say(told, textOf(delta["text"]));
    case "thinking_delta": {
      const thinking = textOf(delta["thinking"]);
      return addToThoughts({ ...count(told, thinking), reasoning: told.reasoning + thinking }, index, delta);
    }
    case "signature_delta":
      return addToThoughts(count(told, textOf(delta["signature"])), index, delta);
    case "input_json_delta": {
      const added = textOf(delta["partial_json"]);
      return changeBlock(count(told, added), index, (block) => ({ ...block, written: block.written + added }));
    }
    default:
      return told;
  }
}

/** A thought that belongs to no block is lost, and with it the wish to have it back. */
function addToThoughts(answer: MessageAnswer, index: unknown, delta: Fields): MessageAnswer {
  const thought = answer.blocks[findOpen(answer, index)]?.thought ?? null;
  if (thought === null) return answer;
  return changeBlock(answer, index, (block) => ({ ...block, thought: addToThought(thought, delta) }));
}

function placeIn({ hasText, blocks }: MessageAnswer): number {
  return placeOf(hasText, blocks.filter(({ call }) => call !== null).length);
}

function closeBlock(answer: MessageAnswer, index: unknown): MessageAnswer {
  return changeBlock(answer, index, (block) => ({ ...block, isOpen: false }));
}

function findOpen({ blocks }: MessageAnswer, index: unknown): number {
  return blocks.findLastIndex((block) => block.index === index && block.isOpen);
}

function changeBlock(answer: MessageAnswer, index: unknown, change: (block: BlockDraft) => BlockDraft): MessageAnswer {
  const at = findOpen(answer, index);
  const block = answer.blocks[at];
  if (block === undefined) return { ...answer, isUnreadable: true };
  return { ...answer, blocks: answer.blocks.with(at, change(block)) };
}

function endMessage(answer: MessageAnswer, told: Fields, usage: unknown): MessageAnswer {
  const counts = addCounts(answer.counts, fieldsOf(usage));
  const refusal = told["stop_reason"] === "refusal" ? explanationIn(answer, told) : "";
  const added = answer.content === "" || refusal === "" ? refusal : `\n\n${refusal}`;
  return {
    ...say(answer, added),
    stopReason: joinReasons(answer.stopReason, textOf(told["stop_reason"])),
    counts,
    usage: readUsage(Object.values(counts.inputs), counts.output),
    pieces: answer.pieces + 1,
  };
}

function explanationIn({ hasText, blocks }: MessageAnswer, told: Fields): string {
  const isMute = !hasText && blocks.every(({ call }) => call === null);
  return textOf(fieldsOf(told["stop_details"])?.["explanation"]) || (isMute ? REFUSED : "");
}

/** Counts are told of the whole answer, each time anew; one that is not told again stays. */
function addCounts({ inputs, output }: TokenCounts, usage: Fields | null): TokenCounts {
  if (usage === null) return { inputs, output };
  const told = INPUT_COUNTS.filter((name) => (usage[name] ?? null) !== null).map((name) => [name, usage[name]]);
  return { inputs: { ...inputs, ...Object.fromEntries(told) }, output: usage["output_tokens"] ?? output };
}

/** A call without arguments is sent with an empty object and without fragments. */
function writeInput(input: unknown): string {
  return input === undefined || input === null ? "" : JSON.stringify(input);
}

function readFailure(event: Fields): Fault {
  switch (fieldsOf(event["error"])?.["type"]) {
    case "overloaded_error":
      return fault("provider.overloaded", { afterMs: 0 });
    case "rate_limit_error":
      return fault("provider.rate-limited", { afterMs: 0 });
    default:
      return fault("provider.failed");
  }
}
