/**
 * Assembles an answer of Anthropic's Messages API from stream events, or reads it whole. A pure reducer that does not
 * judge what the model wrote.
 *
 * A1. An answer is complete when the provider sent `message_stop`, or gave a stop reason and ended the response properly,
 *     and every tool block was closed.
 * A2. A fragment of arguments that belongs to no open block makes the answer unreadable: some call would lack it.
 * A3. Unknown events and blocks are ignored, as the provider asks of its clients.
 * A4. Input tokens include those read from and written to the cache. Output tokens are read at the end of the answer:
 *     earlier values are not final.
 * A5. Of several stop reasons, one that says the answer was cut takes precedence. The provider's explanation of a refusal
 *     is the answer; a refusal without one gets ours. Thinking is stored block by block (`thinking-blocks.ts`).
 */
import type { RawModelOutput } from "../../../kernel/protocol/raw-model-output.ts";
import { type AnswerDraft, type AnswerProtocol, EMPTY_DRAFT, joinReasons, REFUSED } from "../answer-draft.ts";
import { type Fault, fault, inWords } from "../provider-fault.ts";
import { entriesOf, fieldsOf, parseFields, readUsage, textOf } from "../wire-fields.ts";
import { addToBlock, beginBlock, continuationOf, placeOf, type Thought } from "./thinking-blocks.ts";

/** Far more than a model sends at once; the list is copied for each fragment. */
const MAX_BLOCKS = 1024;

type Fields = Readonly<Record<string, unknown>>;

interface BlockDraft {
  readonly index: unknown;
  readonly isOpen: boolean;
  /** Null unless the block is a call. */
  readonly call: { readonly id: string | null; readonly name: string; readonly input: string } | null;
  /** Fragments of arguments; if none arrive, the input that the block began with counts. */
  readonly fragments: string;
  /** Null unless the block is thinking. */
  readonly thought: Thought | null;
}

interface TokenCounts {
  readonly inputs: Readonly<Record<(typeof INPUT_COUNTS)[number], unknown>>;
  readonly output: unknown;
}

interface MessageAnswer extends AnswerDraft {
  readonly blocks: readonly BlockDraft[];
  /** Of more than white space. */
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
  thoughtsOf: ({ blocks }) => continuationOf(blocks.flatMap(({ thought }) => thought ?? [])),
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
  const read = entriesOf(message["content"])
    .slice(0, MAX_BLOCKS + 1)
    .reduce<MessageAnswer>(
      (answer, value, index) => {
        return closeBlock(openBlock(answer, index, fieldsOf(value) ?? {}), index);
      },
      beginMessage(EMPTY, message),
    );
  return { ...endMessage(read, message, message["usage"]), pieces: 1, isDone: true };
}

function rawOutputOf(answer: MessageAnswer, hasEnded: boolean): RawModelOutput {
  const { content, blocks, stopReason, model, failure, isDone } = answer;
  const isWhole = failure === null && !blocks.some(({ call, isOpen }) => call !== null && isOpen);
  return {
    content,
    toolCalls: blocks.flatMap(({ call, fragments }) =>
      call === null ? [] : [{ id: call.id, name: call.name, argumentsText: fragments || call.input }],
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
  const opaque = textOf(block["signature"]).length + textOf(block["data"]).length;
  const extended = addText(answer, added);
  return {
    ...extended,
    reasoning: answer.reasoning + thinking,
    chars: extended.chars + thinking.length + called + opaque,
    blocks: [
      ...answer.blocks,
      { index, isOpen: true, call, fragments: "", thought: beginBlock(block, placeIn(answer)) },
    ],
    pieces: answer.pieces + 1,
    isUnreadable: answer.blocks.length >= MAX_BLOCKS,
  };
}

function addText(answer: MessageAnswer, added: string): MessageAnswer {
  const hasText = answer.hasText || added.trim() !== "";
  return { ...answer, content: answer.content + added, added, hasText, chars: answer.chars + added.length };
}

function addChars(answer: MessageAnswer, written: string): MessageAnswer {
  return { ...answer, chars: answer.chars + written.length };
}

function addDelta(answer: MessageAnswer, index: unknown, delta: Fields): MessageAnswer {
  const counted = { ...answer, pieces: answer.pieces + 1 };
  switch (delta["type"]) {
    case "text_delta":
      return addText(counted, textOf(delta["text"]));
    case "thinking_delta": {
      const thinking = textOf(delta["thinking"]);
      return addToThoughts({ ...addChars(counted, thinking), reasoning: counted.reasoning + thinking }, index, delta);
    }
    case "signature_delta":
      return addToThoughts(addChars(counted, textOf(delta["signature"])), index, delta);
    case "input_json_delta": {
      const added = textOf(delta["partial_json"]);
      return changeBlock(addChars(counted, added), index, (block) => ({
        ...block,
        fragments: block.fragments + added,
      }));
    }
    default:
      return counted;
  }
}

/** Thinking outside of a block is dropped: the server does not want it back. */
function addToThoughts(answer: MessageAnswer, index: unknown, delta: Fields): MessageAnswer {
  const thought = answer.blocks[findOpen(answer, index)]?.thought ?? null;
  if (thought === null) return answer;
  return changeBlock(answer, index, (block) => ({ ...block, thought: addToBlock(thought, delta) }));
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

function endMessage(answer: MessageAnswer, end: Fields, usage: unknown): MessageAnswer {
  const counts = addCounts(answer.counts, fieldsOf(usage));
  const refusal = end["stop_reason"] === "refusal" ? explanationIn(answer, end) : "";
  const added = answer.content === "" || refusal === "" ? refusal : `\n\n${refusal}`;
  return {
    ...addText(answer, added),
    stopReason: joinReasons(answer.stopReason, textOf(end["stop_reason"])),
    counts,
    usage: readUsage(Object.values(counts.inputs), counts.output),
    pieces: answer.pieces + 1,
  };
}

function explanationIn({ hasText, blocks }: MessageAnswer, end: Fields): string {
  const isSilent = !hasText && blocks.every(({ call }) => call === null);
  return textOf(fieldsOf(end["stop_details"])?.["explanation"]) || (isSilent ? REFUSED : "");
}

/** Each event reports counts of the whole answer; a count that is missing stays as it was. */
function addCounts({ inputs, output }: TokenCounts, usage: Fields | null): TokenCounts {
  if (usage === null) return { inputs, output };
  const reported = INPUT_COUNTS.filter((name) => (usage[name] ?? null) !== null).map((name) => [name, usage[name]]);
  return { inputs: { ...inputs, ...Object.fromEntries(reported) }, output: usage["output_tokens"] ?? output };
}

/** A call without arguments has an empty object and no fragments. */
function writeInput(input: unknown): string {
  return input === undefined || input === null ? "" : JSON.stringify(input);
}

function readFailure(event: Fields): Fault {
  const error = fieldsOf(event["error"]);
  return inWords(kindOfFailure(error?.["type"]), textOf(error?.["message"]));
}

function kindOfFailure(type: unknown): Fault {
  switch (type) {
    case "overloaded_error":
      return fault("provider.overloaded", { afterMs: 0 });
    case "rate_limit_error":
      return fault("provider.rate-limited", { afterMs: 0 });
    default:
      return fault("provider.failed");
  }
}
