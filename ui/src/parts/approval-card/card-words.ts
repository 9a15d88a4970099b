/** What an approval asks, in a line: our own words, and the file, host or program it names. */
import type { ApprovalRecord } from "./approval-record.ts";

export interface CardTitle {
  readonly before: string;
  /** Text of others. */
  readonly named: string;
  readonly after: string;
}

const MAX_NAME_CHARS = 60;

const VERBS: Readonly<Record<string, readonly [verb: string, name: (card: ApprovalRecord) => string]>> = {
  "shell.exec": ["Run ", (card) => baseName(card.call?.argv[0] ?? "a command")],
  "fs.write_text": ["Write ", fileOf],
  "fs.edit": ["Change ", fileOf],
  "fs.delete": ["Delete ", fileOf],
  "http.get": ["Fetch a page from ", hostOf],
  "message.send": ["Send a message to ", (card) => card.call?.targets.join(", ") ?? "somebody"],
};

export function titleOf(card: ApprovalRecord): CardTitle {
  const { kind, tool } = card;
  const [verb, name] = VERBS[tool] ?? ["Call ", () => tool];
  const named = cut(name(card));
  return kind === "resolve"
    ? { before: "Did this happen? ", named: `${verb}${named}`, after: "" }
    : { before: verb, named, after: "?" };
}

function fileOf({ call }: ApprovalRecord): string {
  return baseName(call?.targets[0] ?? "a file");
}

function hostOf({ call }: ApprovalRecord): string {
  const target = call?.targets[0] ?? "";
  return URL.parse(target)?.host ?? (target === "" ? "a host" : target);
}

function baseName(path: string): string {
  return path.replace(/\/+$/, "").split("/").at(-1) ?? path;
}

function cut(text: string): string {
  return text.length <= MAX_NAME_CHARS ? text : `${text.slice(0, MAX_NAME_CHARS).toWellFormed()}…`;
}

export type Decision = "allow" | "deny" | "done" | "retry" | "fail";

export interface Choice {
  readonly decision: Decision;
  readonly label: string;
  /** What it leads to, where the label does not say so. */
  readonly effect?: string;
  /** Lets something happen, so it is guarded. */
  readonly acts: boolean;
}

/** Denying comes first: it is where the keyboard arrives. */
export const CHOICES: Readonly<Record<ApprovalRecord["kind"], readonly Choice[]>> = {
  approve: [
    { decision: "deny", label: "Deny", acts: false },
    { decision: "allow", label: "Allow once", acts: true },
  ],
  resolve: [
    { decision: "fail", label: "Fail", effect: "It did not happen: the assistant is told that it failed", acts: false },
    { decision: "done", label: "Mark done", effect: "It happened: the run goes on behind it", acts: true },
    { decision: "retry", label: "Retry", effect: "It is run again, which may repeat what it did", acts: true },
  ],
};
