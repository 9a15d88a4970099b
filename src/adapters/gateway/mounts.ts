/**
 * Between Node's HTTP and what is mounted (`Request` → `Response`).
 *
 * Q1. A path is matched as it was written, like those of operations; a spelling that a URL parser would change matches
 *     nothing below a prefix.
 * Q2. Node loads the classes of fetch at their first use, a fifth of the start-up time: only mounts use them.
 * Q3. Backpressure: a mount is asked for the next bytes once the client has taken those before. A client that takes nothing
 *     for half a minute is disconnected.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Mount, Serve } from "../../runtime/operations/mount.ts";
import type { Caller } from "../../runtime/operations/operation.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import { HttpError } from "./http-error.ts";
import { MAX_BODY_BYTES, readBody } from "./read-body.ts";
import type { Head } from "./read-head.ts";
import type { Reply } from "./reply.ts";
import { endWith, writeAll } from "./write-text.ts";

const BELOW = "/*";
/** The mount learns who calls from `Caller`. */
const CREDENTIALS: ReadonlySet<string> = new Set(["authorization", "cookie", "proxy-authorization"]);

/** Null: nothing is mounted there. */
export type FindMount = (path: string) => Mount | null;

export function createMounts(mounts: readonly Mount[]): FindMount {
  const exact = new Map<string, Mount>();
  const below: { readonly prefix: string; readonly mount: Mount }[] = [];
  for (const mount of mounts) {
    for (const path of mount.paths) {
      if (path.endsWith(BELOW)) below.push({ prefix: path.slice(0, -1), mount });
      else exact.set(path, mount);
    }
  }
  below.sort((one, other) => other.prefix.length - one.prefix.length);
  return (path) => {
    const found = exact.get(path) ?? below.find(({ prefix }) => path.startsWith(prefix))?.mount ?? null;
    return found === null || exact.has(path) || isPlain(path) ? found : null;
  };
}

export interface MountCall {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly head: Head;
  readonly caller: Caller;
  /** Aborted when the client disconnects or the gateway stops. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

const loaded = new WeakMap<Mount, Promise<Serve>>();

export async function answerFrom(mount: Mount, call: MountCall): Promise<Reply> {
  const { incoming, outgoing, head, caller, signal, clock } = call;
  const method = methodFor(mount, incoming.method);
  const bytes = await readBody(incoming, head, mount.maxBodyBytes ?? MAX_BODY_BYTES);
  const serve = await loadOnce(mount);
  const response = await serve(requestOf(incoming, head, method, bytes, signal), caller);
  const { body } = response;
  const isBodyWanted = incoming.method !== "HEAD";
  return {
    status: response.status,
    headers: [...response.headers].flat(),
    async body() {
      if (isBodyWanted && body !== null) await writeStream(outgoing, body, clock);
      else await body?.cancel();
      await endWith(outgoing, "", clock);
    },
  };
}

function methodFor({ methods }: Mount, method = ""): string {
  const asked = method === "HEAD" ? "GET" : method;
  if (methods.includes(asked)) return asked;
  const allowed = methods.flatMap((each) => (each === "GET" ? ["GET", "HEAD"] : [each])).join(", ");
  throw new HttpError("method.not_allowed", `this path takes ${allowed}`, { headers: ["Allow", allowed] });
}

/** A load that failed is tried again at the next request. */
function loadOnce(mount: Mount): Promise<Serve> {
  let serve = loaded.get(mount);
  if (serve === undefined) {
    serve = mount.load();
    loaded.set(mount, serve);
    serve.catch(() => loaded.delete(mount));
  }
  return serve;
}

function requestOf(
  { rawHeaders, url = "/" }: IncomingMessage,
  { host = "" }: Head,
  method: string,
  bytes: Uint8Array<ArrayBuffer>,
  signal: AbortSignal,
): Request {
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (!CREDENTIALS.has(name.toLowerCase())) headers.append(name, rawHeaders[at + 1] ?? "");
  }
  return new Request(`http://${host}${url}`, { method, headers, signal, ...(method === "GET" ? {} : { body: bytes }) });
}

async function writeStream(outgoing: ServerResponse, body: ReadableStream<Uint8Array>, clock: Clock): Promise<void> {
  const reader = body.getReader();
  // A read that waits ends with it.
  const stop = (): void => {
    reader.cancel().catch(() => {});
  };
  outgoing.once("close", stop);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || outgoing.destroyed) return;
      await writeAll(outgoing, value, clock);
    }
  } finally {
    outgoing.off("close", stop);
  }
}

function isPlain(path: string): boolean {
  return URL.parse(path, "http://gateway")?.pathname === path;
}
