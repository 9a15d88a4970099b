/** What a wire protocol hands over once its framing is off: nothing in it has been judged yet. */
import { hashCanonical } from "../vocabulary/hash.ts";
import type { Hash } from "../vocabulary/identifiers.ts";

export interface RawToolCall {
  /** Null where the provider gave none. */
  readonly id: string | null;
  readonly name: string;
  /** The arguments as the model wrote them; JSON or not. */
  readonly argumentsText: string;
}

export interface RawModelOutput {
  readonly content: string;
  readonly toolCalls: readonly RawToolCall[];
  readonly stopReason: string;
  readonly model: string;
  /** False when the stream broke off before the provider said that it was done. */
  readonly complete: boolean;
}

/** Stop reasons, in any case, which say that the provider cut the output: what stands last in it may be half a thing. */
const CUT_REASONS: readonly string[] = [
  "length",
  "max_tokens",
  "max_output_tokens",
  "model_length",
  "model_context_window_exceeded",
  "content_filter",
  "refusal",
  "incomplete",
  "error",
  "abort",
];

export function isCut(raw: RawModelOutput): boolean {
  return CUT_REASONS.includes(raw.stopReason.toLowerCase());
}

export function isWellFormed(raw: RawModelOutput): boolean {
  const texts = raw.toolCalls.flatMap((call) => [call.id ?? "", call.name, call.argumentsText]);
  return [raw.content, raw.stopReason, raw.model, ...texts].every((text) => text.isWellFormed());
}

/** Two outputs share a hash only if they are the same; what an adapter makes of one depends on nothing else. */
export function hashRawOutput(raw: RawModelOutput): Hash {
  const { content, stopReason, model, complete } = raw;
  const toolCalls = raw.toolCalls.map(({ id, name, argumentsText }) => ({ id, name, argumentsText }));
  const fields = { content, toolCalls, stopReason, model, complete };
  // A lone surrogate has no canonical JSON. Its plain JSON text escapes it, so that the hash still tells outputs apart.
  return hashCanonical(isWellFormed(raw) ? fields : JSON.stringify(fields));
}
