/**
 * What becomes of a compaction's answer: a summary, written in the transaction that ends its run, or nothing. The
 * rules are simple and need no model; what they refuse leaves the session as it was.
 */
import type { StatementOf } from "../../kernel/journal/chain.ts";
import type { BodyRef, RunId } from "../../kernel/vocabulary/identifiers.ts";
import { summaryProblem } from "../model/summary-problem.ts";
import type { Write } from "../ports/store.ts";
import type { Condensing } from "../run/acceptance.ts";
import type { SessionCheckpoint } from "./session-checkpoint.ts";

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
  { decided, result, seq, ts, labels }: StatementOf<"TERMINATE">,
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
  return checkpoint.condense(summary, trims, seq);
}
