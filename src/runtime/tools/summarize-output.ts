/**
 * Asks the contract's summarizer about a tool output that is over its budget (M-4.1, `tool_output_budget.summarizer_model`).
 *
 * S1. Only outputs of calls that changed nothing: what a side effect brought is durable before anything follows it, so its
 *     output is truncated at once.
 * S2. Like any inference it needs room in the run's budgets and a granted reservation. What it cost is in the event that
 *     brings the result; it counts as tokens and money, not as one of the run's inferences.
 * S3. It has what is left of the call's time, and a margin stays to record the result. Without time, room or a usable text
 *     the output is truncated, and the event says why.
 * S4. It sees the redacted output and a fixed instruction, so the summary keeps the labels of the output.
 */
import type { OutputSummary } from "../../kernel/journal/event.ts";
import { isHarmless } from "../../kernel/machine/call-promise.ts";
import type { Command } from "../../kernel/machine/command.ts";
import { stepDeadline } from "../../kernel/machine/deadline.ts";
import { inFlightCall } from "../../kernel/machine/outstanding.ts";
import type { RunState } from "../../kernel/machine/state.ts";
import { stripThoughts } from "../../kernel/protocol/release/thought-stripper.ts";
import type { Redactor } from "../../kernel/redaction/redact.ts";
import type { CallId, RunId } from "../../kernel/vocabulary/identifiers.ts";
import { costOf } from "../../kernel/vocabulary/model-price.ts";
import { costOfFailure, credibleUsage } from "../model/call-model.ts";
import { beginCall, type CallFacts } from "../model/model-call.ts";
import { summaryProblem } from "../model/summary-problem.ts";
import { truncateToTokens } from "../model/truncate-to-tokens.ts";
import type { Clock } from "../ports/clock.ts";
import type { ConfiguredModel, ModelUsage, PromptMessage } from "../ports/model-backend.ts";
import type { Store } from "../ports/store.ts";
import type { SpendAccount } from "../spend/spend-account.ts";

/** Shorter answers would not be finished in it; a longer rest is not waited for. */
const MIN_TIME_MS = 1_000;
/** Time to record the result after the summarizer was cut off. */
const MARGIN_MS = 500;
/** A summary within the byte budget has no more tokens than bytes, and hardly ever more than this. */
const MAX_OUTPUT_TOKENS = 2_000;
const CUT = "\n[… the rest is not shown]";

interface SummaryRequest {
  readonly tool: string;
  readonly callId: CallId;
  /** Redacted. */
  readonly output: string;
  readonly maxBytes: number;
  /** Names the reservation; negative, since inferences count up from 1. */
  readonly attempt: number;
  readonly timeMs: number;
  /** Of the run's budget; money is null without a limit. */
  readonly left: { readonly tokens: number; readonly microusd: number | null };
  readonly signal: AbortSignal;
}

export interface SummarizerContext {
  readonly ports: {
    readonly clock: Pick<Clock, "wake" | "monotonicMs">;
    readonly store: Pick<Store, "commit">;
    readonly redactor: Redactor;
  };
  readonly account: SpendAccount;
  readonly model: ConfiguredModel;
  readonly instruction: string;
  readonly run: { readonly runId: RunId };
  readonly onModelCall: (call: CallFacts) => void;
}

export interface SummarizedOutput {
  /** Null: truncate the output. */
  readonly text: string | null;
  readonly summary: Omit<OutputSummary, "truncatedRef">;
}

/** For a call that starts now; null: an output over its budget is truncated. */
export function summarizerOf(
  context: SummarizerContext,
  { callId, tool, timeoutMs }: Pick<Extract<Command, { type: "run-tool" }>, "callId" | "tool" | "timeoutMs">,
  state: RunState,
  signal: AbortSignal,
): ((output: string) => Promise<SummarizedOutput>) | null {
  const { contract, budget, phase, chain, elapsedMs } = state;
  const call = inFlightCall(state, callId);
  if (call === undefined || phase.at !== "OBSERVE" || !isHarmless(call)) return null;
  const { monotonicMs } = context.ports.clock;
  const startedMs = monotonicMs();
  const { maxSpendMicrousd, maxTokensConsumed, totalTimeoutMs, toolOutputBudget } = contract;
  const allowedMs = Math.min(timeoutMs, stepDeadline(state) - elapsedMs, totalTimeoutMs - elapsedMs);
  // Calls in flight share what is left.
  const shareOf = (left: number): number => Math.floor(left / phase.inFlight.length);
  const left = {
    tokens: shareOf(maxTokensConsumed - budget.tokens),
    microusd: maxSpendMicrousd === null ? null : shareOf(maxSpendMicrousd - budget.spendMicrousd),
  };
  // The next calls start after more entries than there are calls in flight, so no other call of the run has this number.
  const attempt = -(chain.seq + phase.inFlight.indexOf(call));
  const { maxBytesPerCall: maxBytes } = toolOutputBudget;
  return (output) => {
    const timeMs = allowedMs - (monotonicMs() - startedMs);
    return summarizeOutput(context, { tool, callId, output, maxBytes, attempt, timeMs, left, signal });
  };
}

