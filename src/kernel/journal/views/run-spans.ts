/**
 * An ended run as spans and measures, in the words of OpenTelemetry's GenAI semantic conventions: the run, its requests to
 * models, its calls of tools. Names, numbers and codes only, never content.
 */
import type { ExecutionContract } from "../../contract/contract.ts";
import type { CallId } from "../../vocabulary/identifiers.ts";
import { type Entry, type EntryOf, eventsOf } from "../entry.ts";
import { abandonedOutcome, observedOutcome } from "./call-outcome.ts";
import { acceptedOf } from "./run-timeline.ts";
import { unixMsOf } from "./unix-time.ts";

export type SpanAttributes = Readonly<Record<string, string | number | readonly string[]>>;

export interface RunSpan {
  readonly operation: "invoke_agent" | "chat" | "execute_tool";
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: SpanAttributes;
  /** A failure's code; null: none. */
  readonly error: string | null;
  /** Of a request that was answered. */
  readonly tokens: { readonly input: number; readonly output: number } | null;
}

/** The run first. Empty unless it has ended. */
export function runSpans(entries: readonly Entry[], contract: ExecutionContract): readonly RunSpan[] {
  const [first, last] = [entries[0], entries.at(-1)];
  if (first?.kind !== "run.created" || last?.kind !== "TERMINATE") return [];
  const [provider = "", model = ""] = splitRef(contract.model);
  const accepted = acceptedOf(entries);
  const { outcome, reason } = last.decided;
  const isCompleted = outcome.startsWith("COMPLETED_");
  const run: RunSpan = {
    operation: "invoke_agent",
    name: `invoke_agent ${accepted?.agentId ?? ""}`.trim(),
    ...{ startMs: msOf(first), endMs: msOf(last) },
    attributes: {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.provider.name": provider,
      "gen_ai.request.model": model,
      ...(accepted === null
        ? {}
        : { "gen_ai.agent.name": accepted.agentId, "gen_ai.conversation.id": accepted.sessionId }),
      "surety.run.id": first.runId,
      "surety.run.outcome": outcome,
      ...(reason === null ? {} : { "surety.run.reason": reason }),
    },
    error: isCompleted ? null : (reason ?? outcome),
    tokens: null,
  };
  return [run, ...partsOf(entries, provider, model)];
}

function partsOf(entries: readonly Entry[], provider: string, model: string): readonly RunSpan[] {
  const running = new Map<CallId, EntryOf<"EXECUTE">>();
  const spans: RunSpan[] = [];
  for (const [at, entry] of entries.entries()) {
    if (entry.kind === "INFER") spans.push(chat(entry, msOf(entries[at - 1] ?? entry), provider, model));
    if (entry.kind === "EXECUTE") running.set(entry.decided.callId, entry);
    if (entry.kind === "OBSERVE") {
      const { callId, error } = entry.decided;
      const started = running.get(callId);
      if (started !== undefined) spans.push(tool(started, entry, observedOutcome(entry.result, error)));
      running.delete(callId);
    }
    if (entry.kind === "COMMIT") {
      for (const started of running.values()) spans.push(tool(started, entry, abandonedOutcome()));
      running.clear();
    }
  }
  return spans;
}

function chat(entry: EntryOf<"INFER">, startMs: number, provider: string, model: string): RunSpan {
  const answer = eventsOf(entry).find((heard) => heard.type === "model.answered");
  const failed = entry.result?.type === "model.failed" ? entry.result.code : entry.result?.type;
  const usage = answer?.usage;
  return {
    operation: "chat",
    name: `chat ${model}`,
    ...{ startMs, endMs: msOf(entry) },
    attributes: {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": provider,
      "gen_ai.request.model": model,
      "gen_ai.request.max_tokens": entry.decided.maxOutputTokens,
      ...(usage === undefined
        ? {}
        : { "gen_ai.usage.input_tokens": usage.inputTokens, "gen_ai.usage.output_tokens": usage.outputTokens }),
      ...(answer?.stopReason == null ? {} : { "gen_ai.response.finish_reasons": [answer.stopReason] }),
    },
    error: answer === undefined ? (failed ?? "unknown") : null,
    tokens: usage === undefined ? null : { input: usage.inputTokens, output: usage.outputTokens },
  };
}

function tool(
  { decided, ...started }: EntryOf<"EXECUTE">,
  ended: Entry,
  outcome: { readonly ok: boolean; readonly endedBy: string; readonly error: { readonly code: string } | null },
): RunSpan {
  return {
    operation: "execute_tool",
    name: `execute_tool ${decided.tool}`,
    ...{ startMs: msOf(started), endMs: msOf(ended) },
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": decided.tool,
      "gen_ai.tool.call.id": decided.callId,
      "gen_ai.tool.type": "function",
    },
    error: outcome.ok ? null : (outcome.error?.code ?? outcome.endedBy),
    tokens: null,
  };
}

function msOf({ ts }: Pick<Entry, "ts">): number {
  return unixMsOf(ts) ?? 0;
}

/** References split at the first colon. */
function splitRef(ref: string): readonly [string, string] {
  const at = ref.indexOf(":");
  return at < 0 ? ["", ref] : [ref.slice(0, at), ref.slice(at + 1)];
}
