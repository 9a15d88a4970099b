/**
 * A model server on loopback that does what a script says, for tests, faults and benches. It speaks the wire as the real
 * ones do and knows nothing of the code under test; which wire, a `Wire` says.
 *
 * O1. What it answers depends on the script only; there is no latency of its own.
 * O2. Whether an answer is streamed follows the request's `stream`, as with the real ones.
 * O3. `closed` of a request tells when, and by whom, its exchange was ended.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { ChatScript } from "./chat-wire.ts";

export type ScriptedReply =
  | ({ readonly kind: "answer" } & ChatScript & Fate)
  /** Any status, headers and body: errors, HTML, malformed JSON. */
  | {
      readonly kind: "http";
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly body?: string;
      /** As in `Fate`. */
      readonly after?: Promise<unknown>;
    }
  /** Bytes that need not be HTTP; then the connection ends. */
  | { readonly kind: "bytes"; readonly bytes: string }
  /** Says nothing, or the head and then nothing. */
  | { readonly kind: "hang"; readonly withHead?: boolean }
  | { readonly kind: "reset" };

export interface Fate {
  /** The response begins when this has settled. */
  readonly after?: Promise<unknown>;
  /** After so many events of a stream the rest waits for this. */
  readonly pause?: { readonly events: number; readonly until: Promise<unknown> };
  /** The response breaks off: after this many events of a stream or bytes of its body. */
  readonly cut?: {
    readonly events?: number;
    readonly bytes?: number;
    readonly by: "reset" | "end";
    /** The break waits for this, for a reset may overtake what was sent. */
    readonly after?: Promise<unknown>;
  };
}

export interface ScriptedRequest<Body> {
  readonly index: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body, parsed when it is looked at. */
  readonly body: Body;
  readonly closed: Promise<"by-server" | "by-client">;
}

export interface ScriptedServer<Body> {
  readonly baseUrl: string;
  /** Requests for completions, in the order of arrival; empty when they are not kept. */
  readonly requests: readonly ScriptedRequest<Body>[];
  /** Requests for the list of models. */
  readonly checks: readonly IncomingHttpHeaders[];
  /** Connections accepted so far. */
  readonly connections: number;
  /** Resolves with the request of this index once it is there. */
  arrival(index: number): Promise<ScriptedRequest<Body>>;
  close(): Promise<void>;
}

export interface ServerOptions {
  /** What `GET /v1/models` answers. */
  readonly models?: () => ScriptedReply;
  /** Keeping requests costs memory; a bench does without. */
  readonly keepsRequests?: boolean;
  /** 0 takes a free one. */
  readonly port?: number;
}

export interface Wire<Body> {
  /** What the path of a request for a completion ends in. */
  readonly path: string;
  encodeDocument(script: ChatScript): string;
  /** One text an event, with everything that ends it. */
  encodeEvents(script: ChatScript): readonly string[];
  /** What the server says to a request that breaks its rules; null where it keeps them. */
  refuse(request: ScriptedRequest<Body>): ScriptedReply | null;
}

