/**
 * From the table of operations to HTTP endpoints. A path is matched as it was written: nothing is decoded or normalised
 * on the way, so no spelling of a path slips past the check of another.
 */
import type { ServerResponse } from "node:http";
import { type CallName, OPERATIONS, type OperationClient } from "../../assistant/operations.ts";
import type { Grant } from "../../runtime/access/grant.ts";
import type {
  AnyOperation,
  Caller,
  Frame,
  Result,
  Scope,
  ServedFile,
  Subscription,
} from "../../runtime/operations/operation.ts";
import type { Admission } from "./admission.ts";
import type { CallerSocket } from "./caller-socket.ts";
import { GATEWAY_OPERATIONS, type GatewayServices } from "./gateway-operations.ts";
import { HttpError, invalidRequest } from "./http-error.ts";
import type { Head } from "./read-head.ts";
import { inputReader, type RequestParts } from "./read-input.ts";
import { etagOf, fileReply, isNamedIn, jsonReply, type Reply, unchangedReply } from "./reply.ts";
import type { NewCookie } from "./session-cookie.ts";

export interface Call extends RequestParts {
  readonly outgoing: ServerResponse;
  readonly grant: Grant;
}

/** Answers with the frames of a subscription until it, the client or the gateway ends. */
export type OpenStream = (
  call: Pick<Call, "outgoing" | "grant">,
  open: (signal: AbortSignal) => Promise<Subscription<unknown>>,
  encode: (update: never) => Frame,
) => Promise<Reply>;

export interface RouteParts {
  readonly openStream: OpenStream;
  readonly refuseProof: Admission["refuseProof"];
  /** The value of the header that sets the cookie, or takes it away. */
  readonly setCookie: (socket: CallerSocket, set: NewCookie | null) => string;
}

export interface Endpoint {
  readonly scope: Scope;
  answer(call: Call): Promise<Reply>;
}

export interface Route {
  /** No operation on this path needs a token. */
  readonly isPublic: boolean;
  /** Requests are authenticated by their signature. */
  readonly isSigned: boolean;
  /** By HTTP method; a GET that does not stream answers HEAD too. */
  readonly endpoints: ReadonlyMap<string, Endpoint>;
}

export type FindRoute = (path: string) => { readonly route: Route; readonly inPath: readonly string[] } | null;

type Operation = (typeof GATEWAY_OPERATIONS | typeof OPERATIONS)[number];
type CallOperation = (input: never, caller: Caller) => Result<unknown> | Promise<Result<unknown>>;

const REPLAYED: readonly string[] = ["Idempotent-Replayed", "true"];

export function createRoutes(client: OperationClient, own: GatewayServices, parts: RouteParts): FindRoute {
  const endpoints = [
    ...GATEWAY_OPERATIONS.map((operation) => ({
      operation,
      endpoint: answering(operation, (input, caller) => operation.call(own, input, caller), parts),
    })),
    ...OPERATIONS.map((operation) => ({
      operation,
      endpoint:
        operation.kind === "stream"
          ? streaming(operation, client, parts.openStream)
          : answering(operation, (input, caller) => client.call(operation.name as CallName, input, caller), parts),
    })),
  ];
  const byPath = Map.groupBy<string, { readonly operation: Operation; readonly endpoint: Endpoint }>(
    endpoints,
    ({ operation }) => operation.path,
  );
  const fixed = new Map<string, { readonly route: Route; readonly inPath: readonly string[] }>();
  const patterns: { readonly pattern: RegExp; readonly route: Route }[] = [];
  for (const [path, group] of byPath) {
    const route: Route = {
      isPublic: group.every(({ operation }) => operation.scope === "public"),
      isSigned: group.some(({ operation }) => operation.kind === "json" && operation.isSigned === true),
      endpoints: new Map(
        group.flatMap(({ operation: { method, kind }, endpoint }) => {
          const methods = method === "GET" && kind !== "stream" ? ["GET", "HEAD"] : [method];
          return methods.map((each) => [each, endpoint] as const);
        }),
      ),
    };
    if (path.includes("{")) patterns.push({ pattern: patternOf(path), route });
    else fixed.set(path, { route, inPath: [] });
  }
  return (path) => {
    const exact = fixed.get(path);
    if (exact !== undefined) return exact;
    for (const { pattern, route } of patterns) {
      const match = pattern.exec(path);
      if (match !== null) return { route, inPath: match.slice(1) };
    }
    return null;
  };
}

