/** What a run says at its end: its answer, or the question of an escalation; null when it has nothing to say. */
import type { EntryOf } from "../entry.ts";
import { type Lookup, textOf } from "./body-content.ts";
import { escalationText } from "./escalation-text.ts";

export function answerOf(ending: EntryOf<"TERMINATE">, lookup: Lookup): string | null {
  const { result } = ending;
  return result?.type === "run.answered" ? textOf(result.ref, lookup) : escalationText(ending, lookup);
}
