/**
 * Where things stand in a JSON5 text: every key and value with its place. The JSON5 library tells neither places nor
 * repeated keys, and errors, duplicates and edits that keep comments need them.
 *
 * O1. For texts that JSON5.parse accepts; of any other the answer means nothing, but it is given, and soon.
 * O2. Nesting beyond MAX_DEPTH is not followed: such a value has no members.
 */
import JSON5 from "json5";

export const MAX_DEPTH = 32;

export interface Outline {
  readonly kind: "object" | "array" | "scalar";
  readonly start: number;
  /** Behind its last character. */
  readonly end: number;
  /** Of an array the keys are indexes. */
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

/** The first place at or after `at` that is neither blank nor comment. */
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
    // Behind the key stands a colon, perhaps after a comment.
    const valueStart = kind === "array" ? at : skipTrivia(text, skipTrivia(text, keyEnd) + 1);
    const key = kind === "array" ? String(members.length) : readKey(text.slice(keyStart, keyEnd));
    const { value, next } = scanValue(text, valueStart, depth);
    members.push({ key, keyStart, value });
    at = text.charAt(next) === "," ? skipTrivia(text, next + 1) : next;
  }
  const end = at + 1;
  return { value: { kind, start, end, members }, next: skipTrivia(text, end) };
}

/** Escapes in keys are rare and the library knows them all. */
function readKey(source: string): string {
  if (!/["'\\]/.test(source)) return source;
  const [key] = Object.keys(JSON5.parse<object>(`{${source}:0}`));
  return key ?? source;
}

function lengthOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length ?? 0;
}
