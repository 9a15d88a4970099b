/**
 * The demo model's summary: an extract by rule, and it says so. From each turn it keeps the beginning of what was said;
 * when there are too many turns, the oldest lines go.
 */
import { SUMMARY_HEADING, TURNS_HEADING } from "../../../assistant/context/transcript.ts";
import { cutText } from "../../../kernel/vocabulary/cut-text.ts";
import { estimateTokens } from "../../../runtime/model/estimate-tokens.ts";

const TITLE = "Extract by the built-in demo model, the beginning of each message:";
const MAX_TOKENS = 600;
const MAX_CHARS = 140;
const ENTRY = /^\[(\d+)\] (user|tool|assistant): (.*)$/;

export function extractSummary(transcript: string): string {
  const lines = transcript.split("\n");
  const start = lines.indexOf(TURNS_HEADING);
  const before = lines[0] === SUMMARY_HEADING ? lines.slice(1, start).map((line) => line.trim()) : [];
  const kept = before.filter((line) => line !== "" && line !== TITLE);
  const said = lines.slice(start + 1).flatMap((line) => {
    const [, , who = "", text = ""] = ENTRY.exec(line) ?? [];
    return who === "" ? [] : [`- ${WORDS[who] ?? who}: ${cutText(text, MAX_CHARS)}`];
  });
  const all = [...kept, ...said];
  let from = 0;
  while (from < all.length - 1 && estimateTokens([TITLE, ...all.slice(from)].join("\n")) > MAX_TOKENS) from += 1;
  return [TITLE, ...all.slice(from)].join("\n");
}

const LINES_KEPT = 6;
const LINE_CHARS = 80;

/** Of a tool's output, the beginning of its first lines. */
export function extractOutput(message: string): string {
  const lines = message
    .split("\n")
    .slice(2)
    .filter((line) => line.trim() !== "");
  const kept = lines.slice(0, LINES_KEPT).map((line) => `- ${cutText(line.trim(), LINE_CHARS)}`);
  return [`Extract by the built-in demo model, the beginning of the first of ${lines.length} lines:`, ...kept].join(
    "\n",
  );
}

const WORDS: Readonly<Record<string, string>> = { user: "The user said", tool: "Called", assistant: "Answered" };
