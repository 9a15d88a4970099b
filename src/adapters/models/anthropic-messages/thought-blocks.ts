/**
 * What a model behind the Messages API thought, block by block: within a turn the server wants it back, word for word.
 *
 * B1. A block is kept with nothing added and nothing left out of what the server compares: text and signature, or what it
 *     encrypted. The order of blocks is kept, and where they stood: before the text, or before which of the calls.
 * B2. One signature makes all of them signed: a sequence of blocks goes back whole, or not at all.
 * B3. What is read back is our own writing; whatever else is found there is left out.
 */
import type { JsonValue } from "../../../kernel/vocabulary/parse-json.ts";
import type { Thoughts } from "../../../runtime/ports/model-backend.ts";
import { entriesOf, fieldsOf, textOf } from "../read-fields.ts";

type Fields = Readonly<Record<string, unknown>>;

type ThoughtBlock =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string };

export interface Thought {
  /** 0: before the text; n: before the nth call. */
  readonly place: number;
  readonly block: ThoughtBlock;
}

export function placeOf(isAfterText: boolean, callsBefore: number): number {
  return callsBefore === 0 && !isAfterText ? 0 : callsBefore + 1;
}

/** Null for a block of another kind. */
export function beginThought(block: Fields, place: number): Thought | null {
  const read = readBlock(block);
  return read === null ? null : { place, block: read };
}

export function addToThought({ place, block }: Thought, delta: Fields): Thought {
  if (block.type !== "thinking") return { place, block };
  const thinking = block.thinking + textOf(delta["thinking"]);
  // It comes in one piece.
  const signature = textOf(delta["signature"]) || block.signature;
  return { place, block: { ...block, thinking, signature } };
}

export function thoughtsIn(thoughts: readonly Thought[]): Thoughts | null {
  if (thoughts.length === 0) return null;
  const isSigned = thoughts.some(({ block }) => block.type === "redacted_thinking" || block.signature !== "");
  return { kept: thoughts as unknown as JsonValue, isSigned };
}

export function readThoughts(kept: JsonValue | undefined): readonly Thought[] {
  return entriesOf(kept).flatMap((entry) => {
    const fields = fieldsOf(entry) ?? {};
    const place = fields["place"];
    const block = readBlock(fieldsOf(fields["block"]) ?? {});
    return typeof place === "number" && block !== null ? [{ place, block }] : [];
  });
}

function readBlock({ type, thinking, signature, data }: Fields): ThoughtBlock | null {
  if (type === "redacted_thinking") return { type, data: textOf(data) };
  return type === "thinking" ? { type, thinking: textOf(thinking), signature: textOf(signature) } : null;
}