async function summarizeOutput(context: SummarizerContext, request: SummaryRequest): Promise<SummarizedOutput> {
  const { ports, account, model, instruction, run, onModelCall } = context;
  await model.tokens.prepare?.();
  const maxOutputTokens = Math.min(model.maxOutputTokens, MAX_OUTPUT_TOKENS, request.maxBytes);
  const messages = promptFor(model, request, instruction, maxOutputTokens);
  const inputTokens = messages.reduce((sum, { content }) => sum + model.tokens.count(content), 0);
  const most = { inputTokens, outputTokens: maxOutputTokens };
  const refused = await reserve(context, request, most);
  if (refused !== null) return unused(model, refused, NO_USAGE);
  const timeMs = request.timeMs - MARGIN_MS;
  if (request.signal.aborted || timeMs < MIN_TIME_MS) return unused(model, "the call's time is over", NO_USAGE);
  const stopping = new AbortController();
  const disarm = ports.clock.wake(timeMs, () => stopping.abort());
  account.beginSummary(request.callId, request.attempt, amountOf(model, most));
  const about = { model, purpose: "summary", runId: run.runId, attempt: request.attempt, estimated: most } as const;
  const ended = beginCall(ports.clock, about);
  const reply = await model.backend.complete(
    { model: model.model, messages, tools: [], toolChoice: "none", maxOutputTokens },
    { signal: AbortSignal.any([request.signal, stopping.signal]), onText: null },
  );
  disarm();
  onModelCall(ended(reply, request.signal.aborted));
  if (!reply.ok) {
    const reported = credibleUsage(model, { maxOutputTokens }, reply.usage, false);
    const charged = reported ?? costOfFailure(reply.retryable, { maxOutputTokens }, inputTokens);
    return unused(model, stopping.signal.aborted ? "it took too long" : reply.code, charged, reported === null);
  }
  const { content, complete } = reply.raw;
  const reported = credibleUsage(model, { maxOutputTokens }, reply.usage, content !== "");
  const usage = reported ?? most;
  const said = ports.redactor.redactText(stripThoughts(content).trim().toWellFormed()).text;
  const text = `[Summary of ${Buffer.byteLength(request.output)} bytes by ${model.ref}]\n${said}`;
  const problem = complete
    ? (summaryProblem(said, request.output, model.tokens.count, maxOutputTokens) ?? lengthProblem(text, request))
    : "its answer broke off";
  if (problem !== null) return unused(model, problem, usage, reported === null);
  return { text, summary: stated(model, null, usage, reported === null) };
}

/** The output's beginning, where it does not fit into the model's window. */
function promptFor(
  { contextWindow, tokens }: ConfiguredModel,
  { tool, output }: SummaryRequest,
  instruction: string,
  maxOutputTokens: number,
): readonly PromptMessage[] {
  const head = `Tool: ${tool}\nOutput:\n`;
  const room = contextWindow - maxOutputTokens - tokens.count(instruction) - tokens.count(head);
  return [
    { role: "system", content: instruction },
    { role: "user", content: head + truncateToTokens(output, Math.max(0, room), CUT, tokens.count) },
  ];
}

/** Why the request may not be sent; null when it may. */
async function reserve(
  { ports, account, model }: SummarizerContext,
  { attempt, left }: SummaryRequest,
  most: ModelUsage,
): Promise<string | null> {
  const amount = amountOf(model, most);
  if (amount.tokens > left.tokens) return "the run's token budget has no room for it";
  if (left.microusd !== null && amount.microusd > left.microusd) return "the run's spending limit has no room for it";
  if (account.refusesUnpriced && model.price === null && !model.isFree) return "it has no price, and a limit applies";
  const reservation = account.reserveAmount(attempt, amount);
  if (reservation === null) return null;
  const { spend } = await ports.store.commit([reservation], "barrier");
  if (spend?.granted === false) return `the budget of ${spend.scope} has no room for it`;
  account.grant(reservation);
  return null;
}

function lengthProblem(text: string, { maxBytes }: SummaryRequest): string | null {
  const bytes = Buffer.byteLength(text);
  return bytes > maxBytes ? `it has ${bytes} bytes, and ${maxBytes} are allowed` : null;
}

const NO_USAGE: ModelUsage = { inputTokens: 0, outputTokens: 0 };

function unused(model: ConfiguredModel, problem: string, usage: ModelUsage, isEstimate = false): SummarizedOutput {
  return { text: null, summary: stated(model, problem, usage, isEstimate) };
}

function stated(
  { ref, price, isFree }: ConfiguredModel,
  problem: string | null,
  { inputTokens, outputTokens }: ModelUsage,
  isEstimate: boolean,
): SummarizedOutput["summary"] {
  const costMicrousd = costOf(price, { inputTokens, outputTokens });
  const isUnpriced = price === null && !isFree && inputTokens + outputTokens > 0;
  return {
    model: ref,
    problem,
    usage: { inputTokens, outputTokens, costMicrousd, ...(isEstimate ? { isEstimate: true as const } : {}) },
    ...(isUnpriced ? { isUnpriced: true as const } : {}),
  };
}

function amountOf({ price }: ConfiguredModel, usage: ModelUsage) {
  return { microusd: costOf(price, usage), tokens: usage.inputTokens + usage.outputTokens };
}
