/**
 * `call-model`: builds the request, and turns the reply into `model.answered` or `model.failed`.
 *
 * The contract's protocol adapter reads the answer; redaction comes before storage, so the machine sees refs only to
 * what the journal may hold. An answer that repeats a system prompt becomes a refusal (P-2.5).
 *
 * Charging, where the provider reports no usage or an impossible one: an answer costs its prompt and what was written,
 * reasoning included. An answer that broke off, or reasoning that was hidden, may have been billed in full, so the
 * whole limit is charged. A request lost before its answer began is charged its prompt: it may have arrived.
 */
import type { ExecutionContract } from "../../kernel/contract/contract.ts";
import type { Answer } from "../../kernel/journal/entry.ts";
import type { Command } from "../../kernel/machine/command.ts";
import { answerEntry } from "../../kernel/machine/constraint.ts";
import type { RunState } from "../../kernel/machine/state.ts";
import { adapterFor, readsDocuments } from "../../kernel/protocol/adapter-for.ts";
import { applyNotes, type CheckpointState } from "../../kernel/protocol/checkpoint-state.ts";
import type { Notes } from "../../kernel/protocol/notes.ts";
import type { ProtocolAdapterResult } from "../../kernel/protocol/protocol-adapter.ts";
import type { RawModelOutput } from "../../kernel/protocol/raw-model-output.ts";
import { inlineThoughts } from "../../kernel/protocol/release/thought-stripper.ts";
import { type DisclosureGuard, guardAnswer, guardJson } from "../../kernel/redaction/disclosure-guard.ts";
import type { Redactor } from "../../kernel/redaction/redact.ts";
import { canonicalJson } from "../../kernel/vocabulary/canonical-json.ts";
import { cutText } from "../../kernel/vocabulary/cut-text.ts";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import { asCallId } from "../../kernel/vocabulary/identifiers.ts";
import type { AgentMessage } from "../../kernel/vocabulary/message.ts";
import { costOf } from "../../kernel/vocabulary/model-price.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import type { ThinkingLevel } from "../../kernel/vocabulary/thinking-level.ts";
import { canonicalWire } from "../../kernel/vocabulary/wire-case.ts";
import type {
  ConfiguredModel,
  ModelReply,
  ModelRequest,
  ModelUsage,
  PromptMessage,
  Thoughts,
} from "../ports/model-backend.ts";
import type { RegisteredTool } from "../ports/toolbox.ts";
import type { BodyCache } from "../run/body-cache.ts";
import { encodeReasoning } from "./reasoning-continuation.ts";
import { readTypedAnswer } from "./typed-answer.ts";

type CallModel = Extract<Command, { type: "call-model" }>;

export function modelRequest(
  { model }: ConfiguredModel,
  command: CallModel,
  state: RunState,
  messages: readonly PromptMessage[],
  tools: readonly RegisteredTool[],
  effort: ThinkingLevel | null,
): ModelRequest {
  const { grammar, logitsMask, adapterVersion } = state.contract;
  const constraint = { entry: answerEntry(state, tools.length), grammar };
  return {
    model,
    messages,
    tools,
    toolChoice: toolChoice(state, tools.length),
    maxOutputTokens: command.maxOutputTokens,
    ...(readsDocuments(adapterVersion) ? { constraint } : null),
    ...(logitsMask === null ? null : { logitsMask }),
    ...(effort === null ? null : { effort }),
  };
}

/** A contract that a later version sealed: its answers could not be read, so nothing is sent. */
export function unknownAdapter({ attempt }: CallModel, { contract }: RunState): Answer | null {
  if (adapterFor(contract.adapterVersion) !== null) return null;
  const usage = { inputTokens: 0, outputTokens: 0, costMicrousd: 0 };
  return { type: "model.failed", attempt, code: "adapter.unknown", retryable: false, retryAfterMs: 0, usage };
}

/** `required` until one call was performed; after that the model must be able to close. */
function toolChoice({ contract, budget }: RunState, offered: number): ModelRequest["toolChoice"] {
  if (offered === 0) return "none";
  return contract.toolPolicy === "required" && budget.performed === 0 ? "required" : "auto";
}

export interface ModelCallContext {
  readonly model: ConfiguredModel;
  readonly contract: ExecutionContract;
  /** Thoughts may be shown, so they are kept. */
  readonly keepsThoughts: boolean;
  /** The requested effort; null: the model decides. */
  readonly effort: ThinkingLevel | null;
  readonly redactor: Redactor;
  readonly guard: DisclosureGuard;
  /** Provides the checkpoint that NOTES patch; null: this run's NOTES count for nothing. */
  readonly checkpoint: (() => CheckpointState) | null;
  readonly bodyCache: Pick<BodyCache, "keep" | "keepUnique" | "keepJson">;
}

