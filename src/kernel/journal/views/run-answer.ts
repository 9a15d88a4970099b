/**
 * What a run says at its end: its answer, or, after failing tools (O-2.3), what was tried, what went wrong and a question.
 * The text of an escalation is bounded: the newest attempts, each in one line without control characters.
 */
import type { BodyRef } from "../../vocabulary/identifiers.ts";
import type { EntryOf } from "../entry.ts";
import { type Lookup, textOf } from "./body-content.ts";

const MAX_ATTEMPTS = 5;
/** Code points. */
const MAX_ARGS_CHARS = 160;
const MAX_MESSAGE_CHARS = 240;
const MAX_OUTPUT_CHARS = 320;

type Attempt = EntryOf<"TERMINATE">["decided"]["attempts"][number];

/** Null when the run has nothing to say. */
export function answerOf(ending: EntryOf<"TERMINATE">, lookup: Lookup): string | null {
  const { result } = ending;
  return result?.type === "run.answered" ? textOf(result.ref, lookup) : escalationText(ending, lookup);
}

/** Null when the run ended otherwise. */
export function escalationText({ decided }: EntryOf<"TERMINATE">, lookup: Lookup): string | null {
  if (decided.reason !== "tool_failure_escalation") return null;
  const attempts = decided.attempts.slice(-MAX_ATTEMPTS).map((attempt) => attemptText(attempt, lookup));
  return [
    "The tools I need keep failing, so I stopped and need your guidance.",
    ...(attempts.length === 0 ? [] : [`Recent attempts:\n${attempts.join("\n")}`]),
    "How should I continue? You can correct the request, suggest another way, or tell me to stop.",
  ].join("\n\n");
}

function attemptText({ tool, argsRef, code, messageRef, outputRef }: Attempt, lookup: Lookup): string {
  const args = snippet(argsRef, MAX_ARGS_CHARS, lookup);
  const message = snippet(messageRef, MAX_MESSAGE_CHARS, lookup);
  const output = snippet(outputRef, MAX_OUTPUT_CHARS, lookup);
  const error = [code, message].filter((part) => part !== null).join(": ");
  const lines = [`- ${tool} ${args}`, `  error: ${error || "unknown"}`];
  return [...lines, ...(output === null ? [] : [`  output: ${output}`])].join("\n");
}

function snippet(ref: BodyRef | null, maxChars: number, lookup: Lookup): string | null {
  const text = textOf(ref, lookup);
  if (text === null) return null;
  const characters = [...text.replace(/[\p{C}\p{Z}]+/gu, " ").trim()];
  return characters.length > maxChars ? `${characters.slice(0, maxChars).join("")}…` : characters.join("");
}
