/**
 * The text an approver reads: the call, whether it can be undone, where untrusted text came from, and the tool's own plan,
 * whole.
 *
 * Our own lines come first, one fact a line, so that nothing a plan quotes can come before them. Arguments identify a call
 * and may be cut; a plan never is.
 */
import type { Planned, Reversal } from "../ports/toolbox.ts";
import type { UntrustedSource } from "../run/conversation.ts";

const MAX_ARGUMENT_CHARS = 200;
/** Of a long target both ends are kept: the end of a path says which file. */
const TARGET_ENDS_CHARS = [200, 100] as const;

const REVERSIBLE: Readonly<Record<Reversal["kind"], string>> = {
  reversible: "yes",
  irreversible: "no",
  unknown: "unknown",
};

export function showQuestion(
  planned: Pick<Planned, "tool" | "plan" | "reversal" | "shown">,
  sources: readonly UntrustedSource[],
): string {
  const { reversal, shown } = planned;
  return [
    callLine(planned),
    `Can be undone: ${REVERSIBLE[reversal.kind]}; ${reversal.how}`,
    sources.length === 0 ? "Untrusted text in its context: none" : "Untrusted text in its context came from:",
    ...sources.map(sourceLine),
    shown,
  ].join("\n");
}

/** Names the call in one line: its tool, and the command, files, hosts or recipients. */
export function callLine({ tool, plan }: Pick<Planned, "tool" | "plan">): string {
  const words = plan.executable === null ? plan.targets : plan.argv;
  return `${prefixOf(tool)}${cutMiddle(words.map(quoted).join(" "))}`;
}

/** What `callLine` names beside the tool; empty where the text does not begin with that line. */
export function targetIn(shown: string, tool: string): string {
  const [first = ""] = shown.split("\n", 1);
  return first.startsWith(prefixOf(tool)) ? first.slice(prefixOf(tool).length) : "";
}

function prefixOf(tool: string): string {
  return `Call: ${tool} `;
}

function quoted(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./~^-]+$/.test(word) ? word : JSON.stringify(word);
}

function cutMiddle(text: string): string {
  const [head, tail] = TARGET_ENDS_CHARS;
  if (text.length <= head + tail) return text;
  return `${text.slice(0, head).toWellFormed()} … ${text.slice(-tail).toWellFormed()}`;
}

function sourceLine({ seq, tool, argumentsText }: UntrustedSource): string {
  if (tool === null) return `  entry ${seq}: the message and context the run started with`;
  const isLong = argumentsText.length > MAX_ARGUMENT_CHARS;
  const args = isLong ? `${argumentsText.slice(0, MAX_ARGUMENT_CHARS).toWellFormed()}…` : argumentsText;
  return `  entry ${seq}: ${tool} ${args}`;
}
