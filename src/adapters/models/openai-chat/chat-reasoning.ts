/**
 * The reasoning of a model behind chat completions, in the form its server wants back beside the calls.
 *
 * H1. It goes back under the field name it came with, even when empty: Moonshot requires the field, not the text
 *     (https://github.com/MoonshotAI/kimi-cli/issues/2446). If a server uses two names for it, one goes back.
 * H2. OpenRouter's `reasoning_details` hold signed or encrypted reasoning. Pieces of one detail are joined; if there are
 *     any, they go back unchanged instead of the plain text.
 * H3. Gemini signs calls: `extra_content` of a call goes back unchanged beside that call
 *     (https://ai.google.dev/gemini-api/docs/thought-signatures).
 * H4. Only fields that this file wrote are read back.
 */
import type { JsonValue } from "../../../kernel/vocabulary/parse-json.ts";
import type { Thoughts } from "../../../runtime/ports/model-backend.ts";
import { entriesOf, fieldsOf, textOf } from "../wire-fields.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Two names for one thing, the older first. */
const TEXT_NAMES = ["reasoning_content", "reasoning"] as const;
const DETAILS = "reasoning_details";
const EXTRA = "extra_content";
/** Far more than a model sends at once; the list is copied for each piece. */
const MAX_DETAILS = 256;

export interface ChatReasoning {
  readonly name: (typeof TEXT_NAMES)[number] | null;
  /** The field was empty so far: another name may replace it. */
  readonly isEmpty: boolean;
  /** Null when there were too many. */
  readonly details: readonly Fields[] | null;
}

/** `extra_content` of a call; null if it has none. */
export type Extra = Fields | null;

export const NO_REASONING: ChatReasoning = { name: null, isEmpty: true, details: [] };

export function reasoningIn(message: Fields): string {
  return textOf(message["reasoning_content"]) || textOf(message["reasoning"]);
}

/** `isWhole`: each detail is complete, not a piece. */
export function addReasoning(thoughts: ChatReasoning, message: Fields, isWhole: boolean): ChatReasoning {
  const { details: known } = thoughts;
  const named = thoughts.isEmpty ? nameField(thoughts, message) : thoughts;
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

/** It arrives with the call or after it. */
export function addExtra(known: Extra, next: Extra): Extra {
  return known === null || next === null ? (known ?? next) : { ...known, ...next };
}

/** Characters of a message that are signed or encrypted. */
export function opaqueChars(message: Fields, calls: readonly unknown[]): number {
  return calls.reduce<number>((sum, call) => sum + jsonChars(fieldsOf(call)?.[EXTRA]), jsonChars(message[DETAILS]));
}

function jsonChars(value: unknown): number {
  return value === undefined ? 0 : JSON.stringify(value).length;
}

/** `extras`: one per call, in order. */
export function thoughtsOf(
  { name, details }: ChatReasoning,
  reasoning: string,
  extras: readonly Extra[],
): Thoughts | null {
  const isDetailed = details !== null && details.length > 0;
  const text = name === null ? null : { [name]: reasoning };
  const reasoned = isDetailed ? { [DETAILS]: details } : text;
  const callExtras = extras.some((extra) => extra !== null) ? { [EXTRA]: extras } : null;
  if (reasoned === null && callExtras === null) return null;
  return { kept: { ...reasoned, ...callExtras } as unknown as JsonValue, isSigned: isDetailed || callExtras !== null };
}

/** The fields of a message that send its reasoning back. */
export function reasoningFields(kept: JsonValue | undefined): object {
  const fields = fieldsOf(kept) ?? {};
  const known = [DETAILS, ...TEXT_NAMES].filter((name) => fields[name] !== undefined);
  return Object.fromEntries(known.map((name) => [name, fields[name]]));
}

/** The same for one of the message's calls. */
export function callFields(kept: JsonValue | undefined, place: number): object {
  const extra = fieldsOf(entriesOf(fieldsOf(kept)?.[EXTRA])[place]);
  return extra === null ? {} : { [EXTRA]: extra };
}

function nameField(thoughts: ChatReasoning, message: Fields): ChatReasoning {
  const name = TEXT_NAMES.find((each) => textOf(message[each]) !== "");
  if (name !== undefined) return { ...thoughts, name, isEmpty: false };
  const empty = thoughts.name ?? TEXT_NAMES.find((each) => typeof message[each] === "string");
  return empty === undefined || empty === thoughts.name ? thoughts : { ...thoughts, name: empty };
}

function addDetail(details: readonly Fields[], piece: Fields): readonly Fields[] {
  const { type, index } = piece;
  // Encrypted details without an index arrive in one piece.
  const isPiece = typeof index === "number" || type !== "reasoning.encrypted";
  const at = isPiece ? details.findLastIndex((detail) => detail["type"] === type && detail["index"] === index) : -1;
  const detail = details[at];
  return detail === undefined ? [...details, piece] : details.with(at, joinDetail(detail, piece));
}

/** Texts are concatenated; of other fields the last value counts. */
function joinDetail(detail: Fields, piece: Fields): Fields {
  const joined = Object.entries(piece).flatMap(([name, value]) => {
    if (value === null || value === undefined) return [];
    const isText = ["text", "summary", "data"].includes(name);
    return [[name, isText ? textOf(detail[name]) + textOf(value) : value] as const];
  });
  return { ...detail, ...Object.fromEntries(joined) };
}
