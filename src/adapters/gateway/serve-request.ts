/**
 * One request from its head to its last byte.
 *
 * W1. Checks come in one order: Host and Origin, token, path, method, scope, input; of a mount
 *     scope before method. Without the token a caller does not learn which paths exist, but for those that are public.
 * W2. Every error has the one shape. An internal error shows an id, never what failed.
 * W3. A stream ends when its client disconnects, its token no longer counts or the gateway stops, and drops its subscription.
 * W4. A gateway that stops answers what is under way and what only reads; anything else is a 503.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { OperationClient } from "../../assistant/operations.ts";
import { ANONYMOUS, type Grant } from "../../runtime/access/grant.ts";
import { GATEWAY_STOPPING, type Mount } from "../../runtime/operations/mount.ts";
import { METHODS, type Scope } from "../../runtime/operations/operation.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import { StoreError, type StoreErrorCode } from "../../runtime/ports/store.ts";
import type { Admission } from "./admission.ts";
import { EVENT_STREAM_HEADERS, streamEvents } from "./event-stream.ts";
import type { GatewayServices } from "./gateway-operations.ts";
import { HttpError } from "./http-error.ts";
import { answerFrom, createMounts } from "./mounts.ts";
import { discardBody, hasBody } from "./read-body.ts";
import { type Head, readHead } from "./read-head.ts";
import { jsonReply, NOTHING_MORE, type Reply } from "./reply.ts";
import { callerOf, createRoutes, endpointOf, type OpenStream, type RouteParts, readIdempotencyKey } from "./routes.ts";
import type { SessionCookie } from "./session-cookie.ts";
import { WebhookBudget } from "./webhook-budget.ts";
import { endWith } from "./write-text.ts";

/** The store may work again in a moment. */
const TRANSIENT: ReadonlySet<StoreErrorCode> = new Set(["store.unavailable", "store.busy", "store.closed"]);
const NOT_SNIFFED: readonly string[] = ["x-content-type-options", "nosniff"];
/** Nothing is cached unless a mount says so. In lower case: Node would convert other names for every answer. */
const PROTECTIVE_HEADERS: readonly string[] = [...NOT_SNIFFED, "cache-control", "no-store"];
const PREFLIGHT_REPLY = jsonReply(200, "{}", [
  "Access-Control-Allow-Methods",
  METHODS.join(", "),
  "Access-Control-Allow-Headers",
  "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID",
]);

/** A client that reads none of its answer is cut off; these bound the others. */
export interface StreamLimits {
  readonly ofOneCredential: number;
  /** Of a credential that speaks for one sender. */
  readonly ofASender: number;
  readonly inAll: number;
}

export const STREAM_LIMITS: StreamLimits = { ofOneCredential: 1_024, ofASender: 64, inAll: 4_096 };
const STOPPING = "The gateway stops: ask again when it has started.";

interface RequestServerDependencies {
  readonly operations: OperationClient;
  readonly mounts: readonly Mount[];
  readonly admission: Admission;
  readonly cookie: SessionCookie;
  readonly clock: Clock;
  readonly isHealthy: () => boolean;
  readonly streamLimits: StreamLimits;
  readonly prove: GatewayServices["prove"];
  /** A request on this connection has shown a credential that counts. */
  readonly onProven: (socket: Socket) => void;
  readonly onError: (error: unknown, errorId: string) => void;
  readonly onRefused: OnRefused;
}

/** A caller was not let in: by Host, Origin, token or scope. Never what it sent. */
export type OnRefused = (refusal: {
  readonly code: string;
  readonly address: string;
  readonly message: string;
}) => void;

export interface RequestServer {
  serve(incoming: IncomingMessage, outgoing: ServerResponse): void;
  /** For failures outside any request. */
  report(error: unknown): HttpError;
  /** For a request or an upgrade that was not served. */
  refuse(error: unknown, head: Head, socket: Socket): HttpError;
  /** Ends every stream, later ones included, and takes nothing more that changes something. */
  stop(): void;
}

