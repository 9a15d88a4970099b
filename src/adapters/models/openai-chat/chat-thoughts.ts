/**
 * What a model behind chat completions thought, as its server wants it back beside the calls.
 *
 * H1. It goes back under the name it came by, and be it empty: Moonshot misses the field, not the words
 *     (https://github.com/MoonshotAI/kimi-cli/issues/2446). A server that says one thing by two names is told it once.
 * H2. OpenRouter's `reasoning_details` hold what is signed or encrypted. Pieces of one are put together; where there are
 *     any, they go back instead of the plain text, as they came.
 * H3. Gemini signs calls instead: `extra_content` of a call goes back beside that call, as it came
 *     (https://ai.google.dev/gemini-api/docs/thought-signatures).
 * H4. What is read back is our own writing; whatever else is found there is left out.
 */
import type { JsonValue } from "../../../kernel/vocabulary/parse-json.ts";
import type { Thoughts } from "../../../runtime/ports/model-backend.ts";
import { entriesOf, fieldsOf, textOf } from "../read-fields.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Two names for one thing, the older first. */
const TEXT_NAMES = ["reasoning_content", "reasoning"] as const;
const DETAILS = "reasoning_details";
const EXTRA = "extra_content";
/** Far beyond what a model thinks at once; copying the list for each piece stays cheap. */
const MAX_DETAILS = 256;

export interface ChatThoughts {
  readonly name: (typeof TEXT_NAMES)[number] | null;
  /** Nothing came by the name yet: another may take its place. */
  readonly isEmpty: boolean;
  /** Null when there were too many to be kept. */
  readonly details: readonly Fields[] | null;
}

/** What stands beside a call; null where nothing does. */
export type Extra = Fields | null;

export const NO_THOUGHTS: ChatThoughts = { name: null, isEmpty: true, details: [] };

export function reasoningIn(message: Fields): string {
  return textOf(message["reasoning_content"]) || textOf(message["reasoning"]);
}

/** `isWhole`: each detail is one of its own, and no piece of another. */
export function addThoughts(thoughts: ChatThoughts, message: Fields, isWhole: boolean): ChatThoughts {
  const { details: known } = thoughts;
  const named = thoughts.isEmpty ? nameThoughts(thoughts, message) : thoughts;
  if (message[DETAILS] === undefined || known === null) return named;
  const entries = entriesOf(message[DETAILS]);
  if (entries.length > MAX_DETAILS) return { ...named, details: null };
  const added = entries.map(fieldsOf).filter((detail) => detail !== null);
  const details = isWhole ? [...known, ...added] : added.reduce<readonly Fields[]>(addDetail, known);
  return { ...named, details: details.length > MAX_DETAILS ? null : details };
}

export function extraIn(call: Fields): Extra {
  return fieldsOf(call[EXTRA]);
}

/** It comes with the call or after it. */
export function addExtra(known: Extra, next: Extra): Extra {
  return known === null || next === null ? (known ?? next) : { ...known, ...next };
}

/** How much of a message is signed or encrypted. */
export function sealedChars(message: Fields, calls: readonly unknown[]): number {
  if (message[DETAILS] === undefined && calls.length === 0) return 0;
  return calls.reduce<number>(
    (sum, call) => sum + writtenChars(fieldsOf(call)?.[EXTRA]),
    writtenChars(message[DETAILS]),
  );
}

function writtenChars(value: unknown): number {
  return value === undefined ? 0 : JSON.stringify(value).length;
}

/** `extras`: of each call, in order. */
export function thoughtsOf(
  { name, details }: ChatThoughts,
  reasoning: string,
  extras: readonly Extra[],
): Thoughts | null {
  const isDetailed = details !== null && details.length > 0;
  const words = name === null ? null : { [name]: reasoning };
  const said = isDetailed ? { [DETAILS]: details } : words;
  const beside = extras.some((extra) => extra !== null) ? { [EXTRA]: extras } : null;
  if (said === null && beside === null) return null;
  return { kept: { ...said, ...beside } as unknown as JsonValue, isSigned: isDetailed || beside !== null };
}

/** The fields of a message that say it again. */
export function thoughtFields(kept: JsonValue | undefined): object {
  const fields = fieldsOf(kept) ?? {};
  const known = [DETAILS, ...TEXT_NAMES].filter((name) => fields[name] !== undefined);
  return Object.fromEntries(known.map((name) => [name, fields[name]]));
}

/** The same for one of its calls. */
export function callFields(kept: JsonValue | undefined, place: number): object {
  const extra = fieldsOf(entriesOf(fieldsOf(kept)?.[EXTRA])[place]);
  return extra === null ? {} : { [EXTRA]: extra };
}

function nameThoughts(thoughts: ChatThoughts, message: Fields): ChatThoughts {
  // Said of nearly every piece, wherever a model does not think aloud.
  if (message["reasoning_content"] === undefined && message["reasoning"] === undefined) return thoughts;
  const name = TEXT_NAMES.find((each) => textOf(message[each]) !== "");
  if (name !== undefined) return { ...thoughts, name, isEmpty: false };
  const empty = thoughts.name ?? TEXT_NAMES.find((each) => typeof message[each] === "string");
  return empty === undefined || empty === thoughts.name ? thoughts : { ...thoughts, name: empty };
}

function addDetail(details: readonly Fields[], piece: Fields): readonly Fields[] {
  const { type, index } = piece;
  // What is encrypted comes in one piece, where nothing says which piece it is.
  const isPiece = typeof index === "number" || type !== "reasoning.encrypted";
  const at = isPiece ? details.findLastIndex((detail) => detail["type"] === type && detail["index"] === index) : -1;
  const detail = details[at];
  return detail === undefined ? [...details, piece] : details.with(at, joinDetail(detail, piece));
}

/** What is written in pieces is strung together; of anything else the last word counts. */
function joinDetail(detail: Fields, piece: Fields): Fields {
  const joined = Object.entries(piece).flatMap(([name, value]) => {
    if (value === null || value === undefined) return [];
    const isWritten = ["text", "summary", "data"].includes(name);
    return [[name, isWritten ? textOf(detail[name]) + textOf(value) : value] as const];
  });
  return { ...detail, ...Object.fromEntries(joined) };
}
