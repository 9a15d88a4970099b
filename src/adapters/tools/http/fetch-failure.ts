/**
 * What goes wrong between us and a server, in our codes.
 *
 * E1. Only what is listed here is expected; any other error stays what it is, and is reported as a defect.
 * E2. The message names the host and what to do, and quotes nothing of what was sent or received.
 */
import type { ErrorCode } from "../../../kernel/vocabulary/error-code.ts";
import { ToolFailure } from "../tool-failure.ts";

type Expectation = readonly [error: RegExp, code: ErrorCode, problem: string, retryable: boolean];

/** By the codes of Node, its resolver, TLS, zlib and the HTTP library; the first that fits counts. */
const EXPECTED: readonly Expectation[] = [
  [/TIMEOUT$|^ETIMEDOUT$/, "timeout", "did not answer in time: try again later", true],
  [/^(?:ENOTFOUND|ENODATA|EAI_NONAME)$/, "invalid.request", "is no known host: check how it is written", false],
  [/^EAI_/, "invalid.request", "could not be looked up just now: try again", true],
  [/^E(?:HOST|NET)UNREACH$|^EADDRNOTAVAIL$/, "invalid.request", "cannot be reached from here", true],
  [/^(?:ECONNREFUSED|EACCES|EPERM)$/, "invalid.request", "lets nobody connect on that port", true],
  [/^(?:ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET)$/, "invalid.request", "broke off the connection", true],
  [/^HPE_|^UND_ERR_(?:HEADERS_OVERFLOW|RES_)/, "invalid.request", "answered with something that is not HTTP", false],
  [/^Z_|^ERR__ERROR_/, "invalid.request", "sent a body that cannot be unpacked", false],
  [
    /CERT|^ERR_(?:TLS|SSL)_|^EPROTO$|^UNABLE_TO_|^INVALID_CA$|^HOSTNAME_MISMATCH$/,
    "invalid.request",
    "has no certificate that is valid for it and trusted here, so nothing was asked",
    false,
  ],
];

export function fetchFailure(cause: unknown, host: string): ToolFailure | null {
  const errno = errnoOf(cause);
  if (errno === null) return null;
  const expected = EXPECTED.find(([pattern]) => pattern.test(errno));
  if (expected === undefined) return null;
  const [, code, problem, retryable] = expected;
  return new ToolFailure(code, `${host} ${problem} (${errno}).`, { retryable, details: { host }, cause });
}

function errnoOf(cause: unknown): string | null {
  if (!(cause instanceof Error)) return null;
  if ("code" in cause && typeof cause.code === "string") return cause.code;
  // The one error of the library that may come without a code.
  return cause.name === "HTTPParserError" ? "HPE_UNKNOWN" : null;
}
