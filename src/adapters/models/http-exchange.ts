/**
 * One HTTP exchange after another with one origin, over kept-alive connections. It knows no provider and no protocol.
 *
 * A request is sent once or not at all: no retry, no redirect, no other address. When the signal aborts, the socket is closed
 * and the exchange settles without waiting for it. Only connecting times out here; a run's deadlines arrive as its signal.
 * At most MAX_BODY_BYTES of a body are read. Failures are reported as a word, because the library's errors may quote what
 * was sent.
 */
import type { Dispatcher, Pool } from "undici";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import type { Clock } from "../../runtime/ports/clock.ts";

export const MAX_BODY_BYTES = 16 * 1024 * 1024;
const CONNECT_TIMEOUT_MS = 10_000;
/** Servers that announce no limit usually keep a connection for longer. */
const KEEP_ALIVE_MS = 30_000;
/** How long to wait for the unwanted rest of a response, so that its connection can be reused. */
const DRAIN_MS = 250;
/** The library's error names for bytes that are no HTTP response. */
const NOT_HTTP: readonly string[] = ["HTTPParserError", "HeadersOverflowError"];
/** Node's error codes for an invalid certificate and for a failed handshake. */
const UNTRUSTED = /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT_|HOSTNAME_MISMATCH$)/;
const NO_TLS = /^(?:EPROTO$|ERR_SSL_|ERR_TLS_)/;

export interface HttpRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Names and values alternate. */
  readonly headers: readonly string[];
  readonly body: string | null;
}

export interface ResponseHead {
  readonly status: number;
  /** By lower-case name; the first value of a repeated header. */
  header(name: string): string | null;
}

export interface ResponseListener {
  /** Returns whether the body is wanted. */
  onHead(head: ResponseHead): boolean;
  /** Returns whether more is wanted. */
  onBytes(bytes: Uint8Array): boolean;
  /** What still came of a body that is not wanted. */
  onRest?(bytes: Uint8Array): void;
}

/**
 * complete         the response was read to its end, or as far as the listener wanted
 * cancelled        the signal aborted
 * unreachable      no connection; nothing was sent
 * untrusted        the certificate is not trusted; nothing was sent
 * no-tls           the server speaks no TLS, or no version in common; nothing was sent
 * connection-lost  lost before the response began; the request may have arrived
 * unreadable       the reply is not HTTP
 * cut-off          the response began and broke off
 * too-large        the body exceeded MAX_BODY_BYTES
 */
export type ExchangeEnd =
  | "complete"
  | "cancelled"
  | "unreachable"
  | "untrusted"
  | "no-tls"
  | "connection-lost"
  | "unreadable"
  | "cut-off"
  | "too-large";

export interface HttpOrigin {
  exchange(request: HttpRequest, listener: ResponseListener, signal: AbortSignal): Promise<ExchangeEnd>;
}

export function openOrigin(origin: string, clock: Clock): HttpOrigin {
  let opening: Promise<Pool> | null = null;
  return {
    async exchange(request, listener, signal) {
      opening ??= openPool(origin);
      const pool = await opening;
      if (signal.aborted) return "cancelled";
      return await dispatch(pool, request, listener, signal, clock);
    },
  };
}

/** The library is loaded with the first request, so that the gateway starts faster. Idle sockets keep no process alive. */
async function openPool(origin: string): Promise<Pool> {
  const { Pool } = await import("undici");
  return new Pool(origin, {
    connections: null,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connect: { timeout: CONNECT_TIMEOUT_MS },
  });
}

function dispatch(
  pool: Pool,
  { method, path, headers, body }: HttpRequest,
  listener: ResponseListener,
  signal: AbortSignal,
  clock: Clock,
): Promise<ExchangeEnd> {
  return new Promise((resolve, reject) => {
    const handler = new ExchangeHandler(listener, signal, clock, resolve, reject);
    pool.dispatch({ method, path, headers: headers as string[], body }, handler);
  });
}

class ExchangeHandler implements Dispatcher.DispatchHandler {
  readonly #listener: ResponseListener;
  readonly #signal: AbortSignal;
  readonly #clock: Clock;
  readonly #resolve: (end: ExchangeEnd) => void;
  readonly #reject: (error: unknown) => void;
  readonly #onAbort = () => this.#abort("cancelled");
  #controller: Dispatcher.DispatchController | null = null;
  #isSettled = false;
  #isAborted = false;
  #hasHead = false;
  #bodyBytes = 0;
  /** The listener wants no more; only the end of the response is awaited. */
  #isDraining = false;
  #cancelDrain: (() => void) | null = null;

  constructor(
    listener: ResponseListener,
    signal: AbortSignal,
    clock: Clock,
    resolve: (end: ExchangeEnd) => void,
    reject: (error: unknown) => void,
  ) {
    this.#listener = listener;
    this.#signal = signal;
    this.#clock = clock;
    this.#resolve = resolve;
    this.#reject = reject;
    signal.addEventListener("abort", this.#onAbort);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // Cancelled while the connection was being made.
    if (this.#isAborted) controller.abort(new Error("cancelled"));
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Record<string, unknown>): void {
    if (status < 200) return;
    this.#hasHead = true;
    this.#listen(() => this.#listener.onHead({ status, header: (name) => firstOf(headers[name]) }));
  }

  onResponseData(_: Dispatcher.DispatchController, bytes: Buffer): void {
    this.#bodyBytes += bytes.length;
    if (this.#bodyBytes > MAX_BODY_BYTES) this.#abort("too-large");
    else if (this.#isDraining) this.#listener.onRest?.(bytes);
    else this.#listen(() => this.#listener.onBytes(bytes));
  }

  onResponseEnd(): void {
    this.#settle("complete");
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#isDraining) this.#settle("complete");
    else if (this.#hasHead) this.#settle("cut-off");
    else if (error.name === "InvalidArgumentError")
      this.#fail(new Defect("http-exchange: the HTTP library rejected the request as invalid"));
    else if (NOT_HTTP.includes(error.name)) this.#settle("unreadable");
    // The library starts a request only on an open connection.
    else this.#settle(this.#controller === null ? connectFailure(error) : "connection-lost");
  }

  /** An error of the listener is a defect of ours and reaches the caller unchanged. */
  #listen(call: () => boolean): void {
    try {
      if (call()) return;
    } catch (error) {
      this.#fail(error);
      this.#abort("cut-off");
      return;
    }
    this.#isDraining = true;
    // The end usually came with these bytes and is reported next; then there is nothing to wait for.
    Promise.resolve().then(() => this.#limitDrain());
  }

  #limitDrain(): void {
    if (!this.#isSettled) this.#cancelDrain = this.#clock.wake(DRAIN_MS, () => this.#abort("complete"));
  }

  #abort(end: ExchangeEnd): void {
    this.#isAborted = true;
    // Settle first: the library reports an abort as an error of the response.
    this.#settle(end);
    this.#controller?.abort(new Error(end));
  }

  #fail(error: unknown): void {
    if (this.#settleOnce()) this.#reject(error);
  }

  #settle(end: ExchangeEnd): void {
    if (this.#settleOnce()) this.#resolve(end);
  }

  #settleOnce(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    this.#cancelDrain?.();
    this.#signal.removeEventListener("abort", this.#onAbort);
    return true;
  }
}

function connectFailure(error: Error): ExchangeEnd {
  const code = "code" in error ? String(error.code) : "";
  if (UNTRUSTED.test(code)) return "untrusted";
  return NO_TLS.test(code) ? "no-tls" : "unreachable";
}

function firstOf(value: unknown): string | null {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return typeof first === "string" ? first : null;
}
