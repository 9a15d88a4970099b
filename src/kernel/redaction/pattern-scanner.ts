/**
 * The second stage of redaction: applies `secret-patterns.ts` to what the first stage let through, left to right; the
 * first rule that matches at a place wins. A place whose rules cannot be decided yet is held back with all that
 * follows, and asked again once the held text has grown by an eighth: asking at every small chunk would be too slow. A
 * marker of the first stage ends every run before it, like the end of the text.
 */
import { isIn, MAX_RUN_CHARS } from "./character-run.ts";
import type { Piece } from "./known-secrets.ts";
import { LookAhead, MORE, NONE } from "./look-ahead.ts";
import { PatternFilter } from "./pattern-filter.ts";
import { holeOf } from "./redaction-marker.ts";
import { CONTEXT_CHARS, type SecretPattern, SWALLOWED_BEFORE, type Swallow } from "./secret-patterns.ts";

/** The longest rule is the JWT's: `eyJ`, a header, two dots and the start of a payload. */
const MAX_UNDECIDED_CHARS = 3 + MAX_RUN_CHARS + 2 + 8;
export const MAX_PATTERN_HELD_CHARS = grownByAnEighth(MAX_UNDECIDED_CHARS);

export interface PatternState {
  readonly held: string;
  /** How much must be held before its first place is asked about again. */
  readonly askAt: number;
  /** The end of what has been released. */
  readonly context: string;
  readonly swallowing: { readonly step: Swallow; readonly state: number } | null;
}

export interface PatternOutput {
  readonly text: string;
  readonly found: readonly string[];
}

export interface PatternTable {
  /** The rules that can start with a character, after another. */
  readonly startingWith: (code: number, previous: number) => readonly SecretPattern[];
  readonly filter: PatternFilter;
}

const BEYOND_ASCII = 0x80;

export const PATTERNS_STARTED: PatternState = { held: "", askAt: 0, context: "", swallowing: null };

export function compilePatterns(patterns: readonly SecretPattern[]): PatternTable {
  // A row for each ASCII character and one for all others, with as many cells: each made when a text has need of it.
  const rows: { readonly starting: readonly SecretPattern[]; readonly cells: (readonly SecretPattern[])[] }[] = [];
  const startingWith = (code: number, previous: number): readonly SecretPattern[] => {
    const at = Math.min(code, BEYOND_ASCII);
    rows[at] ??= { starting: patterns.filter(({ first }) => isIn(first, at)), cells: [] };
    const { starting, cells } = rows[at];
    const before = Math.min(previous, BEYOND_ASCII);
    cells[before] ??= starting.filter(({ after }) => isIn(after, before));
    return cells[before];
  };
  return { startingWith, filter: new PatternFilter(patterns) };
}

/** The result of scanning a whole text without markers. */
export function scanWholeText(table: PatternTable, text: string): PatternOutput {
  const from = table.filter.firstPlace(text);
  if (from === null) return { text, found: [] };
  const state = { ...PATTERNS_STARTED, context: endOf(text.slice(0, from)) };
  const [, output] = scanPatterns(table, state, [text.slice(from)], true);
  return { text: text.slice(0, from) + output.text, found: output.found };
}

export function scanPatterns(
  table: PatternTable,
  from: PatternState,
  pieces: readonly Piece[],
  isFinal: boolean,
): readonly [PatternState, PatternOutput] {
  let state = from;
  const texts: string[] = [];
  const found: string[] = [];
  const take = ([next, output]: readonly [PatternState, PatternOutput]): void => {
    state = next;
    texts.push(output.text);
    found.push(...output.found);
  };
  for (const piece of pieces) {
    if (typeof piece === "string") {
      take(scanText(table, state, piece, false));
      continue;
    }
    take(scanText(table, state, "", true));
    texts.push(piece.marker);
    if (piece.found !== null) found.push(piece.found);
    state = { held: "", askAt: 0, context: endOf(state.context + piece.marker), swallowing: null };
  }
  if (isFinal) take(scanText(table, state, "", true));
  return [state, { text: texts.join(""), found }];
}

function scanText(
  table: PatternTable,
  from: PatternState,
  chunk: string,
  isFinal: boolean,
): readonly [PatternState, PatternOutput] {
  const text = from.held + chunk;
  if (!isFinal && text.length < from.askAt)
    return [
      { ...from, held: text },
      { text: "", found: [] },
    ];
  const ahead = new LookAhead(text, isFinal);
  const out: string[] = [];
  const found: string[] = [];
  let { context, swallowing } = from;
  /** All before `kept` is in `out` or swallowed, and `context` ends there. */
  let kept = 0;
  let at = 0;
  const contextOf = (): string => endOf(context + text.slice(Math.max(kept, at - CONTEXT_CHARS), at));
  const release = (released: string): void => {
    out.push(released);
    context = endOf(context + released.slice(-CONTEXT_CHARS));
  };
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (swallowing !== null) {
      const state: number = swallowing.step(swallowing.state, code);
      swallowing = state < 0 ? null : { step: swallowing.step, state };
      if (state !== SWALLOWED_BEFORE) at += 1;
      kept = at;
      continue;
    }
    const previous = at > kept ? text.charCodeAt(at - 1) : lastUnit(context);
    const candidates = table.startingWith(code, previous);
    const verdict = candidates.length === 0 ? NONE : firstMatch(candidates, ahead, at, contextOf);
    if (verdict === MORE) break;
    if (verdict === NONE) {
      at += 1;
      continue;
    }
    release(text.slice(kept, at) + holeOf(verdict.pattern.kind));
    found.push(verdict.pattern.kind);
    swallowing = { step: verdict.pattern.swallow, state: 0 };
    at = verdict.end;
    kept = at;
  }
  release(text.slice(kept, at));
  return [
    { held: text.slice(at), askAt: grownByAnEighth(text.length - at), context, swallowing },
    { text: out.join(""), found },
  ];
}

function firstMatch(
  candidates: readonly SecretPattern[],
  ahead: LookAhead,
  at: number,
  contextOf: () => string,
): typeof NONE | typeof MORE | { readonly pattern: SecretPattern; readonly end: number } {
  for (const pattern of candidates) {
    const end = pattern.match(ahead, at);
    if (end === NONE || !pattern.mayFollow(contextOf())) continue;
    return end === MORE ? MORE : { pattern, end };
  }
  return NONE;
}

function grownByAnEighth(length: number): number {
  return length + (length >> 3);
}

function endOf(text: string): string {
  return text.slice(-CONTEXT_CHARS);
}

/** The start of a text counts as a space. */
function lastUnit(context: string): number {
  return context === "" ? 0x20 : context.charCodeAt(context.length - 1);
}
