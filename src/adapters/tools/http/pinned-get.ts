/**
 * One GET, over one connection of its own, to addresses that somebody has vetted.
 *
 * P1. Only the given addresses are dialled. The name in the URL is not looked up again; it is what TLS verifies and what
 *     the server is told.
 * P2. It is asked once: no redirect is followed, nothing is tried again, no proxy is in between.
 * P3. No cookie, no credential and nothing about the machine is sent; the connection is closed when this is over, or
 *     the signal aborts, a half-made one too.
 * P4. Heads are bounded by the HTTP library, bodies by `read-body.ts`, waiting by the times below and by the signal.
 */
import { isIPv6, type LookupFunction } from "node:net";
import type { Client, Dispatcher } from "undici";
import { Defect } from "../../../kernel/vocabulary/defect.ts";
import { type Body, OFFERED_PACKINGS, readBody } from "./read-body.ts";
import type { TargetUrl } from "./read-url.ts";

const CONNECT_TIMEOUT_MS = 8_000;
const HEAD_TIMEOUT_MS = 15_000;
/** Between two pieces of a body. */
const PIECE_TIMEOUT_MS = 10_000;
const MAX_HEAD_BYTES = 16 * 1024;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

export interface PinnedAnswer extends Body {
  readonly status: number;
  /** Where to go instead; there is no body then. */
  readonly location: string | null;
  readonly contentType: string | null;
  readonly cacheControl: string | null;
}

export async function pinnedGet(
  url: TargetUrl,
  addresses: readonly string[],
  accept: string,
  signal: AbortSignal,
): Promise<PinnedAnswer> {
  const client = await openClient(url, addresses, signal);
  try {
    const headers = { accept, "accept-encoding": OFFERED_PACKINGS, "user-agent": "surety" };
    return await readAnswer(await client.request({ method: "GET", path: url.path, headers, signal, reset: true }));
  } finally {
    await client.destroy();
  }
}

/** Loaded with the first request: a gateway that starts has nothing to ask yet. */
async function openClient(url: TargetUrl, addresses: readonly string[], signal: AbortSignal): Promise<Client> {
  const { Client } = await import("undici");
  const connection = { lookup: pinnedTo(addresses), signal, timeout: CONNECT_TIMEOUT_MS, maxCachedSessions: 0 };
  return new Client(url.origin, {
    connect: connection,
    headersTimeout: HEAD_TIMEOUT_MS,
    bodyTimeout: PIECE_TIMEOUT_MS,
    maxHeaderSize: MAX_HEAD_BYTES,
    pipelining: 1,
    allowH2: false,
  });
}

/** Stands in for the system's resolver. Sockets ask it for the name in the URL, and never for an address. */
function pinnedTo(addresses: readonly string[]): LookupFunction {
  const answers = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  const [first] = answers;
  if (first === undefined) throw new Defect("a request to no address");
  return (_name, options, callback) => {
    if (options.all) callback(null, answers);
    else callback(null, first.address, first.family);
  };
}

async function readAnswer({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<PinnedAnswer> {
  const header = (name: string): string | null => {
    const value = headers[name];
    return (Array.isArray(value) ? value[0] : value) ?? null;
  };
  const location = REDIRECTS.includes(statusCode) ? header("location") : null;
  const head = {
    status: statusCode,
    location,
    contentType: header("content-type"),
    cacheControl: header("cache-control"),
  };
  if (location !== null) return { ...head, bytes: new Uint8Array(), isCut: false };
  const packing = header("content-encoding")?.trim().toLowerCase() || "identity";
  return { ...head, ...(await readBody(body, packing.replace(/^x-/, ""))) };
}
