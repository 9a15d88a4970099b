/** Every HTTP error with its code and status. A message never repeats the request's body: it may hold a secret. */
import type { Problem, RefusalCode } from "../../runtime/operations/operation.ts";

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
  "chat.rate_limited": 429,
  "internal.error": 500,
  "gateway.stopping": 503,
  "store.unavailable": 503,
} as const satisfies Record<RefusalCode | string, number>;
type HttpErrorCode = keyof typeof STATUSES;
export const ERROR_CODES = Object.keys(STATUSES) as readonly HttpErrorCode[];

const TRANSIENT: ReadonlySet<HttpErrorCode> = new Set(["queue.full", "gateway.stopping", "store.unavailable"]);

interface ErrorDetails {
  /** In place of the code's own. */
  readonly status?: number;
  /** Names and values, alternating. */
  readonly headers?: readonly string[];
  readonly retryAfterSeconds?: number | undefined;
  readonly problems?: readonly Problem[] | undefined;
}

export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly code: HttpErrorCode;
  readonly status: number;
  readonly headers: readonly string[];
  readonly #retryAfterSeconds: number | undefined;
  readonly #problems: readonly Problem[] | undefined;

  constructor(
    code: HttpErrorCode,
    message: string,
    { status = STATUSES[code], headers = [], retryAfterSeconds, problems }: ErrorDetails = {},
  ) {
    super(message);
    this.code = code;
    this.status = status;
    const retryAfter = retryAfterSeconds ?? (TRANSIENT.has(code) ? 2 : null);
    this.headers = retryAfter === null ? headers : ["Retry-After", String(retryAfter), ...headers];
    this.#retryAfterSeconds = retryAfterSeconds;
    this.#problems = problems;
  }

  get body(): {
    readonly error: {
      readonly code: string;
      readonly message: string;
      readonly retry_after_seconds?: number;
      readonly problems?: readonly Problem[];
    };
  } {
    const { code, message } = this;
    const seconds = this.#retryAfterSeconds;
    const problems = this.#problems;
    return {
      error: {
        ...{ code, message },
        ...(seconds === undefined ? {} : { retry_after_seconds: seconds }),
        ...(problems === undefined ? {} : { problems }),
      },
    };
  }
}

export function invalidRequest(message: string): HttpError {
  return new HttpError("invalid.request", message);
}
