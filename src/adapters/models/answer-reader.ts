/**
 * Reads one response of a model server into a reply.
 *
 * L1. The response's content type decides how it is read, not the request: some servers never stream.
 * L2. Text is passed on as it arrives, in order, once. Reasoning is not.
 * L3. A stream that breaks off after it began is an incomplete answer: the kernel sees the text and takes no call from it.
 *     If nothing had arrived, it is a fault.
 * L4. An answer far beyond the requested length, reasoning and calls included, is not read to its end and is a fault
 *     (`provider.too-long`), because everything after takes time in proportion to its length.
 * L5. Reading a piece takes no longer for the pieces before it.
 */
import { createParser, type EventSourceParser } from "eventsource-parser";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { ModelReply } from "../../runtime/ports/model-backend.ts";
import { type AnswerDraft, type AnswerProtocol, hasAnswered, isFinished, writtenLength } from "./answer-draft.ts";
import type { ExchangeEnd, ResponseHead, ResponseListener } from "./http-exchange.ts";
import { type Fault, fault, faultOfEnd, faultOfHead, inWords, unanswered, wordsOfBody } from "./provider-fault.ts";

/** Many times the average length of a token, in any language. */
const CHARS_PER_TOKEN = 64;
/** For what a provider adds. */
const SPARE_CHARS = 65_536;
/** JSON escapes take up to six characters, and documents repeat some fields. */
const DOCUMENT_CHARS = 8;
/** Of the body of an error; its words come first, or are few. */
const MAX_ERROR_CHARS = 65_536;

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
    if (isStream) this.#parser = createParser({ onEvent: ({ data }) => this.#readEvent(data) });
    return this.#fault === null;
  }

  onRest(bytes: Uint8Array): void {
    if (this.#fault !== null && this.#body.length < MAX_ERROR_CHARS)
      this.#body += this.#decoder.decode(bytes, { stream: true });
  }

  onBytes(bytes: Uint8Array): boolean {
    this.#hasBegun = true;
    const text = this.#decoder.decode(bytes, { stream: true });
    if (this.#parser === null) this.#body += text;
    else this.#parser.feed(text);
    return !isFinished(this.#draft) && !this.#isTooLong();
  }

  replyAt(end: ExchangeEnd): ModelReply {
    if (this.#fault !== null) return inWords(this.#fault, wordsOfBody(this.#body));
    if (end === "complete" && this.#parser === null && !this.#isTooLong()) {
      const whole = this.#protocol.readWhole(this.#body + this.#decoder.decode());
      this.#advance(whole, whole.content);
    }
    if (this.#isTooLong()) return fault("provider.too-long");
    const { pieces, failure, isUnreadable, usage, reasoning } = this.#draft;
    const isAnswer = end === "complete" || (end === "cut-off" && pieces > 0);
    if (!isAnswer) return faultOfEnd(end, this.#hasBegun);
    if (isUnreadable || pieces === 0) {
      const reported = (pieces === 0 ? failure : null) ?? fault("provider.unreadable");
      return hasAnswered(this.#draft) ? reported : unanswered(reported);
    }
    const raw = this.#protocol.rawOutputOf(this.#draft, end === "complete");
    const stream = { chunks: pieces, firstMs: this.#firstMs, lastMs: this.#lastMs };
    const thoughts = this.#protocol.thoughtsOf(this.#draft);
    return { ok: true, raw, reasoning, ...(thoughts === null ? null : { thoughts }), usage, stream };
  }

  #readEvent(payload: string): void {
    if (isFinished(this.#draft) || this.#isTooLong()) return;
    const draft = this.#protocol.step(this.#draft, payload);
    this.#advance(draft, draft.content.length > this.#draft.content.length ? draft.added : "");
  }

  #isTooLong(): boolean {
    return writtenLength(this.#draft) > this.#maxChars || this.#body.length > this.#maxChars * DOCUMENT_CHARS;
  }

  #advance(draft: Draft, text: string): void {
    if (draft.pieces > this.#draft.pieces) {
      this.#lastMs = Math.round(this.#clock.monotonicMs() - this.#startedMs);
      if (this.#draft.pieces === 0) this.#firstMs = this.#lastMs;
    }
    this.#draft = draft;
    if (text !== "" && !this.#isTooLong()) this.#onText?.(text);
  }
}
