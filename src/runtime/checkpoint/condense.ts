/**
 * What becomes of a compaction's answer: a summary, written in the transaction that ends its run, or nothing. The
 * rules are simple and need no model; what they refuse leaves the session as it was.
 */
import { deflateRawSync } from "node:zlib";
import type { StatementOf } from "../../kernel/journal/chain.ts";
import type { BodyRef, RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Write } from "../ports/store.ts";
import type { Condensing } from "../run/acceptance.ts";
import type { SessionCheckpoint } from "./session-checkpoint.ts";

/** Fewer letters and digits say nothing about a conversation. */
const MIN_SIGNS = 10;
/** A summary may be longer than a very short transcript. */
const SHORT_TOKENS = 200;
/** Prose of this size deflates to half of it; a text that repeats itself to a small part. */
const MIN_REPETITION_BYTES = 120;
const REPETITION_RATIO = 0.22;

/** Why the text cannot be the summary of the transcript; null when it can. */
function summaryProblem(
  text: string,
  transcript: string,
  countTokens: (text: string) => number,
  maxTokens: number,
): string | null {
  const signs = text.match(/[\p{L}\p{N}]/gu)?.length ?? 0;
  if (signs < MIN_SIGNS) return "it says nothing";
  const tokens = countTokens(text);
  if (tokens > maxTokens) return `it has ${tokens} tokens, and ${maxTokens} are allowed`;
  if (tokens > SHORT_TOKENS && tokens >= countTokens(transcript)) return "it is longer than what it condenses";
  const bytes = Buffer.byteLength(text);
  const isRepeating = bytes >= MIN_REPETITION_BYTES && deflateRawSync(text).length < bytes * REPETITION_RATIO;
  if (isRepeating) return "it repeats itself";
  return isCopy(text, transcript) ? "it is a copy of the transcript" : null;
}

/** One part of it, word for word, whatever the line breaks; a short one may well be all that was said. */
function isCopy(text: string, transcript: string): boolean {
  const copied = unspaced(text);
  return copied.length >= MIN_REPETITION_BYTES && unspaced(transcript).includes(copied);
}

function unspaced(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

export interface CondenseContext {
  readonly runId: RunId;
  readonly condenses: Condensing;
  readonly checkpoint: SessionCheckpoint;
  readonly transcript: string;
  readonly read: (ref: BodyRef) => string | null;
  readonly countTokens: (text: string) => number;
}

/** For the transaction that ends the run; none when there is no usable answer. */
export function condenseWrites(
  { runId, condenses, checkpoint, transcript, read, countTokens }: CondenseContext,
  { decided, result, ts, labels }: StatementOf<"TERMINATE">,
): readonly Write[] {
  if (decided.outcome !== "COMPLETED_CHAT_ONLY" || result?.type !== "run.answered") return [];
  const text = (read(result.ref) ?? "").trim();
  const { through, turns, evidence, maxTokens, trims } = condenses;
  if (summaryProblem(text, transcript, countTokens, maxTokens) !== null) return [];
  const summary = {
    text,
    labels,
    tokens: countTokens(text),
    createdAt: ts,
    evidence,
    writtenBy: runId,
    turns,
    through,
  };
  return checkpoint.condense(summary, trims);
}