export function modelAnswer(
  context: ModelCallContext,
  command: CallModel,
  promptTokens: number,
  reply: ModelReply,
): Answer {
  const { attempt } = command;
  if (!reply.ok) {
    const { code, retryable, retryAfterMs, words } = reply;
    const reported = credibleUsage(context.model, command, reply.usage, false);
    const charged = reported ?? { ...costOfFailure(retryable, command, promptTokens), isEstimate: true as const };
    const usage = priced(context.model, charged);
    const failed = { type: "model.failed", attempt, code, retryable, retryAfterMs, usage } as const;
    if (words === undefined) return failed;
    return { ...failed, messageRef: context.bodyCache.keep(context.redactor.redactText(words).text) };
  }
  const { raw, stream } = reply;
  const clean = (text: string): string => cleanText(context, text);
  const adapted = readTypedAnswer(context.contract, adapt(context.contract, raw), clean);
  const reported = credibleUsage(context.model, command, reply.usage, raw.content !== "" || raw.toolCalls.length > 0);
  const outputTokens = (): number => writtenTokens(context, command, reply);
  const usage = reported ?? { inputTokens: promptTokens, outputTokens: outputTokens(), isEstimate: true as const };
  const { status, failureCode, adapterVersion: version, rawHash } = adapted;
  return {
    type: "model.answered",
    attempt,
    rawHash,
    adapter: { status, failureCode, version },
    ...recordMessage(context, command, adapted, raw.toolCalls.length > 0 ? reply.thoughts : undefined),
    ...(context.keepsThoughts ? recordThoughts(context, reply) : {}),
    usage: priced(context.model, usage),
    stopReason: shortName(context.redactor, raw.stopReason),
    fingerprint: shortName(context.redactor, raw.model),
    stream: { ...stream, chars: raw.content.length },
  };
}

/** Tolerance: a window may be declared too small, and providers count tokens differently. */
const MAX_WINDOWS = 2;
/** Tolerance: some providers do not count reasoning against the output limit. */
const MAX_OUTPUTS = 64;

export function credibleUsage(
  { contextWindow }: Pick<ConfiguredModel, "contextWindow">,
  { maxOutputTokens }: Pick<CallModel, "maxOutputTokens">,
  usage: ModelUsage | null,
  hasAnswered: boolean,
): ModelUsage | null {
  if (usage === null) return null;
  const { inputTokens, outputTokens } = usage;
  if (hasAnswered && inputTokens === 0 && outputTokens === 0) return null;
  const isPossible = inputTokens <= MAX_WINDOWS * contextWindow && outputTokens <= MAX_OUTPUTS * maxOutputTokens;
  return isPossible ? usage : null;
}

/** Not retryable means the answer had begun: it may have been billed in full. */
export function costOfFailure(
  retryable: boolean,
  { maxOutputTokens }: Pick<CallModel, "maxOutputTokens">,
  promptTokens: number,
): ModelUsage {
  return { inputTokens: promptTokens, outputTokens: retryable ? 0 : maxOutputTokens };
}

function adapt(contract: ExecutionContract, raw: RawModelOutput): ProtocolAdapterResult {
  const adapter = adapterFor(contract.adapterVersion);
  if (adapter === null) throw new Defect("preflight let an unknown adapter pass");
  return adapter.adapt(raw, contract.strictMode ? "strict" : "lenient");
}

type AnsweredEvent = Extract<Answer, { type: "model.answered" }>;

/** The word by which a review passes the draft. */
const PASS = /^\W*PASS\W*$/u;

function recordMessage(
  context: ModelCallContext,
  { mode }: Pick<CallModel, "mode">,
  { canonicalMessage, notes }: ProtocolAdapterResult,
  thoughts: Thoughts | undefined,
): Pick<AnsweredEvent, "messageRef" | "textRef" | "calls" | "notes" | "tokens"> {
  if (canonicalMessage === null) return { messageRef: null, textRef: null, calls: [], notes: null, tokens: 0 };
  const { bodyCache } = context;
  const message = clean(context, canonicalMessage, thoughts);
  // The names of contracts/schemas/agent-message.schema.json (M-4.3, M-4.4).
  const text = canonicalWire(message);
  const isWithoutText = message.content.trim() === "" || (mode === "critique" && PASS.test(message.content));
  return {
    messageRef: bodyCache.keepUnique(text),
    textRef: isWithoutText ? null : bodyCache.keep(message.content),
    calls: message.toolCalls.map((call) => ({
      callId: asCallId(call.id),
      tool: call.name,
      argsRef: bodyCache.keepJson(canonicalJson(call.arguments), call.arguments as JsonValue),
    })),
    notes: notes && context.checkpoint && notesOf(context, notes, context.checkpoint()),
    tokens: context.model.tokens.count(text),
  };
}

