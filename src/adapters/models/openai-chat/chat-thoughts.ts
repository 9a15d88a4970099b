/**
 * What a model behind chat completions thought, as its server wants it back beside the calls.
 *
 * H1. It goes back under the name it came by. A server that says one thing by two names is told it once.
 * H2. OpenRouter's `reasoning_details` hold what is signed or encrypted. Pieces of one are put together; where there are
 *     any, they go back instead of the plain text, as they came.
 * H3. What is read back is our own writing; whatever else is found there is left out.
 */
import type { JsonValue } from "../../../kernel/vocabulary/parse-json.ts";
import type { Thoughts } from "../../../runtime/ports/model-backend.ts";
import { entriesOf, fieldsOf, textOf } from "../read-fields.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Two names for one thing, the older first. */
const TEXT_NAMES = ["reasoning_content", "reasoning"] as const;
const DETAILS = "reasoning_details";
/** Far beyond what a model thinks at once; copying the list for each piece stays cheap. */
const MAX_DETAILS = 256;

export interface ChatThoughts {
  readonly name: (typeof TEXT_NAMES)[number] | null;
  /** Null when there were too many to be kept. */
  readonly details: readonly Fields[] | null;
}

export const NO_THOUGHTS: ChatThoughts = { name: null, details: [] };

export function reasoningIn(message: Fields): string {
  return textOf(message["reasoning_content"]) || textOf(message["reasoning"]);
}

/** `isWhole`: each detail is one of its own, and no piece of another. */
export function addThoughts(thoughts: ChatThoughts, message: Fields, isWhole: boolean): ChatThoughts {
  const { details: known } = thoughts;
  const name = thoughts.name ?? nameIn(message);
  if (message[DETAILS] === undefined || known === null) {
    return name === thoughts.name ? thoughts : { name, details: known };
  }
  const added = entriesOf(message[DETAILS])
    .map(fieldsOf)
    .filter((detail) => detail !== null);
  const details = isWhole ? [...known, ...added] : added.reduce<readonly Fields[]>(addDetail, known);
  return { name, details: details.length > MAX_DETAILS ? null : details };
}

export function thoughtsOf({ name, details }: ChatThoughts, reasoning: string): Thoughts | null {
  if (details !== null && details.length > 0) {
    return { kept: { [DETAILS]: details as unknown as JsonValue }, isSigned: true };
  }
  return name === null ? null : { kept: { [name]: reasoning }, isSigned: false };
}

/** The fields of a message that say it again. */
export function thoughtFields(kept: JsonValue | undefined): object {
  const fields = fieldsOf(kept) ?? {};
  const known = [DETAILS, ...TEXT_NAMES].filter((name) => fields[name] !== undefined);
  return Object.fromEntries(known.map((name) => [name, fields[name]]));
}

function nameIn(message: Fields): ChatThoughts["name"] {
  return TEXT_NAMES.find((name) => textOf(message[name]) !== "") ?? null;
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
