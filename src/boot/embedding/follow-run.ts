/** Follows a run to its end, its embedder's question, or the closing of its home, whichever comes first. */
import type { RunUpdate } from "../../assistant/runs/run-updates.ts";
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { EmbeddedParts } from "./embedded-parts.ts";

/** `onQuestion`: the plan of a question that no one answers, so that the run stays open. */
export async function* followRun(
  { assistant, questions, closing }: Pick<EmbeddedParts, "assistant" | "questions" | "closing">,
  runId: RunId,
  onQuestion: (shown: string) => void = () => {},
): AsyncGenerator<RunUpdate> {
  const leaving = new AbortController();
  questions.unanswered(runId).then(({ shown }) => {
    onQuestion(shown);
    leaving.abort();
  });
  try {
    yield* (await assistant.watch(runId, 0, AbortSignal.any([closing, leaving.signal]))) ?? [];
  } finally {
    leaving.abort();
    questions.forget(runId);
  }
}
