/**
 * A provider's failure as a reply (B1, B3 of the port).
 *
 * F1. A code names the kind of fault, with the HTTP status if there was one. It never contains the provider's words, an
 *     address or a key. The words are beside it, cut to MAX_WORDS_CHARS; they may quote the request.
 * F2. A fault is retryable if it may pass and came before the first byte of an answer: 429, 5xx, no connection.
 * F3. `retry-after` is honoured up to MAX_RETRY_AFTER_MS, so that a provider cannot park a run. Beyond that the request is
 *     not retried, and the reply reports the time.
 * F4. A request that was refused, reached no server or met another protocol used no tokens. For other faults the usage is
 *     unknown.
 */
import type { ModelReply } from "../../runtime/ports/model-backend.ts";
import type { ExchangeEnd, ResponseHead } from "./http-exchange.ts";
import { fieldsOf, parseFields, textOf } from "./wire-fields.ts";

const MAX_RETRY_AFTER_MS = 60_000;
const MAX_REPORTED_MS = 366 * 24 * 3_600_000;

export type Fault = Extract<ModelReply, { readonly ok: false }>;

export function fault(code: string, retry: { readonly afterMs: number } | null = null): Fault {
  return { ok: false, code, retryable: retry !== null, retryAfterMs: retry?.afterMs ?? 0, usage: null };
}

const MAX_WORDS_CHARS = 500;

/** The same fault in the provider's words, if there are any. */
export function inWords(failure: Fault, words: string): Fault {
  const line = words.replace(/[\s\p{Cc}]+/gu, " ").trim();
  return line === "" ? failure : { ...failure, words: line.slice(0, MAX_WORDS_CHARS).toWellFormed() };
}

/** What the body of an error says: providers agree on `error.message`, and vary. A page for browsers says nothing. */
export function wordsOfBody(body: string): string {
  const document = parseFields(body);
  if (document === null) return /^\s*[<{[]/.test(body) ? "" : body;
  const { error, message, detail } = document;
  const candidates = [fieldsOf(error)?.["message"], error, message, detail].map(textOf);
  return candidates.find((text) => text !== "") ?? "";
}

/** The same fault, before any part of an answer arrived. */
export function unanswered(failure: Fault): Fault {
  return { ...failure, usage: { inputTokens: 0, outputTokens: 0 } };
}

/** Null if the status announces an answer. */
export function faultOfHead(head: ResponseHead, nowMs: number): Fault | null {
  const { status } = head;
  if (status === 200) return null;
  const code = status === 429 ? "provider.rate-limited" : `provider.http-${status}`;
  if (status !== 429 && status < 500) return unanswered(fault(code));
  const afterMs = readRetryAfter(head.header("retry-after"), nowMs);
  const refused = afterMs > MAX_RETRY_AFTER_MS ? { ...fault(code), retryAfterMs: afterMs } : fault(code, { afterMs });
  return unanswered(refused);
}

/** `hasBegun`: a part of the body was read. */
export function faultOfEnd(end: Exclude<ExchangeEnd, "complete">, hasBegun: boolean): Fault {
  const mayPass = end === "unreachable" || end === "connection-lost" || (end === "cut-off" && !hasBegun);
  const failure = fault(`provider.${end}`, mayPass ? { afterMs: 0 } : null);
  return end === "unreachable" || end === "unreadable" ? unanswered(failure) : failure;
}

/** Seconds or a date (RFC 9110, 10.2.3); anything else counts as 0. */
function readRetryAfter(header: string | null, nowMs: number): number {
  const text = header?.trim() ?? "";
  const waitMs = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isNaN(waitMs) ? 0 : Math.ceil(Math.min(Math.max(waitMs, 0), MAX_REPORTED_MS));
}
