/**
 * JSON from outside, read strictly (RFC 8259): what two readers could understand differently is refused, as are
 * duplicate keys, lone surrogates and integers beyond 2^53 - 1. Objects inherit nothing, so `__proto__` is data like
 * any other. An accepted value equals that of `JSON.parse`. A problem names the rule and the place, never the content:
 * it may go into a journal.
 */
import { bareObject } from "./bare-object.ts";

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };

interface JsonLimits {
  readonly maxDepth?: number;
  /** UTF-16 code units, which are never more than the text's bytes. */
  readonly maxChars?: number;
}

interface JsonFailure {
  readonly code: "duplicate-key" | "trailing-text" | "invalid";
  readonly problem: string;
  readonly at: number;
}

type ParsedJson = { readonly ok: true; readonly value: JsonValue } | ({ readonly ok: false } & JsonFailure);

const DEFAULT_MAX_DEPTH = 64;
/** The reader calls itself once per level; this many calls fit on any stack. */
const CEILING_DEPTH = 512;
const DEFAULT_MAX_CHARS = 1_048_576;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const FIRST_PRINTABLE = 0x20;

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const HEX4 = /^[0-9a-fA-F]{4}$/;
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);

/** Readers return undefined, which no JSON value is, after they have noted why in `failure`. */
interface Reader {
  readonly text: string;
  readonly maxDepth: number;
  at: number;
  failure: JsonFailure | null;
}

export function parseJson(text: string, limits: JsonLimits = {}): ParsedJson {
  const maxChars = limits.maxChars ?? DEFAULT_MAX_CHARS;
  if (text.length > maxChars) {
    return { ok: false, code: "invalid", problem: `longer than ${maxChars} characters`, at: maxChars };
  }
  const maxDepth = Math.min(limits.maxDepth ?? DEFAULT_MAX_DEPTH, CEILING_DEPTH);
  const reader: Reader = { text, maxDepth, at: 0, failure: null };
  let value = readValue(reader, 0);
  if (value !== undefined && skipWhitespace(reader) < text.length) {
    value = fail(reader, "something follows the value", reader.at, "trailing-text");
  }
  if (value === undefined) return { ok: false, ...(reader.failure as JsonFailure) };
  return { ok: true, value };
}

function readValue(reader: Reader, depth: number): JsonValue | undefined {
  const at = skipWhitespace(reader);
  switch (reader.text.charCodeAt(at)) {
    case QUOTE:
      return readString(reader);
    case OPENING_BRACE:
    case OPENING_BRACKET:
      if (depth >= reader.maxDepth) return fail(reader, `nested deeper than ${reader.maxDepth} levels`);
      reader.at += 1;
      return reader.text.charCodeAt(at) === OPENING_BRACE
        ? readObject(reader, depth + 1)
        : readArray(reader, depth + 1);
    case 0x74:
      return readLiteral(reader, "true", true);
    case 0x66:
      return readLiteral(reader, "false", false);
    case 0x6e:
      return readLiteral(reader, "null", null);
    default:
      return readNumber(reader);
  }
}

/** From behind the opening brace to behind the closing one. */
function readObject(reader: Reader, depth: number): JsonValue | undefined {
  const object: Record<string, JsonValue> = bareObject();
  if (takes(reader, CLOSING_BRACE)) return object;
  do {
    const keyAt = skipWhitespace(reader);
    if (reader.text.charCodeAt(keyAt) !== QUOTE) return fail(reader, "expected a key");
    const key = readString(reader);
    if (key === undefined) return undefined;
    if (key in object) return fail(reader, "duplicate key", keyAt, "duplicate-key");
    if (!takes(reader, COLON)) return fail(reader, "expected a colon");
    const value = readValue(reader, depth);
    if (value === undefined) return undefined;
    object[key] = value;
  } while (takes(reader, COMMA));
  return takes(reader, CLOSING_BRACE) ? object : fail(reader, "expected a comma or a closing brace");
}

/** From behind the opening bracket to behind the closing one. */
function readArray(reader: Reader, depth: number): JsonValue | undefined {
  const array: JsonValue[] = [];
  if (takes(reader, CLOSING_BRACKET)) return array;
  do {
    const value = readValue(reader, depth);
    if (value === undefined) return undefined;
    array.push(value);
  } while (takes(reader, COMMA));
  return takes(reader, CLOSING_BRACKET) ? array : fail(reader, "expected a comma or a closing bracket");
}

function readString(reader: Reader): string | undefined {
  const { text } = reader;
  const start = reader.at;
  let value = "";
  let copied = start + 1;
  for (let at = copied; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      reader.at = at + 1;
      value += text.slice(copied, at);
      // Checked on the whole, since a pair may be half escaped.
      return value.isWellFormed() ? value : fail(reader, "a lone surrogate in a string", start);
    }
    if (code < FIRST_PRINTABLE) return fail(reader, "a control character in a string", at);
    if (code === BACKSLASH) {
      const escaped = readEscape(text, at);
      if (escaped === undefined) return fail(reader, "an unknown escape", at);
      value += text.slice(copied, at) + escaped;
      at += text[at + 1] === "u" ? 5 : 1;
      copied = at + 1;
    }
  }
  return fail(reader, "a string without an end", start);
}

function readEscape(text: string, at: number): string | undefined {
  const kind = text[at + 1] ?? "";
  if (kind !== "u") return ESCAPES.get(kind);
  const hex = text.slice(at + 2, at + 6);
  return HEX4.test(hex) ? String.fromCharCode(Number.parseInt(hex, 16)) : undefined;
}

function readNumber(reader: Reader): number | undefined {
  NUMBER.lastIndex = reader.at;
  const digits = NUMBER.exec(reader.text)?.[0];
  if (digits === undefined) return fail(reader, "expected a value");
  const value = Number(digits);
  if (!isSafeNumber(value)) return fail(reader, "a number that does not fit");
  reader.at += digits.length;
  return value;
}

/** An integral double beyond 2^53 - 1 represents several integers, however it is written. */
export function isSafeNumber(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}

function readLiteral(reader: Reader, literal: string, value: JsonValue): JsonValue | undefined {
  if (!reader.text.startsWith(literal, reader.at)) return fail(reader, "expected a value");
  reader.at += literal.length;
  return value;
}

/** The next position that is not white space. */
function skipWhitespace(reader: Reader): number {
  while (true) {
    const code = reader.text.charCodeAt(reader.at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return reader.at;
    reader.at += 1;
  }
}

/** Takes this character, past white space, if it is the next one. */
function takes(reader: Reader, code: number): boolean {
  if (reader.text.charCodeAt(skipWhitespace(reader)) !== code) return false;
  reader.at += 1;
  return true;
}

function fail(reader: Reader, problem: string, at = reader.at, code: JsonFailure["code"] = "invalid"): undefined {
  reader.failure = { code, problem, at };
  return undefined;
}
