/**
 * From a tool's raw answer to the event the machine hears. The answer is untrusted: no envelope means `tool.malformed`;
 * outputs and error messages are redacted, then cut at the contract's budget. A tool that cannot say whether its opaque
 * effect happened has not answered, and a person is asked.
 */
import type { ExecutionContract } from "../../kernel/contract/contract.ts";
import type { Answer } from "../../kernel/journal/entry.ts";
import type { Command } from "../../kernel/machine/command.ts";
import type { Redactor } from "../../kernel/redaction/redact.ts";
import { canonicalJson } from "../../kernel/vocabulary/canonical-json.ts";
import type { BodyRef } from "../../kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import { parseToolResponse, type ToolError, type ToolResponse } from "../../kernel/vocabulary/tool-envelope.ts";
import { truncateOutput } from "../../kernel/vocabulary/truncate-output.ts";
import type { Planned } from "../ports/toolbox.ts";
import type { CallResult } from "./format-tool-result.ts";

type RunTool = Pick<Extract<Command, { type: "run-tool" }>, "step" | "callId">;

export interface ResultDependencies {
  readonly contract: ExecutionContract;
  readonly redactor: Redactor;
  readonly keep: (text: string) => BodyRef;
  /** Tokens of the role=tool message for this result. */
  readonly tokensOf: (outcome: CallResult) => number;
}

export function toolAnswer(
  context: ResultDependencies,
  { step, callId }: RunTool,
  { labels, idempotency }: Pick<Planned, "labels" | "idempotency">,
  envelope: unknown,
): Answer {
  const parsed = parseToolResponse(envelope);
  if (!parsed.ok) return { type: "tool.malformed", step, callId, problem: parsed.problem };
  const { response } = parsed;
  const isInDoubt = !response.ok && response.error.details["outcome"] === "unknown";
  if (isInDoubt && idempotency === "opaque") return { type: "effect.unknown", step, callId };
  return response.ok
    ? succeeded(context, { step, callId }, labels, response)
    : failed(context, { step, callId }, labels, response);
}

function succeeded(
  { contract, redactor, keep, tokensOf }: ResultDependencies,
  asked: RunTool,
  labels: Labels,
  { output, durationMs }: Extract<ToolResponse, { ok: true }>,
): Answer {
  const whole =
    typeof output === "string"
      ? redactor.redactText(output.toWellFormed()).text
      : canonicalJson(redactor.redactJson((output ?? null) as JsonValue).value);
  const { maxBytesPerCall, truncationMarker } = contract.toolOutputBudget;
  const { text, bytes, truncated } = truncateOutput(whole, maxBytesPerCall, truncationMarker);
  return {
    type: "tool.finished",
    ...asked,
    response: { ok: true, outputRef: keep(text), outputBytes: bytes, truncated, error: null, durationMs },
    labels,
    tokens: tokensOf({ ok: true, output: text, error: null }),
  };
}

function failed(
  { contract, redactor, keep, tokensOf }: ResultDependencies,
  asked: RunTool,
  labels: Labels,
  { error, durationMs }: Extract<ToolResponse, { ok: false }>,
): Answer {
  const { maxBytesPerCall, truncationMarker } = contract.toolOutputBudget;
  const whole = redactor.redactText(error.message.toWellFormed()).text;
  const message = truncateOutput(whole, maxBytesPerCall, truncationMarker).text;
  const { code, retryable } = error;
  return {
    type: "tool.finished",
    ...asked,
    response: {
      ok: false,
      outputRef: null,
      outputBytes: 0,
      truncated: false,
      error: { code, retryable, messageRef: keep(message) },
      durationMs,
    },
    labels,
    tokens: tokensOf(errorResult(code, message)),
  };
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
  const response = { ok: false, outputRef: null, outputBytes: 0, truncated: false, error, durationMs: 0 };
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
