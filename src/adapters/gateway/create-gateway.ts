/**
 * The HTTP server: one port (design §7, HTTP and WebSocket; O-5, O-6.3).
 *
 * D1. It binds loopback by default, and requires a credential wherever it is bound.
 * D2. Slow senders are disconnected: headers within 10 s, a whole request within 30 s. Slow readers: write-text.ts and
 *     event-stream.ts.
 * D3. A connection has one request in work: the next is served, and more are read, once its client has taken the answer
 *     before it. Requests that came in one read wait.
 * D4. Closing takes nothing more that changes something, lets requests finish within the grace period and ends streams; then
 *     sockets are destroyed.
 * D5. Connections without a proven caller are bounded (unproven-connections.ts), and so are messages of webhooks
 *     (webhook-budget.ts).
 *
 * `node:http` and the table of operations, not a framework: docs/decisions/2026-11-16-no-web-framework.md.
 */
import { once } from "node:events";
import type { Server, ServerOptions, ServerResponse } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Conversations } from "../../assistant/messages/messages.ts";
import type { OperationClient } from "../../assistant/operations.ts";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import type { Credentials } from "../../runtime/access/grant.ts";
import { isLoopback } from "../../runtime/access/is-loopback.ts";
import { type Identity, proveIdentity } from "../../runtime/operations/gateway-identity.ts";
import type { Mount } from "../../runtime/operations/mount.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { RandomBytes } from "../../runtime/ports/randomness.ts";
import { createAdmission, type Sites } from "./admission.ts";
import { answerParseError } from "./answer-parse-error.ts";
import { bracketed, plainAddress, type TrustedProxy } from "./caller-socket.ts";
import { listenFailure } from "./gateway-error.ts";
import {
  createRequestServer,
  type OnRefused,
  type RequestServer,
  STREAM_LIMITS,
  type StreamLimits,
} from "./serve-request.ts";
import { SessionCookie } from "./session-cookie.ts";
import { createSocketServer } from "./socket/socket-server.ts";
import { UnprovenConnections } from "./unproven-connections.ts";

// An import would read every export of the module, and one of them loads Node's fetch: a fifth of the start-up time.
const { createServer } = process.getBuiltinModule("node:http");

const DEFAULT_HOST = "127.0.0.1";
const DEFAULT_PORT = 19_789;

const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 60_000,
  maxHeaderSize: 16 * 1024,
  // Most requests have no body, so no stream is set up for them; read-body.ts checks the head first.
  optimizeEmptyRequests: true,
  // A missing Host is answered in our own error shape.
  requireHostHeader: false,
  // Detects peers that vanished.
  keepAlive: true,
  keepAliveInitialDelay: 30_000,
} as const;

export interface GatewayOptions {
  readonly operations: OperationClient;
  /** What the WebSocket speaks of. */
  readonly conversations: Conversations;
  /** Who may come in, by what they bring. */
  readonly credentials: Credentials;
  /** With which it proves to clients that it belongs to this home. */
  readonly identity: Identity;
  /** Beside its own; absent: none. */
  readonly sites?: () => Sites;
  /** Absent: it speaks plain HTTP. */
  readonly tls?: Certificate | null;
  readonly proxy?: TrustedProxy | null;
  readonly clock: Clock;
  readonly mounts?: readonly Mount[];
  readonly random: RandomBytes;
  /** Streams and answers of mounts under way. */
  readonly streamLimits?: StreamLimits;
  /** Reported by health. */
  readonly isHealthy?: () => boolean;
  /** An internal failure; the caller sees only its id. */
  readonly onError: (error: unknown, errorId: string) => void;
  readonly onRefused?: OnRefused;
}

/** PEM texts. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

const OWN_ALONE: Sites = { allowedHosts: [], allowedOrigins: [] };

export interface Listening {
  readonly url: string;
  readonly port: number;
  /** For connections from here on. */
  renew(certificate: Certificate): void;
  close(graceMs: number): Promise<void>;
}

export interface Gateway {
  /** Port 0: any free one. Rejects with a `GatewayError` when the address cannot be bound. */
  listen(address?: { readonly host?: string; readonly port?: number }): Promise<Listening>;
}

