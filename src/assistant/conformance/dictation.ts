/**
 * The instructions of a conformance case, in plain words: which tools to call, with which arguments, and what to answer.
 *
 * D1. Any model that follows instructions can follow them; they depend on no provider or protocol.
 * D2. `readDictation` inverts `writeDictation`, so that the built-in model can follow them too.
 */
import { type JsonValue, parseJson } from "../../kernel/vocabulary/parse-json.ts";

type Fields = Readonly<Record<string, JsonValue>>;

export interface DictatedCall {
  readonly tool: string;
  readonly args: Fields;
}

export interface Dictation {
  /** What to think about first; does not change the answer. */
  readonly thought: string | null;
  /** All in one message. */
  readonly calls: readonly DictatedCall[];
  /** One line. */
  readonly answer: string;
  /** What a NOTES block after the answer holds. */
  readonly notes: Fields | null;
}

const OPENING = "Conformance check";
const CALLS = "Call these tools, all of them in one message, each with exactly the arguments beside it:";
const NO_CALLS = "Call no tool, even if you were told to use one.";
const THEN = "When their results are there, whatever they say, call nothing more.";
const ANSWER = "Answer with exactly this text:";
// Markers in a user's text are quoted on their way to the model, so this one is described.
const NOTES =
  "Below it write three more lines: the word NOTES_JSON directly between <<< and >>>, then this JSON, then the word END_NOTES_JSON directly between <<< and >>>:";

export function writeDictation(caseId: string, { thought, calls, answer, notes }: Dictation): string {
  const asked = calls.map(({ tool, args }) => `- ${tool} ${JSON.stringify(args)}`);
  return [
    `${OPENING} ${caseId}: please do exactly what is written here, and nothing else.`,
    ...(asked.length === 0 ? [NO_CALLS] : [CALLS, ...asked, THEN]),
    ...(thought === null ? [] : [thought]),
    ANSWER,
    answer,
    ...(notes === null ? [] : [NOTES, JSON.stringify(notes)]),
  ].join("\n");
}

/** Without the thought, which the built-in model ignores. Null when the message is not a dictation. */
export function readDictation(message: string): Omit<Dictation, "thought"> | null {
  const lines = message.split("\n");
  const answer = lineAfter(lines, ANSWER);
  if (!message.startsWith(`${OPENING} `) || answer === null) return null;
  const calls = lines.slice(0, lines.indexOf(ANSWER)).map(readCall);
  const notes = lineAfter(lines, NOTES);
  return { calls: calls.filter((call) => call !== null), answer, notes: notes === null ? null : fieldsIn(notes) };
}

function lineAfter(lines: readonly string[], line: string): string | null {
  const at = lines.indexOf(line);
  return at === -1 ? null : (lines[at + 1] ?? null);
}

function readCall(line: string): DictatedCall | null {
  const [, tool, json] = /^- ([a-z0-9_.]+) (\{.*\})$/s.exec(line) ?? [];
  const args = json === undefined ? null : fieldsIn(json);
  return tool === undefined || args === null ? null : { tool, args };
}

function fieldsIn(json: string): Fields | null {
  const parsed = parseJson(json);
  if (!parsed.ok || typeof parsed.value !== "object" || parsed.value === null || Array.isArray(parsed.value))
    return null;
  return parsed.value as Fields;
}
