/**
 * Listens to one response of a chat completions server and makes a reply of it.
 *
 * L1. What the server says its body is decides how it is read, not what was asked for: some never stream.
 * L2. Text is passed on as it comes, in order, once.
 * L3. A stream that broke off after it began is an answer that is not complete: the kernel sees what came and takes no
 *     call from it. Where nothing had come, it is a fault.
 */
import { createParser, type EventSourceParser } from "eventsource-parser";
import type { Clock } from "../../../runtime/ports/clock.ts";
import type { ModelReply } from "../../../runtime/ports/model-backend.ts";
import type { ExchangeEnd, ResponseHead, ResponseListener } from "../http-exchange.ts";
import { type Fault, fault, faultOfEnd, faultOfHead } from "../provider-fault.ts";
import { type ChatAnswer, EMPTY_ANSWER, rawOutputOf, readAnswer, stepAnswer } from "./chat-answer.ts";

export class ChatReader implements ResponseListener {
  readonly #clock: Clock;
  readonly #onText: ((text: string) => void) | null;
  readonly #startedMs: number;
  readonly #decoder = new TextDecoder();
  #fault: Fault | null = null;
  #parser: EventSourceParser | null = null;
  #answer: ChatAnswer = EMPTY_ANSWER;
  #body = "";
  #hasBegun = false;
  #firstMs = 0;
  #lastMs = 0;

  constructor(clock: Clock, onText: ((text: string) => void) | null) {
    this.#clock = clock;
    this.#onText = onText;
    this.#startedMs = clock.monotonicMs();
  }

  onHead(head: ResponseHead): boolean {
    this.#fault = faultOfHead(head, this.#clock.nowMs());
    const isStream = head.header("content-type")?.toLowerCase().includes("text/event-stream") ?? this.#onText !== null;
    if (isStream) this.#parser = createParser({ onEvent: ({ data }) => this.#take(stepAnswer(this.#answer, data)) });
    return this.#fault === null;
  }

  onBytes(bytes: Uint8Array): boolean {
    this.#hasBegun = true;
    const text = this.#decoder.decode(bytes, { stream: true });
    if (this.#parser === null) this.#body += text;
    else this.#parser.feed(text);
    const { isDone, hasFailed, isUnreadable } = this.#answer;
    return !(isDone || hasFailed || isUnreadable);
  }

  replyAt(end: ExchangeEnd): ModelReply {
    if (this.#fault !== null) return this.#fault;
    if (end === "complete" && this.#parser === null) this.#take(readAnswer(this.#body + this.#decoder.decode()));
    const { pieces, hasFailed, isUnreadable, usage } = this.#answer;
    const isAnswer = end === "complete" || (end === "cut-off" && pieces > 0);
    if (!isAnswer) return faultOfEnd(end, this.#hasBegun);
    if (hasFailed && pieces === 0) return fault("provider.failed");
    if (isUnreadable || pieces === 0) return fault("provider.unreadable");
    const raw = rawOutputOf(this.#answer, end === "complete");
    return { ok: true, raw, usage, stream: { chunks: pieces, firstMs: this.#firstMs, lastMs: this.#lastMs } };
  }

  #take(answer: ChatAnswer): void {
    const text = answer.content.slice(this.#answer.content.length);
    if (answer.pieces > this.#answer.pieces) {
      this.#lastMs = Math.round(this.#clock.monotonicMs() - this.#startedMs);
      if (this.#answer.pieces === 0) this.#firstMs = this.#lastMs;
    }
    this.#answer = answer;
    if (text !== "") this.#onText?.(text);
  }
}
