/**
 * The WebSocket at / (T-1.1): from an upgrade to its end.
 *
 * U1. Nothing is upgraded that was not admitted: Host, Origin, token and scope are checked as for a request, and a refusal is
 *     an HTTP answer. A token in the query is none.
 * U2. The library is loaded with the first upgrade. It compresses nothing, so no small frame becomes a large one.
 * U3. Sockets are bounded, in all and for each credential that speaks for one sender.
 * U4. A peer that answers no ping is cut off.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { WebSocket, WebSocketServer } from "ws";
import type { Conversations } from "../../../assistant/messages/messages.ts";
import type { Grant } from "../../../runtime/access/grant.ts";
import type { Clock } from "../../../runtime/ports/clock.ts";
import { newId, type RandomBytes } from "../../../runtime/ports/randomness.ts";
import { type Admission, TOKEN_SUBPROTOCOL } from "../admission.ts";
import { HttpError, invalidRequest } from "../http-error.ts";
import { type Head, readHead } from "../read-head.ts";
import type { RequestServer } from "../serve-request.ts";
import { SocketConnection } from "./socket-connection.ts";

const MAX_FRAME_BYTES = 1_048_576;
const MAX_SOCKETS = 20_000;
const MAX_SOCKETS_OF_ONE = 64;
const PING_EVERY_MS = 30_000;
/** For the bytes of a refusal, or of a closing frame. */
const LINGER_MS = 2_000;
/** What a client offers beside its token, so that the answer need not repeat that. */
const SUBPROTOCOL = "surety";

interface SocketServerDependencies {
  readonly admission: Admission;
  readonly conversations: Conversations;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly report: (error: unknown) => HttpError;
  readonly refuse: RequestServer["refuse"];
  /** Its credential counts. */
  readonly onProven: (socket: Socket) => void;
}

export interface SocketServer {
  isUpgrade(incoming: IncomingMessage): boolean;
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
  /** Tells all of them, and takes no more. */
  stop(): void;
  /** Ends what has not gone by itself. */
  destroy(): void;
}

export function createSocketServer(dependencies: SocketServerDependencies): SocketServer {
  const { admission, clock, report, refuse, onProven } = dependencies;
  const connections = new Set<SocketConnection>();
  const counts = new Map<string, number>();
  let server: Promise<WebSocketServer> | null = null;
  let cancelPings: (() => void) | null = null;
  let isStopping = false;

  const ping = (): void => {
    cancelPings = connections.size === 0 ? null : clock.wake(PING_EVERY_MS, ping);
    for (const connection of connections) connection.ping();
  };

  const count = ({ sender, principal }: Grant, by: number): number => {
    const now = (counts.get(principal) ?? 0) + by;
    if (now <= 0) counts.delete(principal);
    else counts.set(principal, now);
    return sender === null ? 0 : now;
  };

  const admit = (incoming: IncomingMessage, head: Head): { readonly grant: Grant; readonly cursor: string | null } => {
    const { method = "", url = "" } = incoming;
    const grant = admission.admit(head, incoming.socket);
    onProven(incoming.socket);
    if (!grant.scopes.has("chat")) throw new HttpError("auth.forbidden", "this token lacks the scope chat");
    const [path, query = ""] = url.split(/\?(.*)/s, 2);
    if (path !== "/") throw new HttpError("not_found", "the WebSocket is at /");
    if (method !== "GET") throw new HttpError("method.not_allowed", "an upgrade is a GET");
    if (isStopping) throw new HttpError("gateway.stopping", "The gateway stops: come back when it has started.");
    if (connections.size >= MAX_SOCKETS || count(grant, 0) >= MAX_SOCKETS_OF_ONE) {
      throw new HttpError("queue.full", "too many WebSockets are open; close some");
    }
    return { grant, cursor: cursorIn(query) };
  };

  const take = (socket: WebSocket, grant: Grant, cursor: string | null): void => {
    const { conversations, random } = dependencies;
    const connection = new SocketConnection(socket, {
      ...{ conversations, clock, report, grant },
      newId: () => newId("msg", random),
    });
    connections.add(connection);
    count(grant, 1);
    cancelPings ??= clock.wake(PING_EVERY_MS, ping);
    const onEnded = (): void => connection.end("auth.required", "this token no longer counts", 4401);
    grant.ended.addEventListener("abort", onEnded);
    socket.on("close", () => {
      grant.ended.removeEventListener("abort", onEnded);
      connections.delete(connection);
      count(grant, -1);
    });
    if (isStopping) stopOne(connection);
    else connection.begin(cursor);
  };

  return {
    isUpgrade: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",

    async upgrade(incoming, socket, head) {
      // A client may reset at any time.
      socket.on("error", () => socket.destroy());
      let sent: Head = {};
      try {
        sent = readHead(incoming.rawHeaders);
        const { grant, cursor } = admit(incoming, sent);
        server ??= loadServer();
        const loaded = await server;
        if (socket.destroyed) return;
        loaded.handleUpgrade(incoming, socket, head, (opened) => take(opened, grant, cursor));
      } catch (error) {
        answerRefused(socket, refuse(error, sent, incoming.socket), clock);
      }
    },

    stop() {
      isStopping = true;
      for (const connection of connections) stopOne(connection);
    },

    destroy() {
      cancelPings?.();
      for (const connection of connections) connection.destroy();
    },
  };
}

function stopOne(connection: SocketConnection): void {
  connection.end("gateway.stopping", "the gateway stops; come back with your cursor", 1001);
}

async function loadServer(): Promise<WebSocketServer> {
  const { WebSocketServer } = await import("ws");
  return new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
    handleProtocols: (offered) => {
      if (offered.has(SUBPROTOCOL)) return SUBPROTOCOL;
      // A browser closes the socket unless one that it offered is taken.
      return [...offered].find((name) => name.startsWith(TOKEN_SUBPROTOCOL)) ?? false;
    },
  });
}

function cursorIn(query: string): string | null {
  const given = new URLSearchParams(query);
  const names = [...given.keys()];
  if (names.some((name) => name !== "after") || names.length > 1) {
    throw invalidRequest("the WebSocket takes one query parameter, after");
  }
  return given.get("after");
}

/** Not upgraded: still HTTP. */
function answerRefused(socket: Duplex, { status, headers, body }: HttpError, clock: Clock): void {
  const text = JSON.stringify(body);
  const lines = [
    `HTTP/1.1 ${status} Refused`,
    "Connection: close",
    "Content-Type: application/json; charset=utf-8",
    "Cache-Control: no-store",
    `Content-Length: ${Buffer.byteLength(text)}`,
  ];
  for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
  socket.end(`${lines.join("\r\n")}\r\n\r\n${text}`);
  const cancel = clock.wake(LINGER_MS, () => socket.destroy());
  socket.on("close", cancel);
}
