/**
 * TERMINATE: state the outcome, once. Only a completed run has an answer, so no text is released without the required
 * proof (M-F).
 */
import { emit, type Moved, type MoveTo, record, type Turn, update, wait } from "./turn.ts";

export function enterTerminate(turn: Turn, { outcome, reason, answerRef, attempts }: MoveTo<"TERMINATE">): Moved {
  const decided = { outcome, reason, attempts: [...attempts] };
  const result = answerRef === null ? {} : { result: { type: "run.answered", ref: answerRef } as const };
  const ended = update(record(turn, "TERMINATE", decided, result), {
    phase: { at: "TERMINATE", outcome, reason, answerRef },
  });
  return wait(emit(ended, { type: "finish", outcome, reason, answerRef }));
}
