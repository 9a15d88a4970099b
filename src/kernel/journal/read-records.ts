/**
 * Files of records: one canonical JSON object a line, so every byte is significant. Only the newline byte ends a line.
 * Bytes behind the last newline are a torn tail: an append that a crash cut short, never tampering. Reading stops at
 * the first bad line: what follows it proves nothing.
 */
import { canonicalJson } from "../vocabulary/canonical-json.ts";
import { type JsonValue, parseJson } from "../vocabulary/parse-json.ts";

export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

export interface Records<T> {
  readonly entries: readonly T[];
  /** For display: invalid UTF-8 shows as U+FFFD. */
  readonly torn: string | null;
  readonly bad: BadEntry | null;
}

export interface BadEntry {
  readonly entry: number;
  readonly problem: string;
}

export type Refused = { readonly ok: false } & BadEntry;

const NEWLINE = 0x0a;
// A lenient decoder would read two different files as one text.
const strictly = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const leniently = new TextDecoder("utf-8", { ignoreBOM: true });

export function readRecords<T>(file: string | Uint8Array, parse: (line: string) => Parsed<T>): Records<T> {
  const bytes = typeof file === "string" ? new TextEncoder().encode(file) : file;
  const end = bytes.lastIndexOf(NEWLINE) + 1;
  const torn = end === bytes.length ? null : leniently.decode(bytes.subarray(end));
  const entries: T[] = [];
  for (let start = 0; start < end; ) {
    const lineEnd = bytes.indexOf(NEWLINE, start);
    const text = decodeText(bytes.subarray(start, lineEnd));
    const parsed = text.ok ? parse(text.value) : text;
    if (!parsed.ok) return { entries, torn, bad: { entry: entries.length + 1, problem: parsed.problem } };
    entries.push(parsed.value);
    start = lineEnd + 1;
  }
  return { entries, torn, bad: null };
}

export function parseCanonical(line: string): Parsed<JsonValue> {
  const parsed = parseDocument(line);
  if (!parsed.ok) return { ok: false, problem: parsed.problem };
  return canonicalJson(parsed.value) === line ? parsed : { ok: false, problem: "not canonical JSON" };
}

/** The place where a document cannot be read, and the text before it. */
type Unreadable = { readonly ok: false; readonly problem: string; readonly text: string; readonly at: number };

/** A JSON document of any layout and length. */
export function readDocument(file: string | Uint8Array): { readonly ok: true; readonly value: JsonValue } | Unreadable {
  if (typeof file === "string") return parseDocument(file);
  const decoded = decodeText(file);
  if (decoded.ok) return parseDocument(decoded.value);
  const text = leniently.decode(file);
  const mended = new TextEncoder().encode(text);
  const badByte = file.findIndex((byte, at) => byte !== mended[at]);
  return { ...decoded, text, at: leniently.decode(file.subarray(0, badByte)).length };
}

function parseDocument(text: string): { readonly ok: true; readonly value: JsonValue } | Unreadable {
  const parsed = parseJson(text, { maxChars: text.length });
  return parsed.ok
    ? parsed
    : { ok: false, problem: `not JSON: ${parsed.problem} at ${parsed.at}`, text, at: parsed.at };
}

function decodeText(bytes: Uint8Array): Parsed<string> {
  try {
    return { ok: true, value: strictly.decode(bytes) };
  } catch {
    return { ok: false, problem: "not UTF-8" };
  }
}
