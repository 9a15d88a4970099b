/**
 * The HTTP door: one port, one token (design: HTTP and WebSocket; O-5, O-6.3).
 *
 * D1. It binds loopback unless told otherwise, and asks for the token wherever it is bound.
 * D2. Slow senders are cut off: headers within 10 s, a whole request within 30 s. Slow readers: event-stream.ts.
 * D3. Closing lets requests finish within the grace and tells streams that we stop; then sockets are destroyed.
 *
 * On `node:http` with a table of routes of our own, not hono on its node adapter: in three paired runs on a busy machine
 * it took 0.63 to 0.70 of bare node:http's requests per CPU second, hono 0.59 to 0.64 with these same checks before it.
 * The adapter also writes errors to the console and replaces globals.
 */
import type { Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { Assistant } from "../../assistant/assistant.ts";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import { createAdmission } from "./admission.ts";
import { answerParseError } from "./answer-parse-error.ts";
import { listenFailure } from "./gateway-error.ts";
import { createRequestServer, type RequestServer } from "./serve-request.ts";

// An import would read every export of the module, and one of them loads Node's whole fetch: a fifth of the start.
const { createServer } = process.getBuiltinModule("node:http");

const DEFAULT_HOST = "127.0.0.1";
const DEFAULT_PORT = 19_789;

const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 60_000,
  maxHeaderSize: 16 * 1024,
  // Most requests have no body: the machinery of streams is not started for them. read-body.ts asks the head first.
  optimizeEmptyRequests: true,
  // A missing Host gets our own error's shape.
  requireHostHeader: false,
  // Finds peers that vanished without a word.
  keepAlive: true,
  keepAliveInitialDelay: 30_000,
} as const;

export interface GatewayOptions {
  readonly assistant: Assistant;
  readonly token: string;
  /** Other sites whose pages may call, as browsers write them: `https://example.org`. */
  readonly allowedOrigins: readonly string[];
  readonly clock: Clock;
  /** Can anything be accepted? Health says so. */
  readonly isHealthy?: () => boolean;
  /** A failure of ours; callers were told its id alone. */
  readonly onError: (error: unknown, errorId: string) => void;
}

export interface Listening {
  readonly url: string;
  readonly port: number;
  close(graceMs: number): Promise<void>;
}

export interface Gateway {
  /** Port 0: any that is free. Rejects with a `GatewayError` when the address cannot be had. */
  listen(address?: { readonly host?: string; readonly port?: number }): Promise<Listening>;
}

export function createGateway(options: GatewayOptions): Gateway {
  const { assistant, token, allowedOrigins, clock, onError, isHealthy = () => true } = options;
  return {
    async listen({ host = DEFAULT_HOST, port = DEFAULT_PORT } = {}) {
      const admission = createAdmission({ token, allowedOrigins, listenHost: host });
      const requests = createRequestServer({ assistant, admission, clock, isHealthy, onError });
      const server = createServer(LIMITS);
      // Bounded by bytes; a count would drop the rest silently, and the second of two headers with it.
      server.maxHeadersCount = 0;
      const answers = serveWith(server, requests, clock);
      await bind(server, host, port);
      server.on("error", requests.report);
      const bound = addressOf(server);
      return {
        url: `http://${host.includes(":") ? `[${host}]` : host}:${bound.port}`,
        port: bound.port,
        close: (graceMs) => close({ server, requests, answers, graceMs, clock }),
      };
    },
  };
}

/** The newest answer on each connection. */
type Answers = ReadonlyMap<Duplex, ServerResponse>;

function serveWith(server: Server, requests: RequestServer, clock: Clock): Answers {
  const answers = new Map<Duplex, ServerResponse>();
  server.on("connection", (socket) => socket.on("close", () => answers.delete(socket)));
  server.on("request", (incoming, outgoing) => {
    answers.set(incoming.socket, outgoing);
    if (!server.listening) letGoAfter(outgoing, server);
    requests.serve(incoming, outgoing);
  });
  server.on("clientError", (error: Error, socket: Duplex) => {
    answerParseError(error, socket, answers.get(socket), clock);
  });
  return answers;
}

/** A connection that would be kept alive must not keep a closing server open. */
function letGoAfter(outgoing: ServerResponse, server: Server): void {
  outgoing.on("close", () => server.closeIdleConnections());
}

async function bind(server: Server, host: string, port: number): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ host, port }, () => {
        server.off("error", reject);
        resolve();
      });
    });
  } catch (error) {
    throw listenFailure(error, host, port) ?? error;
  }
}

interface Closing {
  readonly server: Server;
  readonly requests: RequestServer;
  readonly answers: Answers;
  readonly graceMs: number;
  readonly clock: Clock;
}

async function close({ server, requests, answers, graceMs, clock }: Closing): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const outgoing of answers.values()) letGoAfter(outgoing, server);
  requests.stopStreams();
  const callOff = clock.wake(graceMs, () => server.closeAllConnections());
  await closed;
  callOff();
}

function addressOf(server: Server): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Defect("gateway: bound to no port");
  return address;
}
