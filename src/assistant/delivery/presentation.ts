/**
 * The text for an external channel when a run ends (P-2.4, P-3.4, P-5.5): the final answer; or one error code, a question and
 * the run's id. Never what was tried, which tools there are, or half an answer.
 */
import { wireCodeOf } from "../../kernel/vocabulary/failures.ts";
import { terminalStatus } from "../../kernel/vocabulary/outcome.ts";
import type { RunEnd } from "../../runtime/run-ports.ts";

export function presentEnding({ runId, outcome, reason, answer }: RunEnd): string {
  const status = terminalStatus(outcome);
  if (status === "completed") return answer === null || answer.trim() === "" ? `Done (${runId}).` : answer;
  const code = wireCodeOf(reason);
  const what = status === "cancelled" ? "I stopped before I had finished" : "I could not finish this";
  return `${what} (${code}). How should I continue? You can ask in other words, or ask the operator about ${runId}.`;
}