export function endpointOf({ endpoints }: Route, method: string): Endpoint {
  const endpoint = endpoints.get(method);
  if (endpoint !== undefined) return endpoint;
  const allowed = [...endpoints.keys()].join(", ");
  throw new HttpError("method.not_allowed", `this path takes ${allowed}`, { headers: ["Allow", allowed] });
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "([\\w-]{1,128})")}$`);
}

function answering(
  operation: AnyOperation & { readonly kind: "json" | "document" | "file" },
  call: CallOperation,
  { refuseProof, setCookie }: RouteParts,
): Endpoint {
  const read = inputReader(operation);
  const { scope, kind } = operation;
  const {
    status = 200,
    takesIdempotencyKey = false,
    takesIfMatch = false,
    isCancellable = false,
    hasEtag = false,
  } = operation.kind === "json" ? operation : {};
  const isRead = operation.method === "GET" && kind === "json";
  return {
    scope,
    async answer(request) {
      const input = await read(request);
      const idempotencyKey = takesIdempotencyKey ? readIdempotencyKey(request.head) : null;
      const ifMatch = takesIfMatch ? (request.head["if-match"] ?? null) : null;
      const gone = isCancellable ? { signal: signalOf(request.outgoing) } : {};
      const result = await call(input as never, {
        ...callerOf(request.grant, request.head, idempotencyKey),
        ifMatch,
        ...gone,
      });
      if (!result.ok) {
        const { retryAfterSeconds, problems } = result;
        if (result.code === "auth.required") throw refuseProof(result.message, request.head, request.incoming.socket);
        throw new HttpError(result.code, result.message, { retryAfterSeconds, problems });
      }
      if (kind === "file") return fileReply(result.value as ServedFile);
      const text = kind === "document" ? (result.value as string) : JSON.stringify(result.value);
      const known = isRead ? request.head["if-none-match"] : undefined;
      const etag = result.etag ?? (hasEtag || known !== undefined ? etagOf(text) : undefined);
      if (known !== undefined && etag !== undefined && isNamedIn(known, etag)) return unchangedReply(etag);
      const { cookie } = result;
      const headers = [
        ...(result.isReplay === true ? REPLAYED : []),
        ...(etag === undefined ? [] : ["etag", etag]),
        ...(cookie === undefined ? [] : ["set-cookie", setCookie(request.incoming.socket, cookie)]),
      ];
      return jsonReply(result.status ?? status, text, headers);
    },
  };
}

/** Aborted when the client has gone before its answer. */
function signalOf(outgoing: ServerResponse): AbortSignal {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  return gone.signal;
}

function streaming(
  operation: Extract<(typeof OPERATIONS)[number], { readonly kind: "stream" }>,
  client: OperationClient,
  openStream: OpenStream,
): Endpoint {
  const read = inputReader(operation);
  const { scope, name, encode } = operation;
  return {
    scope,
    async answer(request) {
      const input = await read(request);
      const after = request.head["last-event-id"] ?? null;
      const caller = callerOf(request.grant, request.head, null);
      const open = (signal: AbortSignal) => client.subscribe(name, input as never, after, signal, caller);
      return await openStream(request, open, encode);
    },
  };
}

export function callerOf(
  { ended: _ended, ...granted }: Grant,
  { "user-agent": userAgent }: Head,
  idempotencyKey: string | null,
): Caller {
  return { ...granted, ...(userAgent === undefined ? {} : { userAgent }), idempotencyKey };
}

const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;

export function readIdempotencyKey(head: Head): string | null {
  const key = head["idempotency-key"];
  if (key === undefined) return null;
  if (!IDEMPOTENCY_KEY.test(key)) throw invalidRequest("Idempotency-Key must be 1 to 255 printable ASCII characters");
  return key;
}