export function createGateway(options: GatewayOptions): Gateway {
  const {
    operations,
    conversations,
    mounts = [],
    credentials,
    identity,
    clock,
    random,
    onError,
    onRefused = () => {},
  } = options;
  const {
    isHealthy = () => true,
    streamLimits = STREAM_LIMITS,
    sites = () => OWN_ALONE,
    tls = null,
    proxy = null,
  } = options;
  return {
    async listen({ host = DEFAULT_HOST, port = DEFAULT_PORT } = {}) {
      const cookie = new SessionCookie(tls !== null || proxy !== null);
      const admission = createAdmission({ credentials, cookie, sites, proxy, listenHost: host, clock });
      let url = "";
      const prove = (nonce: string) => proveIdentity(identity, url, nonce);
      const unproven = new UnprovenConnections();
      const onProven = (socket: Socket): void => unproven.prove(socket);
      const requests = createRequestServer({
        ...{ operations, mounts, admission, cookie, clock, isHealthy, streamLimits, prove, onProven },
        ...{ onError, onRefused },
      });
      const sockets = createSocketServer({
        admission,
        conversations,
        clock,
        random,
        onProven,
        report: requests.report,
        refuse: requests.refuse,
      });
      // Other upgrades, such as to HTTP/2, are requests like any other.
      const server = serverWith({ ...LIMITS, shouldUpgradeCallback: sockets.isUpgrade }, tls);
      server.on("upgrade", sockets.upgrade);
      // Headers are bounded by bytes; a count would drop the rest silently, duplicates included.
      server.maxHeadersCount = 0;
      server.on("connection", (socket: Socket) => {
        const address = plainAddress(socket.remoteAddress ?? "");
        if (proxy !== null && tls === null && !isLoopback(address) && !proxy.from.includes(address)) {
          socket.destroy();
        } else if (!proxy?.from.includes(address)) unproven.add(socket);
      });
      const responses = serveWith(server, requests, clock);
      await bind(server, host, port);
      server.on("error", requests.report);
      const address = server.address();
      if (address === null || typeof address === "string") throw new Defect("gateway: bound to no port");
      url = `${tls === null ? "http" : "https"}://${bracketed(host)}:${address.port}`;
      return {
        url,
        port: address.port,
        renew: (certificate) => {
          if ("setSecureContext" in server) server.setSecureContext(certificate);
        },
        async close(graceMs) {
          const closed = new Promise<void>((resolve) => server.close(() => resolve()));
          for (const outgoing of responses.values()) closeIdleAfter(outgoing, server);
          requests.stop();
          sockets.stop();
          const cancel = clock.wake(graceMs, () => {
            server.closeAllConnections();
            sockets.destroy();
          });
          await closed;
          cancel();
        },
      };
    },
  };
}

/** Returns the newest response on each connection. */
function serveWith(server: Server, requests: RequestServer, clock: Clock): ReadonlyMap<Duplex, ServerResponse> {
  const responses = new Map<Duplex, ServerResponse>();
  const connected = "setSecureContext" in server ? "secureConnection" : "connection";
  server.on(connected, (socket: Duplex) => socket.on("close", () => responses.delete(socket)));
  server.on("request", (incoming, outgoing) => {
    const { socket } = incoming;
    const before = responses.get(socket);
    responses.set(socket, outgoing);
    if (!server.listening) closeIdleAfter(outgoing, server);
    if (before === undefined || before.writableFinished) {
      requests.serve(incoming, outgoing);
      return;
    }
    socket.pause();
    before.once("close", () => {
      if (socket.destroyed) return;
      // Node may have resumed reading meanwhile.
      if (responses.get(socket) === outgoing) socket.resume();
      else socket.pause();
      requests.serve(incoming, outgoing);
    });
  });
  server.on("clientError", (error: Error, socket: Duplex) => {
    answerParseError(error, socket, responses.get(socket), clock);
  });
  return responses;
}

/** A keep-alive connection must not keep a closing server open. */
function closeIdleAfter(outgoing: ServerResponse, server: Server): void {
  outgoing.on("close", () => server.closeIdleConnections());
}

function serverWith(options: ServerOptions, tls: Certificate | null): Server | SecureServer {
  if (tls === null) return createServer(options);
  const { createServer: createSecureServer } = process.getBuiltinModule("node:https");
  const server = createSecureServer({ ...options, ...tls, minVersion: "TLSv1.2", handshakeTimeout: 10_000 });
  // What does not speak TLS gets no answer in another protocol.
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  return server;
}

async function bind(server: Server, host: string, port: number): Promise<void> {
  try {
    await once(server.listen({ host, port }), "listening");
  } catch (error) {
    throw listenFailure(error, host, port) ?? error;
  }
}
