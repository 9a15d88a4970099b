/**
 * Talon's AgentChunks (T-3.1): what `run()` of the agent loop yields. `text` is the run's answer and nothing else: text
 * beside a call is `thinking`, which a channel may withhold. Under `required` with a token gate, text before the first
 * allowed call is dropped (M-F), as in the live stream. A run that has ended ends in `done`.
 */
import { adviceOn } from "../../vocabulary/failures.ts";
import { terminalStatus } from "../../vocabulary/outcome.ts";
import type { Entry, EntryOf } from "../entry.ts";
import { argsOf, contentOf, ERASED, type Lookup, textOf } from "./body-content.ts";
import { explainCall } from "./call-explanation.ts";
import type { CallOutcome } from "./call-outcome.ts";
import { answerOf } from "./run-answer.ts";
import { runTimeline, type TimelineItem } from "./run-timeline.ts";

export type AgentChunk =
  | { readonly type: "text"; readonly content: string }
  | { readonly type: "tool_call"; readonly tool: string; readonly args: Readonly<Record<string, unknown>> }
  | { readonly type: "tool_result"; readonly tool: string; readonly result: ShownResult }
  | { readonly type: "subagent_start"; readonly agent: string; readonly task: string }
  | { readonly type: "subagent_result"; readonly agent: string; readonly result: unknown }
  | { readonly type: "thinking"; readonly content: string }
  | { readonly type: "error"; readonly error: string }
  | { readonly type: "done" };

/** Talon's ToolResult: the text is the output, or the error. */
export interface ShownResult {
  readonly success: boolean;
  readonly output: string;
  readonly metadata: { readonly executionTime: number; readonly truncated: boolean };
}

/** `isGated`: the contract says `required` and has a token gate. */
export function agentChunks(entries: readonly Entry[], lookup: Lookup, isGated: boolean): readonly AgentChunk[] {
  const items = Map.groupBy(runTimeline(entries), ({ entry }) => entry.seq);
  const delegated = new Set<string>();
  const opensAt = isGated ? (entries.find(allowsCall)?.seq ?? Number.POSITIVE_INFINITY) : 0;
  return entries.flatMap((entry) => {
    if (entry.kind === "VALIDATE_CALLS") delegated.clear();
    if (entry.kind === "EXECUTE" && entry.decided.child !== null) {
      delegated.add(entry.decided.callId);
      const { agent, description } = argsOf(entry.decided.argsRef, lookup);
      return [{ type: "subagent_start", agent: nameOf(agent), task: nameOf(description) } as const];
    }
    if (entry.kind === "INFER" && entry.seq < opensAt) return [];
    return (items.get(entry.seq) ?? []).flatMap((item) => chunksOf(item, delegated, lookup));
  });
}

function allowsCall(entry: Entry): boolean {
  return entry.kind === "VALIDATE_CALLS" && entry.decided.calls.some(({ decision }) => decision === "allow");
}

function chunksOf(item: TimelineItem, delegated: ReadonlySet<string>, lookup: Lookup): readonly AgentChunk[] {
  switch (item.kind) {
    case "asked":
      return thoughts(item.entry, lookup);
    case "called":
      return [{ type: "tool_call", tool: item.call.tool, args: argsOf(item.call.argsRef, lookup) }];
    case "call-ended": {
      const { call, outcome } = item;
      const error = explainCall(item, lookup);
      const result: AgentChunk = { type: "tool_result", tool: call.tool, result: shownResult(outcome, error, lookup) };
      if (!delegated.has(call.callId)) return [result];
      const agent = nameOf(argsOf(call.argsRef, lookup)["agent"]);
      const reported = outcome.ok ? contentOf(outcome.outputRef, lookup) : { error };
      return [{ type: "subagent_result", agent, result: reported }, result];
    }
    case "ended":
      return ending(item.entry, lookup);
    default:
      return [];
  }
}

function thoughts({ result }: EntryOf<"INFER">, lookup: Lookup): readonly AgentChunk[] {
  if (result?.type !== "model.answered" || result.calls.length === 0) return [];
  const content = textOf(result.textRef, lookup);
  return content === null ? [] : [{ type: "thinking", content }];
}

function shownResult(outcome: CallOutcome, error: ReturnType<typeof explainCall>, lookup: Lookup): ShownResult {
  const output = error === null ? (textOf(outcome.outputRef, lookup) ?? "") : `${error.code}: ${error.message}`;
  return {
    success: outcome.ok,
    output,
    metadata: { executionTime: outcome.durationMs, truncated: outcome.truncated },
  };
}

function ending(entry: EntryOf<"TERMINATE">, lookup: Lookup): readonly AgentChunk[] {
  const content = answerOf(entry, lookup);
  const { outcome, reason } = entry.decided;
  const text: readonly AgentChunk[] = content === null ? [] : [{ type: "text", content }];
  if (terminalStatus(outcome) === "completed") return [...text, { type: "done" }];
  return [...text, { type: "error", error: errorText(outcome, reason) }, { type: "done" }];
}

function errorText(outcome: string, reason: string | null): string {
  if (reason === null) return outcome;
  const advice = adviceOn(reason);
  return advice === null ? reason : `${reason}: ${advice}`;
}

/** Arguments come out of a body, so they may be anything, or erased. */
function nameOf(value: unknown): string {
  return typeof value === "string" ? value : ERASED;
}
