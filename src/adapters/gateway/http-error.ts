/** Every HTTP error with its code and status. A message never repeats the request's body: it may hold a secret. */
import type { RefusalCode } from "../../runtime/operations/operation.ts";

const STATUSES = {
  "invalid.request": 400,
  "auth.required": 401,
  "auth.forbidden": 403,
  not_found: 404,
  "method.not_allowed": 405,
  timeout: 408,
  conflict: 409,
  "payload.too_large": 413,
  "auth.rate_limited": 429,
  "queue.full": 429,
  "internal.error": 500,
  "store.unavailable": 503,
} as const satisfies Record<RefusalCode | string, number>;
type HttpErrorCode = keyof typeof STATUSES;
export const ERROR_CODES = Object.keys(STATUSES) as readonly HttpErrorCode[];

const TRANSIENT: ReadonlySet<HttpErrorCode> = new Set(["queue.full", "store.unavailable"]);

interface ErrorDetails {
  /** In place of the code's own. */
  readonly status?: number;
  /** Names and values, alternating. */
  readonly headers?: readonly string[];
}

export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly code: HttpErrorCode;
  readonly status: number;
  readonly headers: readonly string[];

  constructor(code: HttpErrorCode, message: string, { status = STATUSES[code], headers = [] }: ErrorDetails = {}) {
    super(message);
    this.code = code;
    this.status = status;
    this.headers = TRANSIENT.has(code) ? ["Retry-After", "2", ...headers] : headers;
  }

  get body(): { readonly error: { readonly code: string; readonly message: string } } {
    return { error: { code: this.code, message: this.message } };
  }
}

export function invalidRequest(message: string): HttpError {
  return new HttpError("invalid.request", message);
}
