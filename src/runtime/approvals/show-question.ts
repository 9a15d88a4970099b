/**
 * The text an approver reads: whether the call can be undone, where untrusted text came from, and the tool's own plan, whole.
 *
 * Our own lines come first, one fact a line, so that nothing a plan quotes can come before them. Arguments identify a call
 * and may be cut; a plan never is.
 */
import type { Planned, Reversal } from "../ports/toolbox.ts";
import type { UntrustedSource } from "../run/conversation.ts";

const MAX_ARGUMENT_CHARS = 200;

const REVERSIBLE: Readonly<Record<Reversal["kind"], string>> = {
  reversible: "yes",
  irreversible: "no",
  unknown: "unknown",
};

export function showQuestion(
  { reversal, shown }: Pick<Planned, "reversal" | "shown">,
  sources: readonly UntrustedSource[],
): string {
  return [
    `Can be undone: ${REVERSIBLE[reversal.kind]}; ${reversal.how}`,
    sources.length === 0 ? "Untrusted text in its context: none" : "Untrusted text in its context came from:",
    ...sources.map(sourceLine),
    shown,
  ].join("\n");
}

function sourceLine({ seq, tool, argumentsText }: UntrustedSource): string {
  if (tool === null) return `  entry ${seq}: the message and context the run started with`;
  const isLong = argumentsText.length > MAX_ARGUMENT_CHARS;
  const args = isLong ? `${argumentsText.slice(0, MAX_ARGUMENT_CHARS).toWellFormed()}…` : argumentsText;
  return `  entry ${seq}: ${tool} ${args}`;
}
