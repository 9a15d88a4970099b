/**
 * Translates network errors into tool failures. An error that is not listed here is a defect. Messages name the host and
 * what to do, and quote nothing sent or received.
 */
import type { ErrorCode } from "../../../kernel/vocabulary/error-code.ts";
import { errnoOf } from "../fs/fs-failure.ts";
import { ToolFailure } from "../tool-failure.ts";

type Expectation = readonly [error: RegExp, code: ErrorCode, problem: string, retryable: boolean];

/** Codes of Node, its resolver, TLS, zlib and undici; the first match counts. */
const EXPECTED: readonly Expectation[] = [
  [/TIMEOUT$|^ETIMEDOUT$/, "timeout", "did not answer in time: try again later", true],
  [/^(?:ENOTFOUND|ENODATA|EAI_NONAME)$/, "invalid.request", "is an unknown host: check the spelling", false],
  [/^EAI_/, "invalid.request", "could not be looked up: try again", true],
  [/^E(?:HOST|NET)UNREACH$|^EADDRNOTAVAIL$/, "invalid.request", "is unreachable from here", true],
  [/^(?:ECONNREFUSED|EACCES|EPERM)$/, "invalid.request", "refuses connections on that port", true],
  [/^(?:ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET)$/, "invalid.request", "closed the connection", true],
  [/^HPE_|^UND_ERR_(?:HEADERS_OVERFLOW|RES_)/, "invalid.request", "answered with something that is not HTTP", false],
  [/^Z_|^ERR__ERROR_/, "invalid.request", "sent a body that cannot be decompressed", false],
  [
    /CERT|^ERR_(?:TLS|SSL)_|^EPROTO$|^UNABLE_TO_|^INVALID_CA$|^HOSTNAME_MISMATCH$/,
    "invalid.request",
    "has no valid and trusted certificate, so nothing was requested",
    false,
  ],
];

export function fetchFailure(cause: unknown, host: string): ToolFailure | null {
  // undici's HTTPParserError may have no code.
  const isParserError = cause instanceof Error && cause.name === "HTTPParserError";
  const errno = errnoOf(cause) ?? (isParserError ? "HPE_UNKNOWN" : "");
  const expected = EXPECTED.find(([pattern]) => pattern.test(errno));
  if (expected === undefined) return null;
  const [, code, problem, retryable] = expected;
  return new ToolFailure(code, `${host} ${problem} (${errno}).`, { retryable, details: { host }, cause });
}
