/**
 * Listens to one response of a model server and makes a reply of it.
 *
 * L1. What the server says its body is decides how it is read, not what was asked for: some never stream.
 * L2. Text is passed on as it comes, in order, once. Reasoning is not.
 * L3. A stream that broke off after it began is an answer that is not complete: the kernel sees what came and takes no
 *     call from it. Where nothing had come, it is a fault.
 * L4. What is much longer than was asked for, thoughts and calls included, is heard no further, and is a fault
 *     (`provider.too-long`): all that follows an answer takes time in its length.
 * L5. Hearing a piece takes no longer for what came before it.
 */
import { createParser, type EventSourceParser } from "eventsource-parser";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { ModelReply } from "../../runtime/ports/model-backend.ts";
import { type AnswerDraft, type AnswerProtocol, charsIn, hasAnswered, isOver } from "./answer-draft.ts";
import type { ExchangeEnd, ResponseHead, ResponseListener } from "./http-exchange.ts";
import { type Fault, fault, faultOfEnd, faultOfHead, unanswered } from "./provider-fault.ts";

/** Many times what a token is on average, in any language. */
const CHARS_PER_TOKEN = 64;
/** For whatever a provider adds of its own. */
const SPARE_CHARS = 65_536;
/** A document says a character in up to six, and tells some things twice. */
const DOCUMENT_CHARS = 8;

export class AnswerReader<Draft extends AnswerDraft> implements ResponseListener {
  readonly #protocol: AnswerProtocol<Draft>;
  readonly #clock: Clock;
  readonly #onText: ((text: string) => void) | null;
  readonly #maxChars: number;
  readonly #startedMs: number;
  readonly #decoder = new TextDecoder();
  #fault: Fault | null = null;
  #parser: EventSourceParser | null = null;
  #draft: Draft;
  #body = "";
  #hasBegun = false;
  #firstMs = 0;
  #lastMs = 0;

  constructor(
    protocol: AnswerProtocol<Draft>,
    clock: Clock,
    onText: ((text: string) => void) | null,
    maxOutputTokens: number,
  ) {
    this.#protocol = protocol;
    this.#draft = protocol.empty;
    this.#clock = clock;
    this.#onText = onText;
    this.#maxChars = maxOutputTokens * CHARS_PER_TOKEN + SPARE_CHARS;
    this.#startedMs = clock.monotonicMs();
  }

  onHead(head: ResponseHead): boolean {
    this.#fault = faultOfHead(head, this.#clock.nowMs());
    const isStream = head.header("content-type")?.toLowerCase().includes("text/event-stream") ?? this.#onText !== null;
    if (isStream) this.#parser = createParser({ onEvent: ({ data }) => this.#hear(data) });
    return this.#fault === null;
  }

  onBytes(bytes: Uint8Array): boolean {
    this.#hasBegun = true;
    const text = this.#decoder.decode(bytes, { stream: true });
    if (this.#parser === null) this.#body += text;
    else this.#parser.feed(text);
    return !isOver(this.#draft) && !this.#isTooLong();
  }

  replyAt(end: ExchangeEnd): ModelReply {
    if (this.#fault !== null) return this.#fault;
    if (end === "complete" && this.#parser === null && !this.#isTooLong()) {
      const whole = this.#protocol.readWhole(this.#body + this.#decoder.decode());
      this.#take(whole, whole.content);
    }
    if (this.#isTooLong()) return fault("provider.too-long");
    const { pieces, failure, isUnreadable, usage, reasoning } = this.#draft;
    const isAnswer = end === "complete" || (end === "cut-off" && pieces > 0);
    if (!isAnswer) return faultOfEnd(end, this.#hasBegun);
    if (isUnreadable || pieces === 0) {
      const told = (pieces === 0 ? failure : null) ?? fault("provider.unreadable");
      return hasAnswered(this.#draft) ? told : unanswered(told);
    }
    const raw = this.#protocol.rawOutputOf(this.#draft, end === "complete");
    const stream = { chunks: pieces, firstMs: this.#firstMs, lastMs: this.#lastMs };
    const thoughts = this.#protocol.thoughtsOf(this.#draft);
    return { ok: true, raw, reasoning, ...(thoughts === null ? null : { thoughts }), usage, stream };
  }

  #hear(payload: string): void {
    if (isOver(this.#draft) || this.#isTooLong()) return;
    const draft = this.#protocol.step(this.#draft, payload);
    this.#take(draft, draft.content.length > this.#draft.content.length ? draft.added : "");
  }

  #isTooLong(): boolean {
    return charsIn(this.#draft) > this.#maxChars || this.#body.length > this.#maxChars * DOCUMENT_CHARS;
  }

  #take(draft: Draft, text: string): void {
    if (draft.pieces > this.#draft.pieces) {
      this.#lastMs = Math.round(this.#clock.monotonicMs() - this.#startedMs);
      if (this.#draft.pieces === 0) this.#firstMs = this.#lastMs;
    }
    this.#draft = draft;
    if (text !== "" && !this.#isTooLong()) this.#onText?.(text);
  }
}
