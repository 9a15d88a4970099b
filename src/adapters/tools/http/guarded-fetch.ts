/**
 * Every fetch for the agent goes through here: the address policy checks the URL, its name is looked up once, every
 * address is vetted, and only those are dialled. One forbidden address refuses them all, since the choice among them
 * would be chance. A redirect is treated like the first URL. No state is carried from one request to the next.
 */
import { lookup } from "node:dns/promises";
import { addAbortListener } from "node:events";
import type { ErrorCode } from "../../../kernel/vocabulary/error-code.ts";
import type { Clock } from "../../../runtime/ports/clock.ts";
import { errnoOf } from "../fs/fs-failure.ts";
import { ToolFailure } from "../tool-failure.ts";
import { createAddressPolicy } from "./address-policy.ts";
import { type PinnedAnswer, pinnedGet } from "./pinned-get.ts";
import { readRedirect, type TargetUrl } from "./read-url.ts";

/** Less than the default tool timeout, so that the error names the slow server. */
const TOTAL_MS = 25_000;
const MAX_REDIRECTS = 5;

export type Resolve = (host: string) => Promise<readonly string[]>;

export interface GuardedFetchOptions {
  readonly clock: Pick<Clock, "wake">;
  /** The operator's exceptions to the address policy, `host:port`. */
  readonly allowAddresses: readonly string[];
  /** Absent: the system's resolver. */
  readonly resolve?: Resolve | undefined;
}

export interface GuardedRequest {
  readonly url: TargetUrl;
  /** Checked for the host of every redirect: policy decided about the first host only. */
  readonly mayReach: (host: string) => boolean;
  readonly accept: string;
  readonly signal: AbortSignal;
}

export interface Fetched extends Omit<PinnedAnswer, "location"> {
  /** The final URL. */
  readonly url: TargetUrl;
}

export interface GuardedFetch {
  /** Throws if the URL is refused without a network request. */
  check(url: TargetUrl): void;
  get(request: GuardedRequest): Promise<Fetched>;
}

export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const { clock, resolve = systemResolve } = options;
  const policy = createAddressPolicy(options.allowAddresses);

  async function addressesOf(url: TargetUrl, signal: AbortSignal): Promise<readonly string[]> {
    policy.checkUrl(url);
    const found = url.address === null ? await orAborted(resolve(url.host), signal) : [url.address];
    if (found.length === 0) throw new ToolFailure("invalid.request", `${url.host} has no address.`);
    return found.map((address) => policy.vetAddress(url, address));
  }

  async function request(url: TargetUrl, accept: string, signal: AbortSignal): Promise<PinnedAnswer> {
    try {
      return await pinnedGet(url, await addressesOf(url, signal), accept, signal);
    } catch (error) {
      throw signal.aborted ? error : (fetchFailure(error, url.host) ?? error);
    }
  }

  async function follow({ url: first, mayReach, accept }: GuardedRequest, signal: AbortSignal): Promise<Fetched> {
    let url = first;
    for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
      const { location, ...answer } = await request(url, accept, signal);
      if (location === null) return { ...answer, url };
      url = nextHop(url, location, mayReach);
    }
    throw new ToolFailure("invalid.request", `${first.href} redirects more than ${MAX_REDIRECTS} times.`);
  }

  return {
    check: policy.checkUrl,
    async get(wanted) {
      const deadline = new AbortController();
      const cancelTimer = clock.wake(TOTAL_MS, () => deadline.abort());
      try {
        return await follow(wanted, AbortSignal.any([wanted.signal, deadline.signal]));
      } catch (error) {
        wanted.signal.throwIfAborted();
        if (deadline.signal.aborted) throw tooSlow(wanted.url);
        throw error;
      } finally {
        cancelTimer();
      }
    },
  };
}

function nextHop(url: TargetUrl, location: string, mayReach: GuardedRequest["mayReach"]): TargetUrl {
  const next = readRedirect(location, url);
  if (!mayReach(next.host)) {
    throw redirectRefused(url, next, "another host, which needs a decision of its own. Fetch that URL in a new call");
  }
  if (url.isSecure && !next.isSecure) throw redirectRefused(url, next, "which is no longer encrypted");
  return next;
}

function redirectRefused(url: TargetUrl, next: TargetUrl, problem: string): ToolFailure {
  return new ToolFailure("policy.denied", `${url.href} redirects to ${next.href}, ${problem}.`, {
    details: { redirect: next.href },
  });
}

function tooSlow({ host }: TargetUrl): ToolFailure {
  const message = `${host} did not finish within ${TOTAL_MS / 1000} seconds: try again later.`;
  return new ToolFailure("timeout", message, { retryable: true, details: { host } });
}

export async function systemResolve(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** The system's resolver cannot be cancelled, only abandoned. */
async function orAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  using _listening = addAbortListener(signal, () => reject(signal.reason));
  return await Promise.race([work, aborted]);
}

type Expectation = readonly [error: RegExp, code: ErrorCode, problem: string, retryable: boolean];

/**
 * Codes of Node, its resolver, TLS, zlib and undici; the first match counts. An error not listed here is a defect.
 * Messages quote nothing sent or received.
 */
const EXPECTED: readonly Expectation[] = [
  [/TIMEOUT$|^ETIMEDOUT$/, "timeout", "did not answer in time: try again later", true],
  [/^(?:ENOTFOUND|ENODATA|EAI_NONAME)$/, "invalid.request", "is an unknown host: check the spelling", false],
  [/^EAI_/, "invalid.request", "could not be looked up: try again", true],
  [/^E(?:HOST|NET)UNREACH$|^EADDRNOTAVAIL$/, "invalid.request", "is unreachable from here", true],
  [/^(?:ECONNREFUSED|EACCES|EPERM)$/, "invalid.request", "refuses connections on that port", true],
  [/^(?:ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET)$/, "invalid.request", "closed the connection", true],
  [/^HPE_|^UND_ERR_(?:HEADERS_OVERFLOW|RES_)/, "invalid.request", "answered with something that is not HTTP", false],
  [/^Z_|^ERR__ERROR_/, "invalid.request", "sent a body that cannot be decompressed", false],
  [
    /CERT|^ERR_(?:TLS|SSL)_|^EPROTO$|^UNABLE_TO_|^INVALID_CA$|^HOSTNAME_MISMATCH$/,
    "invalid.request",
    "has no valid and trusted certificate, so nothing was requested",
    false,
  ],
];

export function fetchFailure(cause: unknown, host: string): ToolFailure | null {
  // undici's HTTPParserError may have no code.
  const isParserError = cause instanceof Error && cause.name === "HTTPParserError";
  const errno = errnoOf(cause) ?? (isParserError ? "HPE_UNKNOWN" : "");
  const expected = EXPECTED.find(([pattern]) => pattern.test(errno));
  if (expected === undefined) return null;
  const [, code, problem, retryable] = expected;
  return new ToolFailure(code, `${host} ${problem} (${errno}).`, { retryable, details: { host }, cause });
}
