/**
 * Markdown in blocks, by marked's lexer alone: nothing here makes HTML.
 *
 * M1. Only the unfinished end of a growing text is lexed again; finished blocks keep their tokens, so they are not drawn again.
 * M2. What is too long or too deep for the lexer is null: it is shown as plain text.
 */
import { Lexer, type Token } from "marked";

export interface Block {
  /** Where it begins in the text. */
  readonly at: number;
  readonly token: Token;
}

export interface Lexed {
  readonly text: string;
  /** Null: shown as plain text. */
  readonly blocks: readonly Block[] | null;
  /** The text before it will not change any block. */
  readonly finishedTo: number;
}

const MAX_CHARS = 100_000;
const OPTIONS = { gfm: true, breaks: false } as const;
export const NOTHING_LEXED: Lexed = { text: "", blocks: [], finishedTo: 0 };

export function lexOn(before: Lexed, text: string): Lexed {
  if (text === before.text) return before;
  if (text.length > MAX_CHARS) return { text, blocks: null, finishedTo: 0 };
  const goesOn = before.blocks !== null && text.startsWith(before.text);
  const kept = goesOn ? (before.blocks ?? []).filter(({ at }) => at < before.finishedTo) : [];
  const from = goesOn ? before.finishedTo : 0;
  try {
    const blocks = [...kept, ...blocksFrom(text, from)];
    return { text, blocks, finishedTo: finishedIn(blocks, from) };
  } catch {
    return { text, blocks: null, finishedTo: 0 };
  }
}

function blocksFrom(text: string, from: number): readonly Block[] {
  let at = from;
  return new Lexer(OPTIONS).lex(text.slice(from)).map((token) => {
    const block = { at, token };
    at += token.raw.length;
    return block;
  });
}

/** A later line may still go on with the last block, or with the one before the blank lines at the end. */
function finishedIn(blocks: readonly Block[], from: number): number {
  const last = blocks.findLast(({ token }) => token.type !== "space");
  return last === undefined ? from : Math.max(from, last.at);
}
