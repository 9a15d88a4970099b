/**
 * Every fetch for the agent goes through here.
 *
 * G1. The address policy checks a URL, its name is looked up once, every address is vetted, and only those are dialled.
 *     One forbidden address refuses them all, since the choice among them would be chance.
 * G2. A redirect is treated like the first URL: parsed, checked with the caller, looked up and vetted. At most
 *     MAX_REDIRECTS, and none from https to http.
 * G3. No state is carried from one request to the next.
 * G4. All hops together end within TOTAL_MS, and at once when the signal aborts.
 */
import { lookup } from "node:dns/promises";
import type { Clock } from "../../../runtime/ports/clock.ts";
import { ToolFailure } from "../tool-failure.ts";
import { createAddressPolicy } from "./address-policy.ts";
import { fetchFailure } from "./fetch-failure.ts";
import { type PinnedAnswer, pinnedGet } from "./pinned-get.ts";
import { readRedirect, type TargetUrl } from "./read-url.ts";

/** Less than the default tool timeout, so that the error names the slow server. */
const TOTAL_MS = 25_000;
const MAX_REDIRECTS = 5;

/** All addresses of a host, as text. */
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

async function systemResolve(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** The system's resolver cannot be cancelled, only abandoned. */
async function orAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  try {
    signal.throwIfAborted();
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
