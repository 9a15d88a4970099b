/**
 * The text an approver reads: the call, whether it can be undone, where untrusted text came from, and the tool's own plan,
 * whole.
 *
 * Our own lines come first, one fact a line, so that nothing a plan quotes can come before them. Arguments identify a call
 * and may be cut; a plan never is.
 */
import type { ProposedCall } from "../../kernel/journal/event.ts";
import { ERASED } from "../../kernel/journal/views/body-content.ts";
import type { UntrustedSource } from "../../kernel/journal/views/untrusted-source.ts";
import type { Phase, RunState } from "../../kernel/machine/state.ts";
import type { BodyRef } from "../../kernel/vocabulary/identifiers.ts";
import type { StoredApproval } from "../ports/store.ts";
import type { Planned, Reversal } from "../ports/toolbox.ts";
import type { Acceptance } from "../run/acceptance.ts";

/** Of a long target both ends are kept: the end of a path says which file. */
const TARGET_ENDS_CHARS = [200, 100] as const;

const REVERSIBLE: Readonly<Record<Reversal["kind"], string>> = {
  reversible: "yes",
  irreversible: "no",
  unknown: "unknown",
};

export function showQuestion(
  kind: StoredApproval["kind"],
  planned: Pick<Planned, "tool" | "plan" | "reversal" | "shown">,
  sources: readonly UntrustedSource[],
): string {
  const { reversal, shown } = planned;
  if (kind === "resolve") return `${callLine(planned)}\n${shown}`;
  return [
    callLine(planned),
    `Can be undone: ${REVERSIBLE[reversal.kind]}; ${reversal.how}`,
    sources.length === 0 ? "Untrusted text in its context: none" : "Untrusted text in its context came from:",
    ...sources.map(({ seq, source }) => `  entry ${seq}: ${source}`),
    shown,
  ].join("\n");
}

/** What a run was to do, and where the backup left it: what it did since is unknown. */
export function askedAfterRestore(
  { event }: Acceptance,
  { phase }: RunState,
  read: (ref: BodyRef) => string | null,
): { readonly tool: string; readonly shown: string } {
  const calls = callsAt(phase);
  const shown = [
    "This home was restored from a backup. This run was open when the backup was taken, and may have gone on since.",
    `Its message: ${quoteCut(read(event.messageRef))}`,
    calls.length === 0 ? "In the backup it waits for the model." : "In the backup it is about to run, or is running:",
    ...calls.map(({ tool, argsRef }) => `  ${tool} ${quoteCut(read(argsRef))}`),
    "Check what has happened. retry: go on from the backup, which may repeat it; done or fail: the run ends here.",
  ].join("\n");
  return { tool: calls[0]?.tool ?? "run", shown };
}

function callsAt(phase: Phase): readonly ProposedCall[] {
  if (phase.at === "VALIDATE_CALLS") return phase.proposed;
  return phase.at === "OBSERVE" ? [...phase.inFlight, ...phase.waiting] : [];
}

function quoteCut(text: string | null): string {
  return text === null ? ERASED : JSON.stringify(cutMiddle(text));
}

/** Names the call in one line: its tool, and the command, files, hosts or recipients. */
function callLine({ tool, plan }: Pick<Planned, "tool" | "plan">): string {
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
