/** Errors as OpenAI's clients read them: `{error: {message, type, param, code}}`. */

import type { RunRecord } from "../../kernel/journal/views/run-record.ts";
import { FAILURES, type FailureReason } from "../../kernel/vocabulary/failures.ts";
import type { MountError } from "../../runtime/operations/mount.ts";
import type { Refusal } from "../../runtime/operations/operation.ts";

export interface OpenAiError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

/** Answered instead of a result. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly error: OpenAiError;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    {
      message,
      code,
      param = null,
    }: { readonly message: string; readonly code: string; readonly param?: string | null },
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.status = status;
    this.error = { message, type: typeOf(status), param, code };
    this.headers = headers;
  }

  get response(): Response {
    return Response.json({ error: this.error }, { status: this.status, headers: this.headers });
  }
}

/** What clients look for by name. */
const CODES: Readonly<Record<string, string>> = { "auth.required": "invalid_api_key" };

/** What the gateway refuses before this API sees it. */
export function gatewayErrorBody({ status, code, message }: MountError): object {
  return { error: { message, type: typeOf(status), param: null, code: CODES[code] ?? code } };
}

export function invalid(param: string | null, message: string, code = "invalid_value"): ApiError {
  return new ApiError(400, { message, code, param });
}

const STATUSES = {
  "invalid.request": 400,
  "auth.required": 401,
  "auth.forbidden": 403,
  not_found: 404,
  conflict: 409,
  "payload.too_large": 413,
  "queue.full": 429,
  "chat.rate_limited": 429,
  "internal.error": 500,
  "store.unavailable": 503,
} as const satisfies Record<Refusal["code"], number>;

export function refusedBy({ code, message, retryAfterSeconds }: Refusal): ApiError {
  const wait = retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) };
  return new ApiError(STATUSES[code], { message, code }, wait);
}

/** By outcome; none of them asks a client to try again, for what the run did is done. */
const FAILED_STATUSES: Readonly<Record<string, number>> = {
  FAILED_PREFLIGHT: 400,
  FAILED_PROTOCOL_NO_TOOLS: 502,
  FAILED_PROTOCOL_MALFORMED: 502,
  FAILED_VALIDATION: 500,
  FAILED_BUDGET_EXHAUSTED: 429,
  FAILED_TIMEOUT: 504,
  FAILED_CONTRACT_VIOLATION: 400,
  INTERRUPTED: 409,
};
const TOO_LONG: readonly FailureReason[] = ["context.over-budget", "context.exhausted"];

export const NOT_AGAIN = { "x-should-retry": "false" };

/** Null: the run has an answer. */
export function failureOf(record: RunRecord): ApiError | null {
  const { outcome, reason, status, output, explanation } = record;
  if (status === "completed" || outcome === null) return null;
  const isTooLong = TOO_LONG.some((each) => each === reason);
  const advice = reason !== null && Object.hasOwn(FAILURES, reason) ? FAILURES[reason as FailureReason].advice : "";
  const words = [output, explanation ?? advice].filter((text) => text !== "").join("\n");
  return new ApiError(
    isTooLong ? 400 : (FAILED_STATUSES[outcome] ?? 500),
    {
      message: `The run ${record.id} ended ${outcome}: ${words}`,
      code: isTooLong ? "context_length_exceeded" : (reason ?? outcome),
    },
    NOT_AGAIN,
  );
}

function typeOf(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}