export async function startScriptedServer<Body>(
  wire: Wire<Body>,
  script: (request: ScriptedRequest<Body>, index: number) => ScriptedReply,
  options: ServerOptions,
): Promise<ScriptedServer<Body>> {
  const { models = () => documentReply(200, MODEL_LIST), keepsRequests = true, port = 0 } = options;
  const requests: ScriptedRequest<Body>[] = [];
  const checks: IncomingHttpHeaders[] = [];
  const awaited = new Map<number, (request: ScriptedRequest<Body>) => void>();
  let count = 0;
  let connections = 0;

  const server = createServer((incoming, response) => {
    const path = incoming.url ?? "";
    if (incoming.method === "GET" && path.endsWith("/models")) {
      checks.push(incoming.headers);
      return perform(wire, models(), response, false);
    }
    if (incoming.method !== "POST" || !path.endsWith(wire.path)) {
      const error = { message: `no such path: ${path}`, type: "invalid_request_error" };
      return perform(wire, documentReply(404, { error }), response, false);
    }
    const parts: Buffer[] = [];
    incoming.on("data", (part: Buffer) => parts.push(part));
    incoming.on("end", () => {
      const request = receive<Body>(count, incoming, Buffer.concat(parts).toString(), response);
      count += 1;
      if (keepsRequests) requests.push(request);
      awaited.get(request.index)?.(request);
      const reply = wire.refuse(request) ?? script(request, request.index);
      perform(wire, reply, response, /"stream":\s*true/.test(request.text));
    });
  });
  server.on("connection", () => {
    connections += 1;
  });
  // Below the client's own limit nothing is closed under its hands.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));

  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    checks,
    get connections() {
      return connections;
    },
    arrival: (index) => {
      const request = requests[index];
      return request === undefined ? new Promise((resolve) => awaited.set(index, resolve)) : Promise.resolve(request);
    },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** It has none: whatever a test calls its model, it is there. */
const MODEL_LIST = { object: "list", data: [] };

function documentReply(status: number, body: unknown): ScriptedReply {
  return { kind: "http", status, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

function receive<Body>(
  index: number,
  incoming: IncomingMessage,
  text: string,
  response: ServerResponse,
): ScriptedRequest<Body> {
  let body: Body | null = null;
  const closed = new Promise<"by-server" | "by-client">((resolve) => {
    response.once("close", () => resolve(response.writableFinished ? "by-server" : "by-client"));
  });
  return {
    index,
    headers: incoming.headers,
    text,
    get body() {
      body ??= JSON.parse(text) as Body;
      return body;
    },
    closed,
  };
}

type Spelling = Pick<Wire<never>, "encodeDocument" | "encodeEvents">;

function perform(spelling: Spelling, reply: ScriptedReply, response: ServerResponse, isStreamed: boolean): void {
  switch (reply.kind) {
    case "answer":
      if (reply.after === undefined) send(spelling, reply, response, isStreamed);
      else reply.after.then(() => send(spelling, reply, response, isStreamed));
      return;
    case "http": {
      const respond = () => response.writeHead(reply.status, reply.headers).end(reply.body ?? "");
      if (reply.after === undefined) respond();
      else reply.after.then(respond);
      return;
    }
    case "bytes":
      response.socket?.end(reply.bytes);
      return;
    case "hang":
      if (reply.withHead) response.writeHead(200, { "content-type": typeOf(isStreamed) }).flushHeaders();
      return;
    case "reset":
      response.socket?.resetAndDestroy();
      return;
  }
}

function send(spelling: Spelling, reply: ChatScript & Fate, response: ServerResponse, isAskedFor: boolean): void {
  const { cut, pause, dialect: { writeBytes, alwaysStreams = false } = {} } = reply;
  const isStreamed = isAskedFor || alwaysStreams;
  const parts = isStreamed ? spelling.encodeEvents(reply) : [spelling.encodeDocument(reply)];
  const head: Record<string, string | number> = { "content-type": typeOf(isStreamed) };
  if (pause !== undefined) {
    response.writeHead(200, head);
    response.write(parts.slice(0, pause.events).join(""));
    pause.until.then(() => response.end(parts.slice(pause.events).join("")));
    return;
  }
  if (cut === undefined && parts.length === 1) head["content-length"] = Buffer.byteLength(parts[0] ?? "");
  response.writeHead(200, head);
  if (cut === undefined) {
    // Each is a chunk of its own on the wire, and heard as one.
    if (writeBytes !== undefined) for (const piece of piecesOf(parts, writeBytes)) response.write(piece);
    response.end(writeBytes === undefined ? parts.join("") : undefined);
    return;
  }
  const body = Buffer.from(parts.slice(0, cut.events ?? parts.length).join("")).subarray(0, cut.bytes);
  response.flushHeaders();
  response.write(body, () => {
    const socket = response.socket;
    (cut.after ?? Promise.resolve()).then(() => (cut.by === "reset" ? socket?.resetAndDestroy() : socket?.destroy()));
  });
}

function piecesOf(parts: readonly string[], bytes: number | "event"): readonly (string | Buffer)[] {
  if (bytes === "event") return parts;
  const body = Buffer.from(parts.join(""));
  return Array.from({ length: Math.ceil(body.length / bytes) }, (_, at) => body.subarray(at * bytes, (at + 1) * bytes));
}

function typeOf(isStreamed: boolean): string {
  return isStreamed ? "text/event-stream; charset=utf-8" : "application/json";
}
