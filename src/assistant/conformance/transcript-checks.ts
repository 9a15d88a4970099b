/** What a transcript must show. Each check returns what is wrong, in words without content, or null. */
import type { ExecutionContract } from "../../kernel/contract/contract.ts";
import type { Entry } from "../../kernel/journal/entry.ts";
import { verifyEntries } from "../../kernel/journal/verify-journal.ts";
import type { RunRecord } from "../../kernel/journal/views/run-record.ts";
import { runTimeline } from "../../kernel/journal/views/run-timeline.ts";
import { asRunId } from "../../kernel/vocabulary/identifiers.ts";
import { replayRun } from "../../runtime/run/replay-run.ts";
import { ECHO } from "./tool-offers.ts";

export interface Transcript {
  readonly contract: ExecutionContract;
  readonly entries: readonly Entry[];
  readonly record: RunRecord;
}

export type TranscriptCheck = (transcript: Transcript) => string | null;

/** For every run, whatever its case expects. */
export const brokenInvariant: TranscriptCheck = ({ contract, entries, record }) => {
  const verified = verifyEntries(entries, { contractHash: contract.contractHash });
  if (!verified.ok) return `entry ${verified.entry}: ${verified.problem}`;
  if (!verified.sealed) return "the journal has no end";
  const replayed = replayRun(asRunId(record.id), contract, entries);
  if (!replayed.isReproduced) return `replay diverges at entry ${replayed.divergedAt}`;
  if (replayed.outcome !== record.outcome) return "the record says another outcome than the journal";
  if (answersIn(entries).some(({ adapter }) => adapter.version !== contract.adapterVersion)) {
    return "an answer was read by another adapter than the contract's";
  }
  const isUnproven = contract.toolPolicy === "required" && record.status === "completed" && record.tool_calls === 0;
  return isUnproven ? "success without the tool that was required" : null;
};

export function answersIn(entries: Transcript["entries"]) {
  const results = entries.map((entry) => (entry.kind === "INFER" ? entry.result : null));
  return results.filter((result) => result?.type === "model.answered");
}

export function allOf(...checks: readonly TranscriptCheck[]): TranscriptCheck {
  return (transcript) => checks.map((check) => check(transcript)).find((problem) => problem !== null) ?? null;
}

/** Attempts that the provider rejected do not count. */
export function answered(times: number): TranscriptCheck {
  return ({ entries }) => {
    const count = answersIn(entries).length;
    return count === times ? null : `the model answered ${count} times, not ${times}`;
  };
}

export const nothingPerformed: TranscriptCheck = ({ record }) =>
  record.tool_calls === 0 ? null : "a tool was performed";

export const nothingCalled: TranscriptCheck = ({ entries }) =>
  entries.some((entry) => entry.kind === "VALIDATE_CALLS" && entry.decided.calls.length > 0)
    ? "a tool was called"
    : null;

export const allRejected: TranscriptCheck = ({ entries }) =>
  answersIn(entries).every(({ adapter }) => adapter.status === "rejected") ? null : "an answer was accepted";

/** That many calls, all proposed in one turn, and no others. */
export function calledTogether(count: number): TranscriptCheck {
  return ({ entries }) => {
    const turns = entries.flatMap((entry) => (entry.kind === "VALIDATE_CALLS" ? entry.decided.calls.length : []));
    const acting = turns.filter((calls) => calls > 0);
    return acting.length === 1 && acting[0] === count ? null : `calls per turn: ${acting.join(", ") || "none"}`;
  };
}

/** The echo returned these texts, in any order: its arguments arrived intact. */
export function echoed(...texts: readonly string[]): TranscriptCheck {
  return ({ record }) => {
    const results = record.trace.tool_execution_results.filter(({ tool }) => tool === ECHO.name);
    const outputs = results.map(({ output }) => output).sort();
    const isSame = outputs.length === texts.length && texts.toSorted().every((text, index) => text === outputs[index]);
    return isSame ? null : "the arguments are not the requested ones";
  };
}

export function failedWith(name: string, code: string): TranscriptCheck {
  return ({ entries }) => {
    const ended = runTimeline(entries).filter((item) => item.kind === "call-ended");
    const isThere = ended.some(({ call, outcome }) => call.tool === name && outcome.error?.code === code);
    return isThere ? null : `no call of ${name} ended with ${code}`;
  };
}

export function succeeded(name: string): TranscriptCheck {
  return ({ record }) => {
    const isThere = record.trace.tool_execution_results.some(({ tool, error }) => tool === name && error === "");
    return isThere ? null : `no call of ${name} succeeded`;
  };
}

export const cutAtBudget: TranscriptCheck = ({ contract, record }) => {
  const { truncationMarker, maxBytesPerCall } = contract.toolOutputBudget;
  const isCut = ({ output }: { readonly output: string }): boolean =>
    output.endsWith(truncationMarker) && new TextEncoder().encode(output).length <= maxBytesPerCall;
  return record.trace.tool_execution_results.some(isCut) ? null : "no result carries the truncation marker";
};

export function endedFor(reason: string): TranscriptCheck {
  return ({ record }) => (record.reason === reason ? null : `the reason is ${record.reason ?? "none"}, not ${reason}`);
}

export const notesApplied: TranscriptCheck = ({ entries, record }) => {
  if (/NOTES_JSON/.test(record.output)) return "the answer contains the NOTES";
  return answersIn(entries).some(({ notes }) => notes?.status === "applied") ? null : "no NOTES were applied";
};

/** Finds markup of thoughts, or intermediate numbers of the calculation. */
export function withoutThoughts(working: RegExp): TranscriptCheck {
  const leak = new RegExp(`</?think|<\\|channel|${working.source}`, "i");
  return ({ record }) => (leak.test(record.output) ? "the answer contains thoughts" : null);
}

export function answeredWith(pattern: RegExp): TranscriptCheck {
  return ({ record }) => (pattern.test(record.output) ? null : "the answer is not the requested one");
}
