/**
 * The run record (O-5.4): what `GET /v1/runs/{id}` answers. `tool_calls` counts performed calls, failed ones too; the
 * trace also lists those that were refused or skipped.
 */
import { type Static, Type } from "typebox";
import type { BodyRef, Hash, RunId } from "../../vocabulary/identifiers.ts";
import { terminalStatus } from "../../vocabulary/outcome.ts";
import { Count, closed, nullable } from "../../vocabulary/schema-primitives.ts";
import { type Entry, type EntryOf, eventsOf } from "../entry.ts";
import { LabelsSchema, usagesOf } from "../event.ts";
import { SignedReceiptSchema } from "../signed-receipt.ts";
import { argsOf, contentOf, type Lookup, textOf } from "./body-content.ts";
import { explainCall } from "./call-explanation.ts";
import { answerOf } from "./run-answer.ts";
import { digestOf, snapshotOfEntries } from "./run-snapshot.ts";
import { runTimeline, type TimelineItem } from "./run-timeline.ts";

const Text = Type.String();

const ToolExecutionResult = Type.Object(
  {
    ...{ tool: Text, tool_call_id: Text, summary: Text, output: Text, error: Text },
    /** Of a call that was answered. */
    labels: Type.Optional(LabelsSchema),
    /** The output was longer; the model had this much of it. */
    truncated: Type.Optional(Type.Literal(true)),
  },
  closed,
);

export const RunRecordSchema = Type.Object(
  {
    id: Text,
    agent_id: Text,
    source: Type.Optional(Text),
    session_id: Text,
    status: Type.Enum(["queued", "running", "waiting_approval", "completed", "failed", "cancelled"]),
    outcome: nullable(Text),
    reason: nullable(Text),
    /** What was wrong and what to do, in lines; left out of lists, and where nothing was wrong. */
    explanation: Type.Optional(Text),
    output: Text,
    artifact_path: Text,
    /** Active time. */
    duration_ms: Count,
    tool_calls: Count,
    provider: Text,
    model: Text,
    thinking_mode: Type.Enum(["never", "on_error", "always"]),
    contract_hash: Text,
    head_hash: Text,
    state_digest: Text,
    /** What of the stored run cannot be read, in words; absent when everything can. */
    damage: Type.Optional(Text),
    /** When its texts were removed for good; absent: they were not. */
    erased_at: Type.Optional(Text),
    /** Of all inferences of this run, delegated ones aside; lists leave it out. */
    usage: Type.Optional(Type.Object({ input_tokens: Count, output_tokens: Count }, closed)),
    /** For an ended run shown by itself; lists leave it out. */
    receipt: Type.Optional(SignedReceiptSchema),
    trace: Type.Object(
      {
        tool_execution_results: Type.Array(ToolExecutionResult),
        /** As `thinking_mode` says: of every run, or of one that failed. */
        thoughts: Type.Optional(Type.Array(Type.Object({ attempt: Count, text: Text }, closed))),
      },
      closed,
    ),
  },
  closed,
);
export type RunRecord = Static<typeof RunRecordSchema>;

export interface RunParticulars {
  readonly runId: RunId;
  readonly contractHash: Hash;
  readonly agentId: string;
  readonly sessionId: string;
  readonly source?: string;
  readonly status: "queued" | "running" | "waiting_approval";
  readonly artifactPath: string;
  readonly provider: string;
  readonly model: string;
  readonly thinkingMode: RunRecord["thinking_mode"];
  /** Each tool gives a short summary of what it did, for display. */
  readonly summarize: (call: {
    readonly tool: string;
    readonly args: Readonly<Record<string, unknown>>;
    readonly ok: boolean;
    readonly output: unknown;
  }) => string;
}

export function runRecord(entries: readonly Entry[], run: RunParticulars, lookup: Lookup): RunRecord {
  const snapshot = snapshotOfEntries(run.runId, run.contractHash, entries);
  const last = entries.at(-1);
  const ending = last?.kind === "TERMINATE" ? last : null;
  const status = ending === null ? run.status : terminalStatus(ending.decided.outcome);
  return {
    id: run.runId,
    agent_id: run.agentId,
    ...(run.source === undefined ? {} : { source: run.source }),
    session_id: run.sessionId,
    status,
    outcome: snapshot.outcome,
    reason: snapshot.reason,
    output: (ending && answerOf(ending, lookup)) ?? "",
    artifact_path: run.artifactPath,
    duration_ms: last?.elapsedMs ?? 0,
    tool_calls: snapshot.budget.performed,
    provider: run.provider,
    model: run.model,
    thinking_mode: run.thinkingMode,
    contract_hash: run.contractHash,
    head_hash: snapshot.head,
    state_digest: digestOf(snapshot),
    usage: usageIn(entries),
    trace: {
      tool_execution_results: runTimeline(entries).flatMap((item) => executionResult(item, run, lookup)),
      ...(showsThoughts(run.thinkingMode, status) ? thoughtsIn(entries, lookup) : {}),
    },
  };
}

function showsThoughts(mode: RunRecord["thinking_mode"], status: RunRecord["status"]): boolean {
  return mode === "always" || (mode === "on_error" && status === "failed");
}

function thoughtsIn(entries: readonly Entry[], lookup: Lookup): Pick<RunRecord["trace"], "thoughts"> {
  const thoughts = entries.flatMap((entry) => {
    const ref = entry.kind === "INFER" ? thoughtsRefOf(entry) : null;
    return ref === null || entry.kind !== "INFER"
      ? []
      : [{ attempt: entry.decided.attempt, text: textOf(ref, lookup) ?? "" }];
  });
  return thoughts.length === 0 ? {} : { thoughts };
}

/** Null: it thought nothing, or nothing that is shown. */
export function thoughtsRefOf({ result }: EntryOf<"INFER">): BodyRef | null {
  return (result?.type === "model.answered" && result.thoughtsRef) || null;
}

function usageIn(entries: readonly Entry[]): NonNullable<RunRecord["usage"]> {
  const usages = entries.flatMap(eventsOf).flatMap(usagesOf);
  return {
    input_tokens: usages.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
    output_tokens: usages.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
  };
}

function executionResult(
  item: TimelineItem,
  { summarize }: RunParticulars,
  lookup: Lookup,
): readonly Static<typeof ToolExecutionResult>[] {
  if (item.kind !== "call-ended") return [];
  const { call, outcome } = item;
  const { tool, callId, argsRef } = call;
  const error = explainCall(item, lookup);
  const summary = summarize({
    tool,
    args: argsOf(argsRef, lookup),
    ok: outcome.ok,
    output: contentOf(outcome.outputRef, lookup),
  });
  return [
    {
      tool,
      tool_call_id: callId,
      summary,
      output: textOf(outcome.outputRef, lookup) ?? "",
      error: error === null ? "" : `${error.code}: ${error.message}`,
      ...(outcome.labels === undefined ? {} : { labels: outcome.labels }),
      ...(outcome.truncated ? { truncated: true as const } : {}),
    },
  ];
}
