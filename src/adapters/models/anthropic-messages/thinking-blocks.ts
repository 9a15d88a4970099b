/**
 * Thinking blocks of the Messages API: within a turn the server wants them back word for word.
 *
 * B1. A block is stored with exactly what the server compares: text and signature, or encrypted data. Order and place are
 *     stored too: before the text, or before which call.
 * B2. One signed block makes all of them signed: they go back together or not at all.
 * B3. Only blocks that this file wrote are read back.
 */
import type { JsonValue } from "../../../kernel/vocabulary/parse-json.ts";
import type { Thoughts } from "../../../runtime/ports/model-backend.ts";
import { entriesOf, fieldsOf, textOf } from "../wire-fields.ts";

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

/** Null unless the block is thinking. */
export function beginBlock(block: Fields, place: number): Thought | null {
  const read = readBlock(block);
  return read === null ? null : { place, block: read };
}

export function addToBlock({ place, block }: Thought, delta: Fields): Thought {
  if (block.type !== "thinking") return { place, block };
  const thinking = block.thinking + textOf(delta["thinking"]);
  // A signature arrives in one piece.
  const signature = textOf(delta["signature"]) || block.signature;
  return { place, block: { ...block, thinking, signature } };
}

export function continuationOf(thoughts: readonly Thought[]): Thoughts | null {
  if (thoughts.length === 0) return null;
  const isSigned = thoughts.some(({ block }) => block.type === "redacted_thinking" || block.signature !== "");
  return { kept: thoughts as unknown as JsonValue, isSigned };
}

export function readBlocks(kept: JsonValue | undefined): readonly Thought[] {
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
