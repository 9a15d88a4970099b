/**
 * What a provider did wrong, as a reply that names it (B1, B3 of the port).
 *
 * F1. A code names the kind of fault, with the HTTP status where there was one. It never holds a word of the provider's,
 *     an address or a key.
 * F2. Retryable is what may pass by itself and came before the first byte of an answer: 429, 5xx, no connection.
 * F3. A provider's wish to wait is heard up to MAX_RETRY_AFTER_MS: it may not park a run. What wants to be left alone for
 *     longer is not asked again, and how long it said is told.
 * F4. Whoever was turned away, found nobody, or met somebody who does not speak the protocol at all, has used nothing. What
 *     else a fault cost is not known here.
 */
import type { ModelReply } from "../../runtime/ports/model-backend.ts";
import type { ExchangeEnd, ResponseHead } from "./http-exchange.ts";

const MAX_RETRY_AFTER_MS = 60_000;
const LONGEST_WISH_MS = 366 * 24 * 3_600_000;

export type Fault = Extract<ModelReply, { readonly ok: false }>;

export function fault(code: string, retry: { readonly afterMs: number } | null = null): Fault {
  return { ok: false, code, retryable: retry !== null, retryAfterMs: retry?.afterMs ?? 0, usage: null };
}

/** The same, where nothing of an answer has come. */
export function unanswered(failure: Fault): Fault {
  return { ...failure, usage: { inputTokens: 0, outputTokens: 0 } };
}

/** Null where the status announces an answer. */
export function faultOfHead(head: ResponseHead, nowMs: number): Fault | null {
  const { status } = head;
  if (status === 200) return null;
  const code = status === 429 ? "provider.rate-limited" : `provider.http-${status}`;
  if (status !== 429 && status < 500) return unanswered(fault(code));
  const afterMs = readRetryAfter(head.header("retry-after"), nowMs);
  const turnedAway =
    afterMs > MAX_RETRY_AFTER_MS ? { ...fault(code), retryAfterMs: afterMs } : fault(code, { afterMs });
  return unanswered(turnedAway);
}

/** For exchanges that did not end well; `hasBegun` says whether anything of the body was read. */
export function faultOfEnd(end: Exclude<ExchangeEnd, "complete">, hasBegun: boolean): Fault {
  const mayPass = end === "unreachable" || end === "connection-lost" || (end === "cut-off" && !hasBegun);
  const failure = fault(`provider.${end}`, mayPass ? { afterMs: 0 } : null);
  return end === "unreachable" || end === "unreadable" ? unanswered(failure) : failure;
}

/** Seconds or a date (RFC 9110, 10.2.3); anything else is no wish at all. */
function readRetryAfter(header: string | null, nowMs: number): number {
  const text = header?.trim() ?? "";
  const waitMs = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isNaN(waitMs) ? 0 : Math.ceil(Math.min(Math.max(waitMs, 0), LONGEST_WISH_MS));
}
