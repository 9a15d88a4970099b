/**
 * An OpenAI-compatible server on loopback that does what a script says, for tests, faults and benches. It speaks the wire
 * as the real ones do and knows nothing of the code under test.
 *
 * O1. What it answers depends on the script only; there is no latency of its own.
 * O2. Whether an answer is streamed follows the request's `stream`, as with the real ones.
 * O3. `closed` of a request tells when, and by whom, its exchange was ended.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type ChatScript, encodeDocument, encodeEvents } from "./chat-wire.ts";

export type Reply =
  | ({ readonly kind: "answer" } & ChatScript & Fate)
  /** Any status, headers and body: errors, HTML, malformed JSON. */
  | {
      readonly kind: "http";
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly body?: string;
    }
  /** Bytes that need not be HTTP; then the connection ends. */
  | { readonly kind: "bytes"; readonly bytes: string }
  /** Says nothing, or the head and then nothing. */
  | { readonly kind: "hang"; readonly withHead?: boolean }
  | { readonly kind: "reset" };

interface Fate {
  /** The response begins when this has settled. */
  readonly after?: Promise<unknown>;
  /** The response breaks off: after this many events of a stream or bytes of its body. */
  readonly cut?: {
    readonly events?: number;
    readonly bytes?: number;
    readonly by: "reset" | "end";
    /** The break waits for this, for a reset may overtake what was sent. */
    readonly after?: Promise<unknown>;
  };
}

export interface ReceivedRequest {
  readonly index: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body, parsed when it is looked at. */
  readonly body: ChatRequestBody;
  readonly closed: Promise<"by-server" | "by-client">;
}

export interface ChatRequestBody {
  readonly model: string;
  readonly messages: readonly (Readonly<Record<string, unknown>> & { readonly role: string })[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
  readonly tool_choice?: unknown;
  readonly max_tokens?: number;
  readonly stream?: boolean;
  readonly stream_options?: unknown;
}

export interface OpenAiServer {
  readonly baseUrl: string;
  /** Requests for completions, in the order of arrival; empty when they are not kept. */
  readonly requests: readonly ReceivedRequest[];
  /** Requests for the list of models. */
  readonly checks: readonly IncomingHttpHeaders[];
  /** Connections accepted so far. */
  readonly connections: number;
  /** Resolves with the request of this index once it is there. */
  arrival(index: number): Promise<ReceivedRequest>;
  close(): Promise<void>;
}

interface ServerOptions {
  /** What `GET /v1/models` answers. */
  readonly models?: () => Reply;
  /** Keeping requests costs memory; a bench does without. */
  readonly keepsRequests?: boolean;
  /** 0 takes a free one. */
  readonly port?: number;
}

export type ServerScript = (request: ReceivedRequest, index: number) => Reply;

const MODEL_LIST = { object: "list", data: [{ id: "scripted", object: "model", created: 0, owned_by: "loopback" }] };

export async function startOpenAiServer(script: ServerScript, options: ServerOptions = {}): Promise<OpenAiServer> {
  const { models = () => json(200, MODEL_LIST), keepsRequests = true, port = 0 } = options;
  const requests: ReceivedRequest[] = [];
  const checks: IncomingHttpHeaders[] = [];
  const awaited = new Map<number, (request: ReceivedRequest) => void>();
  let count = 0;
  let connections = 0;

  const server = createServer((incoming, response) => {
    const path = incoming.url ?? "";
    if (incoming.method === "GET" && path.endsWith("/models")) {
      checks.push(incoming.headers);
      return perform(models(), response, false);
    }
    if (incoming.method !== "POST" || !path.endsWith("/chat/completions")) {
      return perform(
        json(404, { error: { message: `no such path: ${path}`, type: "invalid_request_error" } }),
        response,
        false,
      );
    }
    const parts: Buffer[] = [];
    incoming.on("data", (part: Buffer) => parts.push(part));
    incoming.on("end", () => {
      const request = receive(count, incoming, Buffer.concat(parts).toString(), response);
      count += 1;
      if (keepsRequests) requests.push(request);
      awaited.get(request.index)?.(request);
      perform(script(request, request.index), response, /"stream":\s*true/.test(request.text));
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

/** Short forms for scripts. */
export function answer(script: ChatScript & Fate): Reply {
  return { kind: "answer", ...script };
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Reply {
  return {
    kind: "http",
    status,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  };
}

export function html(status: number): Reply {
  const body = `<!doctype html><html><body><h1>${status}</h1><p>upstream secret-detail</p></body></html>`;
  return { kind: "http", status, headers: { "content-type": "text/html" }, body };
}

function receive(index: number, incoming: IncomingMessage, text: string, response: ServerResponse): ReceivedRequest {
  let body: ChatRequestBody | null = null;
  const closed = new Promise<"by-server" | "by-client">((resolve) => {
    response.once("close", () => resolve(response.writableFinished ? "by-server" : "by-client"));
  });
  return {
    index,
    headers: incoming.headers,
    text,
    get body() {
      body ??= JSON.parse(text) as ChatRequestBody;
      return body;
    },
    closed,
  };
}

function perform(reply: Reply, response: ServerResponse, isStreamed: boolean): void {
  switch (reply.kind) {
    case "answer":
      if (reply.after === undefined) send(reply, response, isStreamed);
      else reply.after.then(() => send(reply, response, isStreamed));
      return;
    case "http":
      response.writeHead(reply.status, reply.headers).end(reply.body ?? "");
      return;
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

function send(reply: ChatScript & Fate, response: ServerResponse, isStreamed: boolean): void {
  const { cut } = reply;
  const parts = isStreamed ? encodeEvents(reply) : [encodeDocument(reply)];
  const head: Record<string, string | number> = { "content-type": typeOf(isStreamed) };
  if (cut === undefined && parts.length === 1) head["content-length"] = Buffer.byteLength(parts[0] ?? "");
  response.writeHead(200, head);
  if (cut === undefined) {
    response.end(parts.join(""));
    return;
  }
  const body = Buffer.from(parts.slice(0, cut.events ?? parts.length).join("")).subarray(0, cut.bytes);
  response.flushHeaders();
  response.write(body, () => {
    const socket = response.socket;
    (cut.after ?? Promise.resolve()).then(() => (cut.by === "reset" ? socket?.resetAndDestroy() : socket?.destroy()));
  });
}

function typeOf(isStreamed: boolean): string {
  return isStreamed ? "text/event-stream; charset=utf-8" : "application/json";
}
