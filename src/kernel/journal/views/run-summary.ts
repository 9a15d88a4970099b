/** The RunSummary (M-P4a): the facts of an ended run that governance uses. Codes, counts and names, never content. */
import { type Static, Type } from "typebox";
import { deepFreeze } from "../../contract/seal-contract.ts";
import { Count, closed, nullable } from "../../vocabulary/schema-primitives.ts";
import { type Entry, eventsOf } from "../entry.ts";
import { LabelsSchema } from "../event.ts";
import { budgetAfter } from "./run-snapshot.ts";
import { runTimeline, type TimelineItem } from "./run-timeline.ts";
import { unixMsOf } from "./unix-time.ts";

const Text = Type.String();

const ErrorLogLine = Type.Object({ step_id: Text, state: Text, code: Text, tool: nullable(Text) }, closed);

export const RunSummarySchema = Type.Object(
  {
    run_id: Text,
    contract_hash: Text,
    head_hash: Text,
    outcome: Text,
    reason: nullable(Text),
    /** Turns of the loop, those whose answer was rejected too. */
    steps: Count,
    inferences: Count,
    format_retries: Count,
    tokens: Count,
    spend_microusd: Count,
    tool_output_bytes: Count,
    /** Active time. */
    elapsed_ms: Count,
    /** From the first event to the last entry by the clock, parked time included. */
    wall_ms: Count,
    tools: Type.Record(Text, Type.Object({ performed: Count, failed: Count }, closed)),
    /** `duplicate` counts the proposed calls that repeat an earlier one's tool and arguments. */
    calls: Type.Object({ proposed: Count, refused: Count, skipped: Count, duplicate: Count }, closed),
    error_log: Type.Array(ErrorLogLine),
    escalation_attempts: Type.Array(Type.Object({ tool: Text, code: nullable(Text) }, closed)),
    labels: LabelsSchema,
  },
  closed,
);
export type RunSummary = Static<typeof RunSummarySchema>;

export function runSummary(entries: readonly Entry[]): RunSummary | null {
  const [first] = entries;
  const last = entries.at(-1);
  if (first === undefined || last?.kind !== "TERMINATE") return null;
  const items = runTimeline(entries);
  const budget = budgetAfter(entries);
  const startedAt = eventsOf(first)[0]?.ts ?? first.ts;
  return deepFreeze({
    run_id: last.runId,
    contract_hash: last.contractHash,
    head_hash: last.hash,
    outcome: last.decided.outcome,
    reason: last.decided.reason,
    steps: items.filter(({ kind }) => kind === "asked").length,
    inferences: budget.inferences,
    format_retries: budget.formatRetries,
    tokens: budget.tokens,
    spend_microusd: budget.spendMicrousd,
    tool_output_bytes: budget.toolOutputBytes,
    elapsed_ms: last.elapsedMs,
    wall_ms: millisecondsBetween(startedAt, last.ts),
    tools: toolsUsed(items),
    calls: countCalls(items),
    error_log: items.flatMap(errorsAt),
    escalation_attempts: last.decided.attempts.map(({ tool, code }) => ({ tool, code })),
    labels: { ...last.labels },
  });
}

/** A clock may be set back; a duration is never negative. */
function millisecondsBetween(earlier: string, later: string): number {
  const from = unixMsOf(earlier);
  const to = unixMsOf(later);
  return from === null || to === null ? 0 : Math.max(0, to - from);
}

/** One execution counts once, however many calls share it. */
function toolsUsed(items: readonly TimelineItem[]): RunSummary["tools"] {
  const executions = items
    .filter((item) => item.kind === "call-ended")
    .filter(({ outcome }) => outcome.performed)
    .filter(({ entry, call }) => entry.kind === "OBSERVE" && entry.decided.callId === call.callId);
  const byTool = Map.groupBy(executions, ({ call }) => call.tool);
  return Object.fromEntries(
    [...byTool].map(([tool, ended]) => [
      tool,
      { performed: ended.length, failed: ended.filter(({ outcome }) => !outcome.ok).length },
    ]),
  );
}

function countCalls(items: readonly TimelineItem[]): RunSummary["calls"] {
  const calls = items.filter((item) => item.kind === "called").map(({ call }) => call);
  const ended = items.filter((item) => item.kind === "call-ended").map(({ outcome }) => outcome.endedBy);
  const distinct = new Set(calls.map(({ tool, argsRef }) => `${argsRef} ${tool}`));
  return {
    proposed: calls.length,
    refused: ended.filter((endedBy) => endedBy === "call.refused").length,
    skipped: ended.filter((endedBy) => endedBy === "call.skipped").length,
    duplicate: calls.length - distinct.size,
  };
}

function errorsAt(item: TimelineItem): readonly Static<typeof ErrorLogLine>[] {
  const { stepId, state } = item.entry;
  const tool = item.kind === "call-ended" ? item.call.tool : null;
  return codesAt(item).map((code) => ({ step_id: stepId, state, code, tool }));
}

function codesAt(item: TimelineItem): readonly string[] {
  switch (item.kind) {
    case "created":
      return item.entry.decided.verdicts.flatMap(({ failure }) => failure ?? []);
    case "asked": {
      const { result } = item.entry;
      if (result?.type === "model.answered")
        return result.adapter.failureCode === null ? [] : [result.adapter.failureCode];
      return result?.type === "model.failed" ? [result.code] : [];
    }
    case "call-ended": {
      // A skipped call is not a failure: the event that ended the turn is.
      const { endedBy, error } = item.outcome;
      return error === null || endedBy === "call.skipped" ? [] : [error.code];
    }
    case "ended":
      return item.entry.decided.reason === null ? [] : [item.entry.decided.reason];
    default:
      return [];
  }
}