export function createRequestServer(dependencies: RequestServerDependencies): RequestServer {
  const { operations, mounts, admission, cookie, clock, isHealthy, streamLimits, prove } = dependencies;
  const { onProven, onError, onRefused } = dependencies;
  const streams = new Set<AbortController>();
  const streamsOf = new Map<string, number>();
  const budget = new WebhookBudget(clock);
  let isStopping = false;
  let failures = 0;

  const report = (error: unknown): HttpError => {
    if (error instanceof HttpError) return error;
    if (error instanceof StoreError && TRANSIENT.has(error.code)) {
      return new HttpError("store.unavailable", "Storage is unavailable; retry.");
    }
    // The message names what is damaged and what to do, never content.
    if (error instanceof StoreError && error.code === "store.corrupt") return new HttpError("conflict", error.message);
    failures += 1;
    const errorId = `err_${clock.nowMs().toString(36)}_${failures}`;
    onError(error, errorId);
    return new HttpError("internal.error", `Internal error; see log entry ${errorId}.`);
  };

  const refuse = (error: unknown, head: Head, socket: Socket): HttpError => {
    const refusal = report(error);
    const { code, message } = refusal;
    if (code.startsWith("auth.")) onRefused({ code, message, address: admission.addressOf(head, socket) });
    return refusal;
  };

  const countStream = ({ principal, credentialId = principal, sender }: Grant): string => {
    const open = streamsOf.get(credentialId) ?? 0;
    const limit = sender === null ? streamLimits.ofOneCredential : streamLimits.ofASender;
    if (streams.size >= streamLimits.inAll || open >= limit) {
      throw new HttpError("queue.full", "too many answers of this credential are under way: close some");
    }
    streamsOf.set(credentialId, open + 1);
    return credentialId;
  };

  /** Aborted when the client disconnects, its token no longer counts or the gateway stops. */
  const endingOf = (outgoing: ServerResponse, grant: Grant): AbortController => {
    const ending = new AbortController();
    const credential = countStream(grant);
    const end = (): void => {
      if (!streams.delete(ending)) return;
      const left = (streamsOf.get(credential) ?? 1) - 1;
      if (left === 0) streamsOf.delete(credential);
      else streamsOf.set(credential, left);
      grant.ended.removeEventListener("abort", end);
      ending.abort();
    };
    streams.add(ending);
    grant.ended.addEventListener("abort", end);
    outgoing.on("close", end);
    if (isStopping) ending.abort(GATEWAY_STOPPING);
    return ending;
  };

  const openStream: OpenStream = async ({ outgoing, grant }, open, encode) => {
    const ending = endingOf(outgoing, grant);
    const subscription = await open(ending.signal);
    if (!subscription.ok || subscription.isOver) {
      ending.abort();
      if (subscription.ok) return NOTHING_MORE;
      throw new HttpError(subscription.code, subscription.message);
    }
    const { updates } = subscription;
    const onFailure = (error: unknown) => report(error).body;
    const body = () => streamEvents({ outgoing, updates, encode, signal: ending.signal, clock, onFailure });
    return { status: 200, headers: EVENT_STREAM_HEADERS, body };
  };

  const setCookie: RouteParts["setCookie"] = (socket, set) => cookie.write(socket, set, clock.nowMs());
  const mountAt = createMounts(mounts);
  const findRoute = createRoutes(
    operations,
    { isHealthy: () => !isStopping && isHealthy(), prove },
    { openStream, refuseProof: admission.refuseProof, setCookie },
  );

  // Not async: a refusal of the head is sent before the parser can fail on the body.
  const answer = (incoming: IncomingMessage, outgoing: ServerResponse, head: Head): Promise<Reply> => {
    const { method = "", url = "" } = incoming;
    admission.checkSite(head, incoming.socket);
    if (method === "OPTIONS" && isPreflight(head, admission)) return Promise.resolve(PREFLIGHT_REPLY);
    const path = pathOf(url);
    const found = findRoute(path);
    const mount = found === null ? mountAt(path) : null;
    const isPublic = found?.route.isPublic ?? mount?.scope === "public";
    const isReading = method === "GET" || method === "HEAD";
    if (found?.route.isSigned) budget.take(admission.addressOf(head, incoming.socket));
    const grant = isPublic ? ANONYMOUS : admission.identify(method, head, incoming.socket);
    if (!isPublic) onProven(incoming.socket);
    if (isStopping && !isReading) throw new HttpError("gateway.stopping", STOPPING);
    if (mount !== null) {
      checkScope(grant, mount.scope);
      const caller = callerOf(grant, head, readIdempotencyKey(head));
      return answerFrom(mount, { incoming, outgoing, head, caller, signal: endingOf(outgoing, grant).signal, clock });
    }
    if (found === null) throw new HttpError("not_found", "no such path");
    const { scope, answer: answerWith } = endpointOf(found.route, method);
    checkScope(grant, scope);
    const query = url.slice(path.length + 1);
    return answerWith({ incoming, outgoing, head, inPath: found.inPath, query, grant });
  };

  const send = (
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    head: Head,
    { status, headers, body }: Reply,
  ): void => {
    if (!incoming.complete && mayHaveBody(head)) discardBody(incoming);
    const more = admission.isAllowedSite(head.origin)
      ? ["Access-Control-Allow-Origin", head.origin, "Vary", "Origin"]
      : [];
    const isCacheStated = headers.includes("cache-control");
    outgoing.writeHead(status, [...headers, ...(isCacheStated ? NOT_SNIFFED : PROTECTIVE_HEADERS), ...more]);
    const sent = typeof body === "function" ? body() : endWith(outgoing, body, clock);
    sent.catch((error: unknown) => {
      report(error);
      outgoing.destroy();
    });
  };

  return {
    async serve(incoming, outgoing) {
      let head: Head = {};
      let reply: Reply;
      try {
        head = readHead(incoming.rawHeaders);
        reply = await answer(incoming, outgoing, head);
      } catch (error) {
        reply = errorReply(refuse(error, head, incoming.socket), mountAt(pathOf(incoming.url)));
      }
      send(incoming, outgoing, head, reply);
    },
    report,
    refuse,
    stop() {
      isStopping = true;
      for (const ending of streams) ending.abort(GATEWAY_STOPPING);
    },
  };
}

function pathOf(url = ""): string {
  const queryAt = url.indexOf("?");
  return queryAt === -1 ? url : url.slice(0, queryAt);
}

function checkScope({ scopes }: Grant, scope: Scope): void {
  if (!scopes.has(scope)) throw new HttpError("auth.forbidden", `this token lacks the scope ${scope}`);
}

function errorReply(error: HttpError, mount: Mount | null): Reply {
  const { status, code, message, headers } = error;
  const body = mount?.errorBody?.({ status, code, message }) ?? error.body;
  return jsonReply(status, JSON.stringify(body), headers);
}

function isPreflight(head: Head, admission: Admission): boolean {
  return head["access-control-request-method"] !== undefined && admission.isAllowedSite(head.origin);
}

/** An empty head is one that was refused unread. */
function mayHaveBody(head: Head): boolean {
  return head.host === undefined || hasBody(head);
}
