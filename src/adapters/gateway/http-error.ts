/**
 * Every way the gateway says no (design: HTTP error codes), each with its status.
 *
 * H1. A message says what to do and holds nothing of the request's body, nor a secret.
 */
import type { Refusal } from "../../assistant/assistant.ts";

const STATUSES = {
  "invalid.request": 400,
  "auth.required": 401,
  "auth.forbidden": 403,
  not_found: 404,
  "method.not_allowed": 405,
  timeout: 408,
  conflict: 409,
  "payload.too_large": 413,
  "queue.full": 429,
  "internal.error": 500,
  "store.unavailable": 503,
} as const satisfies Record<Refusal["code"] | string, number>;
type HttpErrorCode = keyof typeof STATUSES;

/** It may work again in a moment, and when to try is said with it. */
const PASSING: ReadonlySet<HttpErrorCode> = new Set(["queue.full", "store.unavailable"]);
const RETRY_SOON: readonly string[] = ["Retry-After", "2"];

interface Particulars {
  /** Where the status says more than the code does. */
  readonly status?: number;
  /** Names and values in turn. */
  readonly headers?: readonly string[];
}

export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly code: HttpErrorCode;
  readonly status: number;
  readonly headers: readonly string[];

  constructor(code: HttpErrorCode, message: string, { status = STATUSES[code], headers = [] }: Particulars = {}) {
    super(message);
    this.code = code;
    this.status = status;
    this.headers = PASSING.has(code) ? [...RETRY_SOON, ...headers] : headers;
  }

  get body(): { readonly error: { readonly code: string; readonly message: string } } {
    return { error: { code: this.code, message: this.message } };
  }
}

export function invalidRequest(message: string): HttpError {
  return new HttpError("invalid.request", message);
}

export function notFound(what: string): HttpError {
  return new HttpError("not_found", `no such ${what}`);
}

/** The accepted half of an answer; a refusal becomes the HTTP error of the same code. */
export function accepted<Answer extends { readonly ok: true }>(answer: Answer | Refusal): Answer {
  if (answer.ok) return answer;
  throw new HttpError(answer.code, answer.message);
}
