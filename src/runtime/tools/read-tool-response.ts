/**
 * From a tool's raw answer to the event the machine hears. The answer is untrusted: no envelope means `tool.malformed`;
 * outputs and error messages are redacted, then cut at the contract's budget, or summarised by its summarizer. A tool that cannot say whether its opaque
 * effect happened has not answered, and a person is asked.
 */
import type { ExecutionContract } from "../../kernel/contract/contract.ts";
import type { Answer } from "../../kernel/journal/entry.ts";
import type { OutputSummary, RecordedResponse } from "../../kernel/journal/event.ts";
import type { Command } from "../../kernel/machine/command.ts";
import type { Redactor } from "../../kernel/redaction/redact.ts";
import { canonicalJson } from "../../kernel/vocabulary/canonical-json.ts";
import { hashBytes } from "../../kernel/vocabulary/hash.ts";
import type { BodyRef, RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import { parseToolResponse, type ToolError, type ToolResponse } from "../../kernel/vocabulary/tool-envelope.ts";
import { truncateOutput } from "../../kernel/vocabulary/truncate-output.ts";
import type { Planned } from "../ports/toolbox.ts";
import type { CallResult } from "./format-tool-result.ts";
import type { SummarizedOutput } from "./summarize-output.ts";

type RunTool = Pick<Extract<Command, { type: "run-tool" }>, "step" | "callId">;

export interface ResultDependencies {
  readonly contract: ExecutionContract;
  readonly redactor: Redactor;
  /** The rest of the envelope, from the runtime itself: what a tool says there proves nothing. */
  readonly envelope: Pick<RecordedResponse, "requestId" | "runId" | "tool" | "finishedAt">;
  readonly keep: (text: string) => BodyRef;
  /** Asked about an output over its budget; null: such an output is truncated. */
  readonly summarize: ((output: string) => Promise<SummarizedOutput>) | null;
  /** Tokens of the role=tool message for this result. */
  readonly tokensOf: (outcome: CallResult) => number;
}

export function toolAnswer(
  context: ResultDependencies,
  { step, callId }: RunTool,
  planned: Pick<Planned, "labels" | "idempotency" | "volatileFields">,
  envelope: unknown,
): Answer | Promise<Answer> {
  const parsed = parseToolResponse(envelope);
  if (!parsed.ok) return { type: "tool.malformed", step, callId, problem: parsed.problem };
  const { response } = parsed;
  const { labels, idempotency } = planned;
  const isInDoubt = !response.ok && response.error.details["outcome"] === "unknown";
  if (isInDoubt && idempotency === "opaque") return { type: "effect.unknown", step, callId };
  return response.ok
    ? succeeded(context, { step, callId }, planned, response)
    : failed(context, { step, callId }, labels, response);
}

function succeeded(
  { contract, redactor, envelope, keep, summarize, tokensOf }: ResultDependencies,
  asked: RunTool,
  { labels, volatileFields }: Pick<Planned, "labels" | "volatileFields">,
  { output, durationMs }: Extract<ToolResponse, { ok: true }>,
): Answer | Promise<Answer> {
  const value =
    typeof output === "string"
      ? redactor.redactText(output.toWellFormed()).text
      : redactor.redactJson((output ?? null) as JsonValue).value;
  const whole = typeof value === "string" ? value : canonicalJson(value);
  const { maxBytesPerCall, truncationMarker } = contract.toolOutputBudget;
  const cut = truncateOutput(whole, maxBytesPerCall, truncationMarker);
  const stable = withoutFields(value, volatileFields);
  // A digest, as a body: without its salt a ref reveals nothing, and the output is not stored twice.
  const digest =
    stable === null ? null : hashBytes(truncateOutput(canonicalJson(stable), maxBytesPerCall, truncationMarker).text);
  const answer = (text: string, bytes: number, stableText: string | null, summary?: OutputSummary): Answer => ({
    type: "tool.finished",
    ...asked,
    response: {
      ...envelope,
      ...{ ok: true, outputRef: keep(text), outputBytes: bytes, truncated: cut.truncated, error: null, durationMs },
      ...(stableText === null ? {} : { stableRef: keep(stableText) }),
    },
    ...(summary === undefined ? {} : { summary }),
    labels,
    tokens: tokensOf({ ok: true, output: text, error: null }),
  });
  if (!cut.truncated || summarize === null) return answer(cut.text, cut.bytes, digest);
  return summarize(whole).then(({ text, summary }) => {
    if (text === null) return answer(cut.text, cut.bytes, digest, { ...summary, truncatedRef: null });
    // No two summaries are the same, so outputs are compared by what was summarised.
    const compared = digest ?? hashBytes(cut.text);
    return answer(text, Buffer.byteLength(text), compared, { ...summary, truncatedRef: keep(cut.text) });
  });
}

/** Null when none of the fields is there: then the whole output is compared. */
function withoutFields(output: JsonValue, fields: readonly string[]): JsonValue | null {
  if (typeof output !== "object" || output === null || Array.isArray(output)) return null;
  const stable = Object.entries(output).filter(([name]) => !fields.includes(name));
  return stable.length === Object.keys(output).length ? null : Object.fromEntries(stable);
}

function failed(
  { contract, redactor, envelope, keep, tokensOf }: ResultDependencies,
  asked: RunTool,
  labels: Labels,
  { error, durationMs }: Extract<ToolResponse, { ok: false }>,
): Answer {
  const { maxBytesPerCall, truncationMarker } = contract.toolOutputBudget;
  const whole = redactor.redactText(error.message.toWellFormed()).text;
  const message = truncateOutput(whole, maxBytesPerCall, truncationMarker).text;
  const { code, retryable } = error;
  const details = canonicalJson(redactor.redactJson(error.details as JsonValue).value);
  // Cut JSON is none.
  const isKept = details !== "{}" && details.length <= maxBytesPerCall;
  return {
    type: "tool.finished",
    ...asked,
    response: {
      ...envelope,
      ok: false,
      outputRef: null,
      outputBytes: 0,
      truncated: false,
      error: { code, retryable, messageRef: keep(message), ...(isKept ? { detailsRef: keep(details) } : {}) },
      durationMs,
    },
    labels,
    tokens: tokensOf(errorResult(code, message)),
  };
}

export function requestIdOf(
  runId: RunId,
  { step, callId }: Pick<Command & { type: "run-tool" | "spawn-child" }, "step" | "callId">,
): string {
  return `${runId}:${step}:${callId}`;
}

/** The answer where the runtime itself refuses to run the tool. */
export function refusedByRuntime(
  context: ResultDependencies,
  { step, callId }: RunTool,
  labels: Labels,
  code: ToolError["code"],
  message: string,
): Answer {
  const error = { code, retryable: false, messageRef: context.keep(message) };
  const response = {
    ...context.envelope,
    ok: false,
    outputRef: null,
    outputBytes: 0,
    truncated: false,
    error,
    durationMs: 0,
  };
  return {
    type: "tool.finished",
    step,
    callId,
    response,
    labels,
    tokens: context.tokensOf(errorResult(code, message)),
  };
}

function errorResult(code: ToolError["code"], message: string): CallResult {
  return { ok: false, output: null, error: `${code}: ${message}` };
}
