/** Talon's `ToolResult` (T-4.1), projected from the journal of a run that makes one call. */
import type { Entry } from "../../kernel/journal/entry.ts";
import { type Lookup, textOf } from "../../kernel/journal/views/body-content.ts";
import { shownError } from "../../kernel/journal/views/call-outcome.ts";
import { runTimeline } from "../../kernel/journal/views/run-timeline.ts";

export interface ToolResult {
  success: boolean;
  output: string;
  metadata?: {
    /** Milliseconds. */
    executionTime: number;
    truncated?: boolean;
    /** Set where a person's answer is missing: what they must confirm. */
    confirmation?: string;
  };
}

/** Null while the call has not ended; a run that ends without a call has none. */
export function toolResultIn(entries: readonly Entry[], lookup: Lookup): ToolResult | null {
  const items = runTimeline(entries);
  const ended = items.find((item) => item.kind === "call-ended");
  if (ended === undefined) return null;
  const { outcome, call } = ended;
  const error = shownError(outcome, lookup);
  const asked = items.find((item) => item.kind === "called");
  const isUnasked = asked?.approval?.decision === "unreachable";
  return {
    success: outcome.ok,
    output: error === null ? (textOf(outcome.outputRef, lookup) ?? "") : `${error.code}: ${error.message}`,
    metadata: {
      executionTime: outcome.durationMs,
      ...(outcome.truncated ? { truncated: true } : {}),
      ...(isUnasked ? { confirmation: `${call.tool} needs an approval, and no one could be asked.` } : {}),
    },
  };
}
