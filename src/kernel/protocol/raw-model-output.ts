/** The output of a model after its wire framing, not yet interpreted. */
import { hashCanonical } from "../vocabulary/hash.ts";
import type { Hash } from "../vocabulary/identifiers.ts";

export interface RawToolCall {
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

/** Stop reasons, in any case, with which a model ends an answer by itself: OpenAI's, Anthropic's, Google's and others'. */
const PROPER_ENDS: readonly string[] = [
  "stop",
  "stop_sequence",
  "end_turn",
  "tool_calls",
  "tool_call",
  "tool_use",
  "function_call",
  "eos",
  "eos_token",
  "complete",
  "completed",
];

/**
 * Whether the end of the output may be incomplete. A reason we do not know counts as a cut: the next provider's
 * word for one is not known either. Some dialects give none beside tool calls; there the end of the stream must do.
 */
export function isCut({ stopReason, complete }: RawModelOutput): boolean {
  const reason = stopReason.trim().toLowerCase();
  return reason === "" ? !complete : !PROPER_ENDS.includes(reason);
}

export function isWellFormed({ content, stopReason, model, toolCalls }: RawModelOutput): boolean {
  if (!content.isWellFormed() || !stopReason.isWellFormed() || !model.isWellFormed()) return false;
  return toolCalls.every(
    ({ id, name, argumentsText }) =>
      (id === null || id.isWellFormed()) && name.isWellFormed() && argumentsText.isWellFormed(),
  );
}

/** Two outputs share a hash only if they are the same; what an adapter makes of one depends on nothing else. */
export function hashRawOutput(raw: RawModelOutput): Hash {
  const { content, stopReason, model, complete } = raw;
  const toolCalls = raw.toolCalls.map(({ id, name, argumentsText }) => ({ id, name, argumentsText }));
  const output = { content, toolCalls, stopReason, model, complete };
  // A lone surrogate has no canonical JSON. Its plain JSON text escapes it, so that the hash still tells outputs apart.
  return hashCanonical(isWellFormed(raw) ? output : JSON.stringify(output));
}
