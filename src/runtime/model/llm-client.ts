/**
 * One model as a client (T-3d): the seed's interface over the backend port, for whoever asks a model outside a run.
 *
 * L1. The context is checked before the network: tokens of the prompt are counted, the answer's are reserved, and what
 *     does not fit the model's window is an OverBudgetError (P-1.5).
 * L2. It answers for one model. To ask it for another is an error, never another model's answer (P-0).
 * L3. Whoever stops listening ends the request on the wire. Of an answer that broke off no call is told.
 * L4. What the backend throws reaches whoever listens, after what came before it.
 */

import type { ConfiguredModel, ModelReply, ModelUsage, PromptMessage, ToolOffer } from "../ports/model-backend.ts";
import type { ModelConfig } from "./model-router.ts";
import { OverBudgetError } from "./over-budget-error.ts";

export interface ChatParams {
  /** `provider:model`, the client's own. */
  readonly model: string;
  readonly messages: readonly PromptMessage[];
  readonly tools?: readonly ToolOffer[];
  /** Absent: as much as the model may answer. */
  readonly maxTokens?: number;
  /** False: the text comes in one piece. */
  readonly stream: boolean;
}

export type LLMChunk =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool_call"; readonly id: string | null; readonly name: string; readonly argumentsText: string }
  | { readonly type: "end"; readonly stopReason: string; readonly usage: ModelUsage | null };

export interface LLMClient {
  chat(params: ChatParams): AsyncIterable<LLMChunk>;
  /** Of a text alone; an estimate until the first chat has loaded the tokenizer, or where there is none. */
  countTokens(text: string): number;
  getModelInfo(): ModelConfig;
}

/** What a provider did instead of answering, by the code of the port; or `model.unknown`, `model.no-vision`. */
export class LLMError extends Error {
  override readonly name = "LLMError";
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export function createLLMClient(model: ConfiguredModel, info: ModelConfig): LLMClient {
  const { tokens } = model;
  const framing = tokens.count("");
  return {
    chat: (params) => chat(model, params),
    countTokens: (text) => tokens.count(text) - framing,
    getModelInfo: () => info,
  };
}

async function* chat(configured: ConfiguredModel, params: ChatParams): AsyncGenerator<LLMChunk> {
  const { ref, model, tokens, backend, contextWindow } = configured;
  if (params.model !== ref) throw new LLMError("model.unknown", `This client is of ${ref}.`);
  const { messages, tools = [], maxTokens = configured.maxOutputTokens, stream } = params;
  if (configured.vision === undefined && messages.some(hasImages)) {
    throw new LLMError("model.no-vision", `${ref} sees no images.`);
  }
  await tokens.prepare?.();
  const needed = promptTokens(configured, messages, tools) + maxTokens;
  if (needed > contextWindow) throw new OverBudgetError(needed, contextWindow);
  const stopping = new AbortController();
  const pieces: string[] = [];
  let wake = (): void => {};
  let isSettled = false;
  const onText = (text: string): void => {
    pieces.push(text);
    wake();
  };
  const toolChoice = tools.length === 0 ? "none" : "auto";
  const answered = backend
    .complete(
      { model, messages, tools, toolChoice, maxOutputTokens: maxTokens },
      { signal: stopping.signal, onText: stream ? onText : null },
    )
    .finally(() => {
      isSettled = true;
      wake();
    });
  // Whoever stops listening leaves it behind: then how it ends is nobody's concern.
  answered.catch(() => {});
  try {
    while (!isSettled || pieces.length > 0) {
      const heard = Promise.withResolvers<void>();
      wake = heard.resolve;
      for (const text of pieces.splice(0)) yield { type: "text", text };
      if (!isSettled && pieces.length === 0) await heard.promise;
    }
    yield* whatFollows(await answered, stream);
  } finally {
    stopping.abort();
  }
}

function* whatFollows(reply: ModelReply, wasStreamed: boolean): Generator<LLMChunk> {
  if (!reply.ok) throw new LLMError(reply.code, "The model's provider did not answer the request.");
  const { content, toolCalls, stopReason, complete } = reply.raw;
  if (!complete) throw new LLMError("provider.cut-off", "The answer broke off.");
  if (!wasStreamed && content !== "") yield { type: "text", text: content };
  for (const call of toolCalls) yield { type: "tool_call", ...call };
  yield { type: "end", stopReason, usage: reply.usage };
}

function hasImages(message: PromptMessage): boolean {
  return message.role === "user" && message.images !== undefined;
}

function promptTokens(
  { tokens: { count }, vision }: ConfiguredModel,
  messages: readonly PromptMessage[],
  tools: readonly ToolOffer[],
): number {
  const shown = messages.flatMap((message) => (message.role === "user" ? (message.images ?? []) : []));
  const images = shown.reduce((sum, image) => sum + (vision?.imageTokens(image) ?? 0), 0);
  const said = messages.flatMap((message) => [
    message.content,
    ...(message.role === "assistant" ? message.toolCalls.map(({ tool, argumentsText }) => tool + argumentsText) : []),
  ]);
  return [...said, ...tools.map((tool) => JSON.stringify(tool))].reduce((sum, text) => sum + count(text), images);
}