const MAX_THOUGHT_CHARS = 100_000;

/** What the provider reports as reasoning, or the model wrote in a `<think>` block. */
function recordThoughts(
  { redactor, guard, bodyCache }: ModelCallContext,
  { raw: { content }, reasoning = "" }: Extract<ModelReply, { ok: true }>,
): Pick<AnsweredEvent, "thoughtsRef"> {
  const thoughts = [reasoning, inlineThoughts(content)]
    .filter((text) => text.trim() !== "")
    .join("\n")
    .trim();
  if (thoughts === "") return {};
  const shown = redactor.redactText(guardAnswer(guard, thoughts.toWellFormed()).text).text;
  return { thoughtsRef: bodyCache.keep(cutText(shown, MAX_THOUGHT_CHARS)) };
}

/** Drops the provider's own framing of a call; `rawPayload` of the first call keeps its reasoning instead. */
function clean(
  { redactor, guard }: ModelCallContext,
  message: AgentMessage,
  thoughts: Thoughts | undefined,
): AgentMessage {
  const reasoning = thoughts === undefined ? null : encodeReasoning(redactor, thoughts);
  const content = cleanText({ redactor, guard }, message.content);
  const toolCalls = message.toolCalls.map((call, index) => ({
    ...call,
    // A model may put a secret into an id, too.
    id: redactor.redactText(call.id).text === call.id ? call.id : `redacted_${index}`,
    name: redactor.redactText(call.name).text,
    arguments: redactor.redactJson(guardJson(guard, call.arguments as JsonValue)).value as Record<string, unknown>,
    sourceModel: redactor.redactText(call.sourceModel).text,
    rawPayload: index === 0 ? reasoning : null,
  }));
  return { ...message, content, toolCalls };
}

function cleanText({ redactor, guard }: Pick<ModelCallContext, "redactor" | "guard">, text: string): string {
  return redactor.redactText(guardAnswer(guard, text).text).text;
}

function notesOf(
  { redactor, guard, bodyCache }: ModelCallContext,
  notes: Notes,
  checkpoint: CheckpointState,
): NonNullable<AnsweredEvent["notes"]> {
  if (notes.status !== "parsed") return { status: "malformed", ref: null, actions: [] };
  const { value } = redactor.redactJson(guardJson(guard, notes.patch as unknown as JsonValue));
  const { actions } = applyNotes(checkpoint, value as unknown as typeof notes.patch);
  return {
    status: "applied",
    ref: bodyCache.keep(canonicalJson(value)),
    actions: actions.map(({ action, status }) => ({ action, status })),
    // The keys are the model's words, so they are only counted.
    ...(notes.unknownKeys.length === 0 ? {} : { unknownKeys: notes.unknownKeys.length }),
  };
}

function priced(
  { price }: ConfiguredModel,
  { inputTokens, outputTokens, isEstimate }: ModelUsage & { readonly isEstimate?: true },
): AnsweredEvent["usage"] {
  const costMicrousd = costOf(price, { inputTokens, outputTokens });
  return { inputTokens, outputTokens, costMicrousd, ...(isEstimate ? { isEstimate } : {}) };
}

/** Signed reasoning may be a summary, and some is hidden: then its real length is unknown. */
function writtenTokens(
  { model: { tokens, thinking }, effort }: ModelCallContext,
  { maxOutputTokens }: CallModel,
  { raw, reasoning = "", thoughts }: Extract<ModelReply, { ok: true }>,
): number {
  const hasThought = effort === null ? thinking?.isByItself === true : effort !== "off";
  const isHidden = thoughts?.isSigned === true || (hasThought && reasoning === "");
  if (!raw.complete || isHidden) return maxOutputTokens;
  const { content, toolCalls } = raw;
  const written = toolCalls.reduce(
    (sum, call) => sum + tokens.count(call.name + call.argumentsText),
    tokens.count(content),
  );
  return reasoning === "" ? written : written + tokens.count(reasoning);
}

const MAX_NAME_CHARS = 128;

/** A provider's label, such as a stop reason; bounded, so that it cannot carry content. */
function shortName(redactor: Redactor, text: string): string {
  return redactor.redactText(text.toWellFormed().slice(0, MAX_NAME_CHARS)).text.toWellFormed();
}
