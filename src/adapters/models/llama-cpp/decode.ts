/**
 * One answer, token by token.
 *
 * E1. Under a grammar every token keeps the answer a beginning of one that the grammar accepts, and it ends where the grammar
 *     lets it end: an end before that is no answer.
 * E2. The signal is looked at before each token and each piece of the prompt.
 * E3. Pieces of text end at whole characters; together they are the answer.
 * E4. An answer that reached its limit says so (`length`): it was cut off.
 */
import { hashCanonical } from "../../../kernel/vocabulary/hash.ts";
import type { ModelReply, ModelRequest } from "../../../runtime/ports/model-backend.ts";
import { fault } from "../provider-fault.ts";
import type { ChatPrompt } from "./chat-prompt.ts";
import type { LlamaSequence, Token } from "./llama-package.ts";
import type { LoadedModel, LocalModelSettings } from "./local-models.ts";

/** Tokens of the prompt that are read at once. */
const PROMPT_STEP = 256;
const TEMPERATURE = 0.7;
/** Adds so much that a token is out of the question. */
const NEVER = -1e4;
/** The bytes of a character. */
const MAX_PARTS = 4;

export interface DecodeWatch {
  readonly signal: AbortSignal;
  readonly onText: ((text: string) => void) | null;
}

export async function decode(
  loaded: LoadedModel,
  { contextWindow, clock }: Pick<LocalModelSettings, "contextWindow" | "clock">,
  prompt: ChatPrompt,
  request: ModelRequest,
  nth: number,
  { signal, onText }: DecodeWatch,
): Promise<ModelReply> {
  const { tokens } = prompt;
  const most = Math.min(request.maxOutputTokens, contextWindow - tokens.length);
  if (most < 1) return { ...fault("provider.context-full"), usage: { inputTokens: 0, outputTokens: 0 } };
  const startedMs = clock.monotonicMs();
  const sinceMs = (): number => Math.round(clock.monotonicMs() - startedMs);
  const sequence = await loaded.sequenceFor(tokens.length + most);
  const rest = await readPrompt(sequence, tokens, signal);
  const writing = new Writing(loaded, request.constraint === undefined ? prompt.stops : [], onText);
  const stream = { chunks: 0, firstMs: 0, lastMs: 0 };
  let end: "stop" | "length" | "none" = "none";
  if (!signal.aborted) {
    for await (const token of sequence.evaluate(rest, optionsOf(loaded, request, tokens, nth))) {
      if (signal.aborted) break;
      if (loaded.model.isEogToken(token)) end = "stop";
      else if (writing.add(token)) end = "stop";
      else if (writing.count >= most) end = "length";
      stream.chunks += 1;
      stream.lastMs = sinceMs();
      if (stream.chunks === 1) stream.firstMs = stream.lastMs;
      if (end !== "none") break;
    }
  }
  const usage = { inputTokens: tokens.length, outputTokens: writing.count };
  if (signal.aborted) return { ...fault("provider.cancelled"), usage };
  writing.finish();
  const raw = {
    ...{ content: writing.content, toolCalls: [], stopReason: end === "length" ? "length" : "stop" },
    ...{ model: loaded.fingerprint, complete: end !== "none" },
  };
  return { ok: true, raw, usage, stream };
}

/** What the context holds of the same beginning stays. Returns what is left to read, at least one token. */
async function readPrompt(
  sequence: LlamaSequence,
  tokens: readonly Token[],
  signal: AbortSignal,
): Promise<readonly Token[]> {
  await sequence.adaptStateToTokens(tokens.slice(0, -1), false);
  const last = tokens.length - 1;
  for (let at = sequence.nextTokenIndex; at < last && !signal.aborted; at = sequence.nextTokenIndex) {
    await sequence.evaluateWithoutGeneratingNewTokens(tokens.slice(at, Math.min(at + PROMPT_STEP, last)));
  }
  return tokens.slice(last);
}

