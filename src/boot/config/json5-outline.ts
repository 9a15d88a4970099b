/**
 * The keys and values of a JSON5 text with their offsets. The JSON5 library reports neither offsets nor repeated keys,
 * which errors and edits that keep comments need.
 *
 * O1. For texts that JSON5.parse accepts; for any other text the result means nothing, but it is found in linear time.
 * O2. Nesting beyond MAX_DEPTH is not followed: such a value has no members.
 */
import JSON5 from "json5";

export const MAX_DEPTH = 32;

export interface Outline {
  readonly kind: "object" | "array" | "scalar";
  readonly start: number;
  /** After its last character. */
  readonly end: number;
  /** An array's keys are its indexes. */
  readonly members: readonly Member[];
}

interface Member {
  readonly key: string;
  readonly keyStart: number;
  readonly value: Outline;
}

interface Scan {
  readonly value: Outline;
  readonly next: number;
}

const TRIVIA = /(?:\s+|\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\/)*/y;
const QUOTED = /"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'/y;
const BARE = /[^\s,:[\]{}/]+/y;

export function outlineOf(text: string): Outline {
  return scanValue(text, skipTrivia(text, 0), 0).value;
}

/** The first offset at or after `at` that is neither blank nor comment. */
export function skipTrivia(text: string, at: number): number {
  return at + lengthOf(TRIVIA, text, at);
}

export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split(/\r\n|[\n\r]/).length;
}

function scanValue(text: string, at: number, depth: number): Scan {
  const opening = text.charAt(at);
  if (depth < MAX_DEPTH && (opening === "{" || opening === "[")) return scanMembers(text, at, depth + 1);
  const end = at + Math.max(lengthOf(QUOTED, text, at) || lengthOf(BARE, text, at), 1);
  return { value: { kind: "scalar", start: at, end, members: [] }, next: skipTrivia(text, end) };
}

function scanMembers(text: string, start: number, depth: number): Scan {
  const kind = text.charAt(start) === "{" ? "object" : "array";
  const members: Member[] = [];
  let at = skipTrivia(text, start + 1);
  while (at < text.length && text.charAt(at) !== (kind === "object" ? "}" : "]")) {
    const keyStart = at;
    const keyEnd = kind === "array" ? at : at + (lengthOf(QUOTED, text, at) || lengthOf(BARE, text, at));
    // A colon follows the key, perhaps after a comment.
    const valueStart = kind === "array" ? at : skipTrivia(text, skipTrivia(text, keyEnd) + 1);
    const key = kind === "array" ? String(members.length) : readKey(text.slice(keyStart, keyEnd));
    const { value, next } = scanValue(text, valueStart, depth);
    members.push({ key, keyStart, value });
    at = text.charAt(next) === "," ? skipTrivia(text, next + 1) : next;
  }
  const end = at + 1;
  return { value: { kind, start, end, members }, next: skipTrivia(text, end) };
}

function readKey(source: string): string {
  if (!/["'\\]/.test(source)) return source;
  const [key] = Object.keys(JSON5.parse<object>(`{${source}:0}`));
  return key ?? source;
}

function lengthOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length ?? 0;
}
