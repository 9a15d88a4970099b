/**
 * One HTTP exchange after another with one origin, over kept-alive connections. It knows no provider and no protocol.
 *
 * H1. What was asked is sent once or not at all: no retry, no redirect, no other address.
 * H2. When the signal aborts, the socket is closed at once and the exchange settles without waiting for it.
 * H3. Nothing times out here but the connecting; a run's deadlines arrive as its signal.
 * H4. No more than MAX_BODY_BYTES of a body are read.
 * H5. Exchanges that end in one turn of the event loop are told of together, when it is over: whoever waits for them works
 *     in step (run-driver.ts). One that is alone is told of at once.
 * H6. What went wrong is told as a word. The library's errors stay here: they may quote what was sent.
 */
import type { Dispatcher, Pool } from "undici";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import type { Clock } from "../../runtime/ports/clock.ts";

export const MAX_BODY_BYTES = 16 * 1024 * 1024;
const CONNECT_TIMEOUT_MS = 10_000;
/** A server that names no time of its own usually keeps a connection for longer. */
const KEEP_ALIVE_MS = 30_000;
/** How long the rest of a response nobody wants is waited for, so that its connection can be used again. */
const DRAIN_MS = 250;
/** The library's names for what came and is no response. */
const NOT_HTTP: readonly string[] = ["HTTPParserError", "HeadersOverflowError"];
/** Node's codes for a certificate that does not hold, and for a handshake that came to nothing. */
const UNTRUSTED = /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT_|HOSTNAME_MISMATCH$)/;
const NO_TLS = /^(?:EPROTO$|ERR_SSL_|ERR_TLS_)/;

export interface HttpRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: string | null;
}

export interface ResponseHead {
  readonly status: number;
  /** By lower-case name; of a header that came twice the first one. */
  header(name: string): string | null;
}

export interface ResponseListener {
  /** Returns whether the body is wanted. */
  onHead(head: ResponseHead): boolean;
  /** Returns whether more is wanted. */
  onBytes(bytes: Uint8Array): boolean;
}

/**
 * complete         the response was read to its end, or as far as the listener wanted
 * cancelled        the signal aborted
 * unreachable      no connection: nothing was sent
 * untrusted        its certificate is not trusted: nothing was sent
 * no-tls           it does not speak TLS, or none that we do: nothing was sent
 * connection-lost  it was lost before the response began; the request may have arrived
 * unreadable       what came is not HTTP
 * cut-off          the response began and broke off
 * too-large        its body passed MAX_BODY_BYTES
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
      underWay += 1;
      const end = await dispatch(pool, request, listener, signal, clock).finally(() => {
        underWay -= 1;
      });
      const hasCompany = underWay > 0 || ending !== null;
      if (end !== "cancelled" && hasCompany) await endOfTurn();
      return end;
    },
  };
}

/** With all origins. */
let underWay = 0;
let ending: Promise<void> | null = null;

/** Every socket that has something to say now has been read. */
function endOfTurn(): Promise<void> {
  ending ??= new Promise((resolve) => {
    setImmediate(() => {
      ending = null;
      resolve();
    });
  });
  return ending;
}

/** Loaded with the first request: a gateway that starts has nothing to ask yet. Its idle sockets keep no process alive. */
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
  readonly #onAbort = () => this.#leave("cancelled");
  #controller: Dispatcher.DispatchController | null = null;
  #isSettled = false;
  #mustLeave = false;
  #hasHead = false;
  #bodyBytes = 0;
  /** Nothing more is wanted of the response; only its end is waited for. */
  #isDraining = false;
  #callOffDrain: (() => void) | null = null;

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
    // It was cancelled while a connection was still being made.
    if (this.#mustLeave) controller.abort(new Error("cancelled"));
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Record<string, unknown>): void {
    if (status < 200) return;
    this.#hasHead = true;
    this.#listen(() => this.#listener.onHead({ status, header: (name) => firstOf(headers[name]) }));
  }

  onResponseData(_: Dispatcher.DispatchController, bytes: Buffer): void {
    this.#bodyBytes += bytes.length;
    if (this.#bodyBytes > MAX_BODY_BYTES) this.#leave("too-large");
    else if (!this.#isDraining) this.#listen(() => this.#listener.onBytes(bytes));
  }

  onResponseEnd(): void {
    this.#settle("complete");
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#isDraining) this.#settle("complete");
    else if (this.#hasHead) this.#settle("cut-off");
    else if (error.name === "InvalidArgumentError")
      this.#fail(new Defect("the HTTP library refused the request's form"));
    else if (NOT_HTTP.includes(error.name)) this.#settle("unreadable");
    // A request is started on a connection, and not before there is one.
    else this.#settle(this.#controller === null ? whyUnreached(error) : "connection-lost");
  }

  /** What the listener throws is ours, not the provider's: it reaches the caller as it is. */
  #listen(tell: () => boolean): void {
    try {
      if (tell()) return;
    } catch (error) {
      this.#fail(error);
      this.#leave("cut-off");
      return;
    }
    this.#isDraining = true;
    // Its end mostly came with these bytes, and is told next: then there is nothing to wait for.
    Promise.resolve().then(() => this.#limitDrain());
  }

  #limitDrain(): void {
    if (!this.#isSettled) this.#callOffDrain = this.#clock.wake(DRAIN_MS, () => this.#leave("complete"));
  }

  #leave(end: ExchangeEnd): void {
    this.#mustLeave = true;
    // First, for the library reports an abort as an error of the response.
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
    this.#callOffDrain?.();
    this.#signal.removeEventListener("abort", this.#onAbort);
    return true;
  }
}

function whyUnreached(error: Error): ExchangeEnd {
  const code = "code" in error ? String(error.code) : "";
  if (UNTRUSTED.test(code)) return "untrusted";
  return NO_TLS.test(code) ? "no-tls" : "unreachable";
}

function firstOf(value: unknown): string | null {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return typeof first === "string" ? first : null;
}