function optionsOf(loaded: LoadedModel, request: ModelRequest, prompt: readonly Token[], nth: number): object {
  const { temperature = TEMPERATURE, logitsMask } = request;
  const grammarEvaluationState = grammarState(loaded, request);
  return {
    ...{ temperature, topK: 0, topP: 1, minP: 0.02, yieldEogToken: true },
    // The same request of a new process gets the same answer; asked again, it gets another.
    seed: Number.parseInt(hashCanonical([prompt, nth]).slice(0, 7), 16),
    ...(grammarEvaluationState === null ? {} : { grammarEvaluationState }),
    ...(logitsMask === undefined ? {} : { tokenBias: biasOf(loaded, logitsMask) }),
  };
}

function grammarState({ parts, llama, model, grammars }: LoadedModel, { constraint }: ModelRequest): object | null {
  if (constraint === undefined || constraint.grammar === null) return null;
  const { grammar: text, entry } = constraint;
  const key = `${entry}\n${text}`;
  const grammar = grammars.get(key) ?? new parts.LlamaGrammar(llama, { grammar: text, rootRuleName: entry });
  grammars.clear();
  grammars.set(key, grammar);
  return new parts.LlamaGrammarEvaluationState({ model, grammar });
}

function biasOf({ parts, model }: LoadedModel, mask: readonly number[]): object {
  const bias = new parts.TokenBias(model.tokenizer);
  for (const [token, logit] of mask.entries()) {
    if (logit !== 0) bias.set(token, logit <= NEVER ? "never" : { logit });
  }
  return bias;
}

class Writing {
  content = "";
  count = 0;
  readonly #model: LoadedModel["model"];
  readonly #stops: readonly string[];
  readonly #onText: ((text: string) => void) | null;
  #parts: Token[] = [];
  #written: Token[] = [];
  #isInvalid = false;
  /** The end of the text, while a stop may begin in it. */
  #unsure = "";

  constructor({ model }: LoadedModel, stops: readonly string[], onText: ((text: string) => void) | null) {
    this.#model = model;
    this.#stops = stops;
    this.#onText = onText;
  }

  /** True when the text reached one of its stops. */
  add(token: Token): boolean {
    this.count += 1;
    this.#parts.push(token);
    const text = this.#model.detokenize(this.#parts, false, this.#written);
    if (text.endsWith("\uFFFD") && this.#parts.length < MAX_PARTS) return false;
    return this.#take(text);
  }

  finish(): void {
    if (this.#parts.length > 0) this.#take(this.#model.detokenize(this.#parts, false, this.#written));
    this.#show(this.#unsure);
    this.#unsure = "";
  }

  #take(decoded: string): boolean {
    this.#written = [...this.#written, ...this.#parts].slice(-MAX_PARTS);
    this.#parts = [];
    // The grammar counts a sequence of bytes as one character although it encodes none.
    const added = this.#isInvalid ? decoded.replace(/^\uFFFD+/, "") : decoded;
    const text = added.replaceAll(/\uFFFD+/g, "\uFFFD");
    this.#isInvalid = decoded.endsWith("\uFFFD");
    const all = this.#unsure + text;
    const stop = this.#stops.map((each) => all.indexOf(each)).filter((at) => at >= 0);
    const shown = stop.length > 0 ? Math.min(...stop) : all.length - openLength(all, this.#stops);
    this.#unsure = stop.length > 0 ? "" : all.slice(shown);
    this.#show(all.slice(0, shown));
    return stop.length > 0;
  }

  #show(text: string): void {
    if (text === "") return;
    this.content += text;
    this.#onText?.(text);
  }
}

/** How many characters at the end may still become a stop. */
function openLength(text: string, stops: readonly string[]): number {
  const longest = Math.max(0, ...stops.map((stop) => stop.length - 1));
  for (let length = Math.min(longest, text.length); length > 0; length -= 1) {
    if (stops.some((stop) => stop.length > length && stop.startsWith(text.slice(-length)))) return length;
  }
  return 0;
}
