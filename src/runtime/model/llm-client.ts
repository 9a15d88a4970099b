/**
 * The seeds' two ways to ask one model outside a run, over the backend port: Talon's `LLMClient` (T-3d) and Spectator's
 * `chat` and `stream_chat` (S-7.1). Neither writes a journal or counts against a budget; a run does both.
 *
 * L1. Before the network, prompt and reserved answer must fit the model's window: otherwise OverBudgetError (P-1.5).
 * L2. A request for another model is an error, never another model's answer (P-0).
 * L3. Cancelling, or leaving the loop, ends the request on the wire. An answer that broke off yields no calls.
 * L4. Reasoning is no part of an answer, inline or not.
 */
import { stripThoughts, thoughtStripper } from "../../kernel/protocol/release/thought-stripper.ts";
import type { ConfiguredModel, ModelReply, ModelUsage, PromptMessage, ToolOffer } from "../ports/model-backend.ts";
import type { ModelConfig } from "./model-router.ts";

export interface ChatRequest {
  /** `provider:model`, the client's own. */
  readonly model: string;
  readonly messages: readonly PromptMessage[];
  readonly tools?: readonly ToolOffer[];
  /** Default: the model's maximum. */
  readonly maxTokens?: number;
  /** From 0 to 2; omitted on the wire when unset. Models that always reason may refuse it. */
  readonly temperature?: number;
}

export interface ChatParams extends ChatRequest {
  /** False: the text arrives in one piece. */
  readonly stream: boolean;
}

export type LLMChunk =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool_call"; readonly id: string | null; readonly name: string; readonly argumentsText: string }
  | { readonly type: "end"; readonly stopReason: string; readonly usage: ModelUsage | null };

export interface LLMClient {
  chat(params: ChatParams): AsyncIterable<LLMChunk>;
  /** Of a text alone. An estimate until the first chat has loaded the tokenizer, or where there is none. */
  countTokens(text: string): number;
  getModelInfo(): ModelConfig;
}

export interface ChatResponse {
  readonly content: string;
  readonly toolCalls: readonly { readonly id: string | null; readonly name: string; readonly argumentsText: string }[];
  readonly stopReason: string;
  readonly usage: ModelUsage | null;
}

export interface ChatBackend {
  chat(request: ChatRequest): Promise<ChatResponse>;
  stream_chat(request: ChatRequest, cancel: AbortSignal): AsyncIterable<LLMChunk>;
}

/** The provider's failure by the port's code, or `model.unknown`, `model.no-vision`, `request.invalid`. */
export class LLMError extends Error {
  override readonly name = "LLMError";
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Prompt and reserved answer do not fit the model's window (P-1.5). Thrown before the network. */
export class OverBudgetError extends Error {
  override readonly name = "OverBudgetError";
  readonly code = "context.over-budget";

  constructor(neededTokens: number, contextWindow: number) {
    super(`Prompt and answer need ${neededTokens} tokens, but the model's window holds ${contextWindow}.`);
  }
}

export function createLLMClient(model: ConfiguredModel, info: ModelConfig): LLMClient {
  const { tokens } = model;
  const framing = tokens.count("");
  return {
    chat: (params) => streamChat(model, params, new AbortController().signal, params.stream),
    countTokens: (text) => tokens.count(text) - framing,
    getModelInfo: () => info,
  };
}

export function createChatBackend(model: ConfiguredModel): ChatBackend {
  return {
    chat: async (request) => {
      await assertAskable(model, request);
      return readResponse(await complete(model, request, new AbortController().signal, null));
    },
    stream_chat: (request, cancel) => streamChat(model, request, cancel, true),
  };
}

async function* streamChat(
  model: ConfiguredModel,
  request: ChatRequest,
  cancel: AbortSignal,
  isStreamed: boolean,
): AsyncGenerator<LLMChunk> {
  await assertAskable(model, request);
  const stopping = new AbortController();
  const pieces: string[] = [];
  let wake = (): void => {};
  let isSettled = false;
  let shown = thoughtStripper.start();
  const onText = (written: string): void => {
    const [next, text] = thoughtStripper.push(shown, written);
    shown = next;
    if (text === "") return;
    pieces.push(text);
    wake();
  };
  const signal = AbortSignal.any([cancel, stopping.signal]);
  const answered = complete(model, request, signal, isStreamed ? onText : null).finally(() => {
    isSettled = true;
    wake();
  });
  // A consumer that leaves the loop never awaits it; a rejection then has no other handler.
  answered.catch(() => {});
  try {
    while (!isSettled || pieces.length > 0) {
      const changed = Promise.withResolvers<void>();
      wake = changed.resolve;
      for (const text of pieces.splice(0)) yield { type: "text", text };
      if (!isSettled && pieces.length === 0) await changed.promise;
    }
    const { content, toolCalls, stopReason, usage } = readResponse(await answered);
    const rest = isStreamed ? thoughtStripper.finish(shown) : content;
    if (rest !== "") yield { type: "text", text: rest };
    for (const call of toolCalls) yield { type: "tool_call", ...call };
    yield { type: "end", stopReason, usage };
  } finally {
    stopping.abort();
  }
}

async function assertAskable(configured: ConfiguredModel, request: ChatRequest): Promise<void> {
  const { ref, tokens, contextWindow, vision } = configured;
  if (request.model !== ref) throw new LLMError("model.unknown", `This client asks ${ref}, not ${request.model}.`);
  const { messages, tools = [], maxTokens = configured.maxOutputTokens, temperature = 0 } = request;
  if (!(temperature >= 0 && temperature <= 2)) {
    throw new LLMError("request.invalid", `temperature must be from 0 to 2, not ${temperature}.`);
  }
  if (vision === undefined && messages.some((message) => message.role === "user" && message.images !== undefined)) {
    throw new LLMError("model.no-vision", `${ref} sees no images.`);
  }
  await tokens.prepare?.();
  const needed = promptTokens(configured, messages, tools) + maxTokens;
  if (needed > contextWindow) throw new OverBudgetError(needed, contextWindow);
}

function complete(
  { model, backend, maxOutputTokens }: ConfiguredModel,
  { messages, tools = [], maxTokens = maxOutputTokens, temperature }: ChatRequest,
  signal: AbortSignal,
  onText: ((text: string) => void) | null,
): Promise<ModelReply> {
  const toolChoice = tools.length === 0 ? "none" : "auto";
  const request = { model, messages, tools, toolChoice, maxOutputTokens: maxTokens } as const;
  return backend.complete(temperature === undefined ? request : { ...request, temperature }, { signal, onText });
}

function readResponse(reply: ModelReply): ChatResponse {
  if (!reply.ok) throw new LLMError(reply.code, "The model's provider did not answer the request.");
  const { content, toolCalls, stopReason, complete } = reply.raw;
  if (!complete) throw new LLMError("provider.cut-off", "The answer broke off.");
  return { content: stripThoughts(content), toolCalls, stopReason, usage: reply.usage };
}

function promptTokens(
  { tokens: { count }, vision }: ConfiguredModel,
  messages: readonly PromptMessage[],
  tools: readonly ToolOffer[],
): number {
  const shown = messages.flatMap((message) => (message.role === "user" ? (message.images ?? []) : []));
  const images = shown.reduce((sum, image) => sum + (vision?.imageTokens(image) ?? 0), 0);
  const texts = messages.flatMap((message) => [
    message.content,
    ...(message.role === "assistant" ? message.toolCalls.map(({ tool, argumentsText }) => tool + argumentsText) : []),
  ]);
  return [...texts, ...tools.map((tool) => JSON.stringify(tool))].reduce((sum, text) => sum + count(text), images);
}
