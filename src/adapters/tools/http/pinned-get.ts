/**
 * One request over its own connection, to the vetted addresses only: the name in the URL is not looked up again, but TLS
 * verifies it. No redirect is followed, nothing is retried, no proxy is used, and no cookie, credential or detail of
 * the machine is sent.
 */
import { isIPv6, type LookupFunction } from "node:net";
import type { Client, Dispatcher } from "undici";
import { Defect } from "../../../kernel/vocabulary/defect.ts";
import { ACCEPTED_ENCODINGS, type Body, readBody } from "./read-body.ts";
import type { TargetUrl } from "./read-url.ts";

const CONNECT_TIMEOUT_MS = 8_000;
const HEAD_TIMEOUT_MS = 15_000;
/** Between two chunks of a body. */
const BODY_TIMEOUT_MS = 10_000;
const MAX_HEAD_BYTES = 16 * 1024;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

export interface PinnedAnswer extends Body {
  readonly status: number;
  /** A redirect's target; then there is no body. */
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
    const headers = { accept, "accept-encoding": ACCEPTED_ENCODINGS, "user-agent": "surety" };
    return await readAnswer(await client.request({ method: "GET", path: url.path, headers, signal, reset: true }));
  } finally {
    await client.destroy();
  }
}

/** The status of the answer; its body is not read. */
export async function pinnedPost(
  url: TargetUrl,
  addresses: readonly string[],
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
): Promise<number> {
  const client = await openClient(url, addresses, signal);
  try {
    const all = { ...headers, "user-agent": "surety" };
    const answer = await client.request({ method: "POST", path: url.path, headers: all, body, signal, reset: true });
    return answer.statusCode;
  } finally {
    await client.destroy();
  }
}

async function openClient(url: TargetUrl, addresses: readonly string[], signal: AbortSignal): Promise<Client> {
  const { Client } = await import("undici");
  const connection = { lookup: pinnedTo(addresses), signal, timeout: CONNECT_TIMEOUT_MS, maxCachedSessions: 0 };
  return new Client(url.origin, {
    connect: connection,
    headersTimeout: HEAD_TIMEOUT_MS,
    bodyTimeout: BODY_TIMEOUT_MS,
    maxHeaderSize: MAX_HEAD_BYTES,
    pipelining: 1,
    allowH2: false,
  });
}

/** Replaces the system's resolver. Sockets call it for the name in the URL, never for an address. */
function pinnedTo(addresses: readonly string[]): LookupFunction {
  const answers = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  const [first] = answers;
  if (first === undefined) throw new Defect("a request without an address");
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
  const encoding = header("content-encoding")?.trim().toLowerCase() || "identity";
  return { ...head, ...(await readBody(body, encoding.replace(/^x-/, ""))) };
}
