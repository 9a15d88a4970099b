/**
 * What Node's HTTP parser refuses before there is a request: malformed, too large or too slow heads.
 *
 * It gets the one error shape too, unless an answer is under way on that socket; then the connection just ends.
 */
import type { Duplex } from "node:stream";
import type { Clock } from "../../runtime/ports/clock.ts";
import { HttpError, invalidRequest } from "./http-error.ts";

/** Time for the caller to read the answer: destroying at once would take it away again. */
const LINGER_MS = 1_000;

export function answerParseError(error: Error, socket: Duplex, isAnswering: boolean, clock: Clock): void {
  if (isAnswering || socket.destroyed) {
    socket.destroy();
    return;
  }
  // Answered already; more garbage arrived meanwhile.
  if (!socket.writable) return;
  socket.end(rawAnswer(errorOf("code" in error ? error.code : null)));
  clock.wake(LINGER_MS, () => socket.destroy());
}

function errorOf(code: unknown): HttpError {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new HttpError("timeout", "the request took too long to arrive");
    case "HPE_HEADER_OVERFLOW":
      return new HttpError("invalid.request", "the headers are too large", { status: 431 });
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new HttpError("payload.too_large", "the chunk extensions are too large");
    default:
      return invalidRequest("this is not HTTP as we understand it");
  }
}

function rawAnswer(error: HttpError): string {
  const text = JSON.stringify(error.body);
  return [
    `HTTP/1.1 ${error.status} ${error.code}`,
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(text)}`,
    "X-Content-Type-Options: nosniff",
    "Cache-Control: no-store",
    "Connection: close",
    "",
    text,
  ].join("\r\n");
}
