/**
 * What an approver reads: whether it can be taken back, where untrusted text came from, and the tool's own plan, whole.
 *
 * Q1. What we say stands first, each fact on a line of its own: nothing that a plan quotes can come before it.
 * Q2. Everything untrusted that the context holds is named by the entry that brought it in. Arguments are there to
 *     recognise a call by, so they may be cut; a plan never is.
 */

import type { Planned, Reversal } from "../ports/toolbox.ts";
import type { UntrustedSource } from "../run/conversation.ts";

const MAX_ARGUMENT_CHARS = 200;

const REVERSIBLE: Readonly<Record<Reversal["kind"], string>> = {
  reversible: "yes",
  irreversible: "no",
  unknown: "not known",
};

export function showQuestion(
  { reversal, shown }: Pick<Planned, "reversal" | "shown">,
  sources: readonly UntrustedSource[],
): string {
  return [
    `Can be taken back: ${REVERSIBLE[reversal.kind]}; ${reversal.how}`,
    sources.length === 0 ? "Untrusted text in its context: none" : "Untrusted text in its context came from:",
    ...sources.map(sourceLine),
    shown,
  ].join("\n");
}

function sourceLine({ seq, tool, argumentsText }: UntrustedSource): string {
  if (tool === null) return `  entry ${seq}: what the run was given to begin with`;
  const isLong = argumentsText.length > MAX_ARGUMENT_CHARS;
  const args = isLong ? `${argumentsText.slice(0, MAX_ARGUMENT_CHARS).toWellFormed()}…` : argumentsText;
  return `  entry ${seq}: ${tool} ${args}`;
}
