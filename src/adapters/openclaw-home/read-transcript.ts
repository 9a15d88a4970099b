/**
 * Reads a transcript of the Clawdbot, Moltbot or OpenClaw gateway: one JSON object per line, a header of type `session`, then
 * entries. From version 2 entries form a tree (`id`, `parentId`): the conversation is the branch that ends in the last entry.
 * Messages are those of pi's session format, versions 1 to 3:
 * badlogic/pi-mono packages/coding-agent/docs/session.md at 25754f0 (version 1),
 * earendil-works/pi packages/coding-agent/docs/session.md at 247ad32 (versions 2 and 3).
 *
 * R1. A line that cannot be read is named and left out; the rest is read. An entry whose parent is missing follows the entry
 *     before it in the file.
 * R2. Entries that are no part of the conversation (settings, labels, state of extensions) are passed over.
 */
import type { ForeignCall, ForeignTurn } from "../../assistant/sessions/import-session.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";

export interface TranscriptLine {
  /** Where it stands, such as `FILE:12`. */
  readonly place: string;
  readonly text: string;
}

export type Lines = AsyncIterable<TranscriptLine> | Iterable<TranscriptLine>;

export interface Transcript {
  /** The session id of its header. */
  readonly id: string | null;
  /** As its last `session_info` names it. */
  readonly name: string | null;
  readonly summary: string;
  readonly turns: readonly ForeignTurn[];
  /** Lines that could not be read. */
  readonly bad: readonly string[];
}

export type Fields = Readonly<Record<string, unknown>>;

interface TranscriptEntry {
  readonly id: string | null;
  readonly parentId: string | null | undefined;
  readonly before: TranscriptEntry | null;
  readonly atMs: number;
  readonly fields: Fields;
}

export async function readTranscript(lines: Lines, fallbackMs: number): Promise<Transcript> {
  const bad: string[] = [];
  const byId = new Map<string, TranscriptEntry>();
  let header: Fields | null = null;
  let last: TranscriptEntry | null = null;
  for await (const { place, text } of lines) {
    if (text.trim() === "") continue;
    const fields = parseFields(text);
    if (fields === null) bad.push(`${place}: is no JSON object`);
    else if (typeof fields["type"] !== "string") bad.push(`${place}: has no type`);
    else if (fields["type"] === "session") header ??= fields;
    else if (fields["type"] === "message" && messageOf(fields) === null) bad.push(`${place}: its message has no role`);
    else {
      const atMs: number = timeOf(fields) ?? last?.atMs ?? (header === null ? null : timeOf(header)) ?? fallbackMs;
      const { id, parentId } = fields;
      const entry: TranscriptEntry = {
        id: typeof id === "string" ? id : null,
        parentId: typeof parentId === "string" || parentId === null ? parentId : undefined,
        ...{ before: last, atMs, fields },
      };
      if (entry.id !== null) byId.set(entry.id, entry);
      last = entry;
    }
  }
  const branch = branchTo(last, byId);
  const id = header?.["id"];
  return {
    id: typeof id === "string" ? id : null,
    name: lastText(branch, "session_info", "name"),
    summary: lastText(branch, "compaction", "summary") ?? "",
    turns: turnsOf(branch),
    bad,
  };
}

