/**
 * Maps a plain sentence to a tool call: all that the demo model understands.
 *
 * U1. Depends on the text alone. Case, politeness, quotes around names and a final full stop do not matter.
 * U2. A sentence that no rule matches has no intent; nothing is guessed.
 * U3. Long texts are not matched: the time to match grows faster than the text.
 */
import type { JsonValue } from "../../../kernel/vocabulary/parse-json.ts";
import { parseReminder, type Reminder } from "./local-reminder.ts";

const MAX_CHARS = 4_000;

export interface Intent {
  readonly tool: string;
  readonly args: Readonly<Record<string, JsonValue>>;
}

interface Rule {
  readonly pattern: RegExp;
  readonly toIntent: (match: readonly string[]) => Intent;
}

const NAME = `("[^"]+"|'[^']+'|\`[^\`]+\`|\\S+)`;
const ADDRESS = "((?:https?://)?[\\w-]+(?:\\.[\\w-]+)+(?::\\d+)?(?:[/?#]\\S*)?|https?://\\S+)";

/** The first match counts. */
const RULES: readonly Rule[] = [
  rule(
    `(?:list|show)(?: me)?(?: all)?(?: the| my)? (?:files|directory|folder|contents)(?: (?:in|of|under|at) (?:directory |folder )?(.+))?`,
    ([place = "."]) => listing(place),
  ),
  rule(`(?:what|which) files (?:are there|do (?:i|you|we) have)(?: in (.+))?`, ([place = "."]) => listing(place)),
  rule(`(?:list|ls)(?: ${NAME})?`, ([place = "."]) => listing(place)),
  rule(`(?:fetch|get|download|visit|open) ${ADDRESS}`, ([url = ""]) => {
    return { tool: "http.get", args: { url: /^https?:\/\//i.test(url) ? url : `https://${url}` } };
  }),
  rule(`(?:read|show|open|cat|print)(?: me)?(?: the)?(?: file)? ${NAME}`, ([path = ""]) => {
    return { tool: "fs.read_text", args: { path: bare(path) } };
  }),
  rule(`(?:write|save|put) (.+) (?:to|into|in|as)(?: the)?(?: file)? ${NAME}`, ([text = "", path = ""]) => {
    return { tool: "fs.write_text", args: { path: bare(path), text: bare(text) } };
  }),
  rule(`create(?: the| a)?(?: file)? ${NAME} (?:with|containing) (.+)`, ([path = "", text = ""]) => {
    return { tool: "fs.write_text", args: { path: bare(path), text: bare(text) } };
  }),
  rule(`overwrite(?: the)?(?: file)? ${NAME} with (.+)`, ([path = "", text = ""]) => {
    return { tool: "fs.write_text", args: { path: bare(path), text: bare(text), overwrite: true } };
  }),
  rule(`(?:run|execute)(?: the command)? (.+)`, ([cmd = ""]) => ({ tool: "shell.exec", args: { cmd: bare(cmd) } })),
  rule(`remember(?: that)? (.+)`, ([text = ""]) => ({ tool: "memory.remember", args: { text: bare(text) } })),
  rule(`remind me every ${NAME}(?: (seconds?|minutes?|hours?|days?))? (?:to |about |that )?(.+)`, reminder),
  rule(`remind me (?:to |about |that )?(.+) every ${NAME}(?: (seconds?|minutes?|hours?|days?))?`, (match) => {
    const [message = "", amount = "", unit = ""] = match;
    return reminder([amount, unit, message]);
  }),
];

export function parseIntent(message: string): Intent | null {
  if (message.length > MAX_CHARS) return null;
  const text = plain(message);
  for (const { pattern, toIntent } of RULES) {
    const match = pattern.exec(text);
    if (match !== null) return toIntent(match.slice(1));
  }
  return null;
}

/** A reminder at a time of day; what the rules take is none. */
export function findReminder(message: string): Reminder | null {
  return message.length > MAX_CHARS || parseIntent(message) !== null ? null : parseReminder(plain(message));
}

/** The first word that looks like the name of a file. */
export function findFileName(message: string): string | null {
  if (message.length > MAX_CHARS) return null;
  return /[\w./-]*\w\.\w{1,8}(?![\w.])/.exec(message)?.[0] ?? null;
}

function rule(pattern: string, toIntent: Rule["toIntent"]): Rule {
  return { pattern: new RegExp(`^${pattern}$`, "is"), toIntent };
}

/** Without politeness, outer quotes and final punctuation; a final `.` or `..` may be a name. */
function plain(message: string): string {
  const asked = message.trim().replace(/^(?:(?:please|could you|can you|would you|now|ok|okay)[,\s]+)+/i, "");
  const ended = asked.replace(/[\s,]+please[.!?]*$/i, "").replace(/(?<=[^\s./])[.!?]+$/, "");
  return bare(ended.trim());
}

/** Without surrounding quotes. */
function bare(text: string): string {
  return /^(["'`])([^"'`]+)\1$/.exec(text)?.[2] ?? text;
}

function listing(place: string): Intent {
  const isHere = /^(?:the |my |this )?(?:workspace|here|directory|folder|current directory)$/i.test(place);
  return { tool: "fs.list_dir", args: { path: isHere ? "." : bare(place.replace(/^(?:the|my) /i, "")) } };
}

function reminder([amount = "", unit = "", message = ""]: readonly string[]): Intent {
  return {
    tool: "schedule.add",
    args: { schedule: `@every ${duration(amount, unit)}`, message: `Reminder: ${bare(message)}` },
  };
}

/** A Go duration, which has no days. */
function duration(amount: string, unit: string): string {
  const count = /^\d+$/.test(amount) ? Number(amount) : 1;
  const name = (unit || amount).toLowerCase().replace(/s$/, "");
  if (name === "day") return `${count * 24}h`;
  const letter = { second: "s", minute: "m", hour: "h" }[name];
  return letter === undefined ? amount.toLowerCase() : `${count}${letter}`;
}
