/**
 * Where untrusted text came into a run, for the person who is asked whether a call may run: the entry that brought
 * it in, what it came from, and how it begins. Foreign text is escaped here, so that no reader is moved by it.
 */
import { CLEAN_LABELS, joinLabels, type Labels } from "../../vocabulary/labels.ts";
import type { Statement } from "../chain.ts";
import type { RunEvent } from "../event.ts";
import { contentOf, type Lookup, textOf } from "./body-content.ts";
import { callInWords } from "./call-explanation.ts";

export interface UntrustedSource {
  readonly seq: number;
  /** Null for what the run started with: its message, and what its session and workspace gave it. */
  readonly tool: string | null;
  /** The call in one line. */
  readonly source: string;
  readonly labels: Labels;
  /** How the text begins; null where the run started with it and it is not the message alone. */
  readonly excerpt: string | null;
  readonly isCut: boolean;
}

type Call = Parameters<typeof callInWords>[0];

const MAX_EXCERPT_CHARS = 280;

export function bringsUntrusted(entry: Statement): boolean {
  return labelled(entry).some(({ labels }) => labels.integrity === "untrusted");
}

/** `call`: the call that the entry is about, if it is about one. */
export function untrustedSourceOf(entry: Statement, call: Call | null, lookup: Lookup): UntrustedSource {
  const events = labelled(entry);
  const labels = events.reduce((joined, event) => joinLabels(joined, event.labels), CLEAN_LABELS);
  const place = { seq: entry.seq, labels };
  if (call === null) return { ...place, tool: null, source: AT_THE_START, excerpt: null, isCut: false };
  const answer = events.find((event) => "response" in event);
  const ref = answer === undefined ? null : answer.response.outputRef;
  const text = longestText(contentOf(ref, lookup)) ?? textOf(ref, lookup) ?? "";
  const isCut = text.length > MAX_EXCERPT_CHARS;
  const excerpt = escaped(text.slice(0, MAX_EXCERPT_CHARS).toWellFormed());
  return { ...place, tool: call.tool, source: escaped(callInWords(call, lookup)), excerpt, isCut };
}

const AT_THE_START = "the message and context the run started with";

type Labelled = Extract<RunEvent | NonNullable<Statement["result"]>, { labels: Labels }>;

function labelled({ decided, result }: Statement): readonly Labelled[] {
  const events = [...("heard" in decided ? decided.heard : []), ...(result === null ? [] : [result])];
  return events.filter((event) => "labels" in event);
}

/** Of a structured result: a page rather than its address. */
function longestText(content: unknown): string | null {
  if (typeof content === "string") return content;
  if (typeof content !== "object" || content === null) return null;
  const texts = Object.values(content).flatMap((value) => longestText(value) ?? []);
  return texts.reduce<string | null>((longest, text) => (text.length > (longest?.length ?? 0) ? text : longest), null);
}

/** What is invisible, moves the cursor or reorders text is written out; one line. */
function escaped(text: string): string {
  return text.replace(/[\n\r\t]+/g, " ").replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}