export function parseFields(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function messageOf({ message }: Fields): (Fields & { readonly role: string }) | null {
  return isFields(message) && typeof message["role"] === "string" ? (message as Fields & { role: string }) : null;
}

/** What a clock of these programs can have shown; other numbers are no times. */
const LATEST_MS = Date.parse("2100-01-01");

function timeOf({ timestamp, message }: Fields): number | null {
  const said = isFields(message) && typeof message["timestamp"] === "number" ? message["timestamp"] : timestamp;
  const ms = typeof said === "string" ? Date.parse(said) : said;
  return typeof ms === "number" && ms > 0 && ms < LATEST_MS ? Math.trunc(ms) : null;
}

function branchTo(
  last: TranscriptEntry | null,
  byId: ReadonlyMap<string, TranscriptEntry>,
): readonly TranscriptEntry[] {
  const branch: TranscriptEntry[] = [];
  const seen = new Set<TranscriptEntry>();
  let entry = last;
  // A damaged tree can have a circle.
  while (entry !== null && !seen.has(entry)) {
    seen.add(entry);
    branch.push(entry);
    const { parentId, before } = entry;
    entry = parentId === null ? null : ((parentId === undefined ? null : byId.get(parentId)) ?? before);
  }
  return branch.reverse();
}

function lastText(branch: readonly TranscriptEntry[], type: string, field: string): string | null {
  const text = branch.findLast(({ fields }) => fields["type"] === type)?.fields[field];
  return typeof text === "string" && text.trim() !== "" ? text : null;
}

interface OpenTurn {
  readonly askedAt: number;
  answeredAt: number;
  readonly asked: string;
  readonly calls: { id: string; call: ForeignCall }[];
  readonly answers: string[];
}

function turnsOf(branch: readonly TranscriptEntry[]): readonly ForeignTurn[] {
  const turns: OpenTurn[] = [];
  const begin = (asked: string, atMs: number): OpenTurn => {
    const turn: OpenTurn = { askedAt: atMs, answeredAt: atMs, asked, calls: [], answers: [] };
    turns.push(turn);
    return turn;
  };
  for (const { fields, atMs } of branch) {
    // A message of an extension is sent to the model like the user's.
    const message = fields["type"] === "custom_message" ? { ...fields, role: "user" } : messageOf(fields);
    if (message === null) continue;
    if (message.role === "user" || message.role === "custom") {
      const text = textOf(message["content"]);
      if (text !== "") begin(text, atMs);
      continue;
    }
    // An assistant may begin by itself.
    const turn = turns.at(-1) ?? begin("", atMs);
    turn.answeredAt = Math.max(turn.answeredAt, atMs);
    addTo(turn, message);
  }
  return turns.map(({ calls, answers, ...turn }) => {
    return { ...turn, calls: calls.map(({ call }) => call), answered: answers.join("\n\n") };
  });
}

const NO_RESULT = "There is no result in the transcript.";

function addTo(turn: OpenTurn, message: Fields & { readonly role: string }): void {
  const { role, content, toolCallId, toolName, isError, errorMessage } = message;
  if (role === "assistant") {
    const text = textOf(content);
    if (text !== "") turn.answers.push(text);
    else if (typeof errorMessage === "string") turn.answers.push(`(no answer: ${errorMessage})`);
    for (const block of blocksOf(content)) {
      if (block["type"] !== "toolCall") continue;
      const { id, name, arguments: args = {} } = block;
      const call = { tool: String(name), args: args as JsonValue, ok: false, output: NO_RESULT };
      turn.calls.push({ id: String(id), call });
    }
  } else if (role === "toolResult") {
    const result = { ok: isError !== true, output: textOf(content) };
    const asked = turn.calls.findLast(({ id, call }) => id === toolCallId && call.output === NO_RESULT);
    if (asked === undefined) turn.calls.push({ id: "", call: { tool: String(toolName), args: {}, ...result } });
    else asked.call = { ...asked.call, ...result };
  } else if (role === "bashExecution") {
    const { command, output, exitCode } = message;
    const call = { tool: "bash", args: { command: String(command) }, ok: exitCode === 0, output: String(output ?? "") };
    turn.calls.push({ id: "", call });
  }
}

function blocksOf(content: unknown): readonly Fields[] {
  return Array.isArray(content) ? content.filter(isFields) : [];
}

/** Without reasoning; an image leaves a note. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content.trim();
  const texts = blocksOf(content).flatMap(({ type, text, mimeType }) => {
    if (type === "text" && typeof text === "string") return text;
    return type === "image" ? `[image: ${String(mimeType)}]` : [];
  });
  return texts.join("\n").trim();
}
