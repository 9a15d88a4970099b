/**
 * Answers what Node's HTTP parser refuses (malformed, too large, too slow) in the one error shape, never inside another
 * answer: one that has begun is cut off, one that a complete request still waits for is sent first.
 */
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "../../runtime/ports/clock.ts";
import { HttpError, invalidRequest } from "./http-error.ts";

/** Time for the caller to read the answer; destroying the socket at once would discard it. */
const LINGER_MS = 1_000;

/** `latest`: the newest response on this connection. */
export function answerParseError(error: Error, socket: Duplex, latest: ServerResponse | undefined, clock: Clock): void {
  const isOpen = latest !== undefined && !latest.writableFinished;
  if (isOpen && latest.headersSent) socket.destroy();
  else if (isOpen && latest.req.complete) latest.once("finish", () => endSoon(socket, "", clock));
  else endSoon(socket, rawAnswer(errorOf("code" in error ? error.code : null)), clock);
}

function endSoon(socket: Duplex, answer: string, clock: Clock): void {
  // Ended already; more garbage arrived meanwhile.
  if (!socket.writable) return;
  socket.end(answer);
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
      return invalidRequest("malformed HTTP request");
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
