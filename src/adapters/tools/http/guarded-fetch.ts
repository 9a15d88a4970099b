/**
 * The one way anything is fetched on the agent's behalf.
 *
 * G1. A URL is checked by the address policy, its name looked up once, every address it leads to vetted, and only those
 *     are dialled. One forbidden address among them refuses them all: which one is used would be chance.
 * G2. Every redirect is a URL like the first: read, put to the caller, checked, looked up, vetted, dialled anew. At most
 *     MAX_REDIRECTS of them, and none from https to http.
 * G3. Nothing that belongs to one request is sent with the next.
 * G4. All hops together end within TOTAL_MS, and at once when the signal aborts.
 */
import { lookup } from "node:dns/promises";
import type { Clock } from "../../../runtime/ports/clock.ts";
import { ToolFailure } from "../tool-failure.ts";
import { createAddressPolicy } from "./address-policy.ts";
import { fetchFailure } from "./fetch-failure.ts";
import { type PinnedAnswer, pinnedGet } from "./pinned-get.ts";
import { readRedirect, type TargetUrl } from "./read-url.ts";

/** Less than a tool is given by default, so that a slow server is told as one. */
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
  /** Asked about the host of every redirect: what was decided about was the first host. */
  readonly mayReach: (host: string) => boolean;
  readonly accept: string;
  readonly signal: AbortSignal;
}

export interface Fetched extends Omit<PinnedAnswer, "location"> {
  /** Where it came from in the end. */
  readonly url: TargetUrl;
}

export interface GuardedFetch {
  /** Throws what can be said about a URL without asking anybody. */
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

  async function ask(url: TargetUrl, accept: string, signal: AbortSignal): Promise<PinnedAnswer> {
    try {
      return await pinnedGet(url, await addressesOf(url, signal), accept, signal);
    } catch (error) {
      throw signal.aborted ? error : (fetchFailure(error, url.host) ?? error);
    }
  }

  async function follow({ url: first, mayReach, accept }: GuardedRequest, signal: AbortSignal): Promise<Fetched> {
    let url = first;
    for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
      const { location, ...answer } = await ask(url, accept, signal);
      if (location === null) return { ...answer, url };
      url = nextHop(url, location, mayReach);
    }
    throw new ToolFailure("invalid.request", `${first.href} redirects more than ${MAX_REDIRECTS} times.`);
  }

  return {
    check: policy.checkUrl,
    async get(request) {
      const deadline = new AbortController();
      const callOff = clock.wake(TOTAL_MS, () => deadline.abort());
      try {
        return await follow(request, AbortSignal.any([request.signal, deadline.signal]));
      } catch (error) {
        request.signal.throwIfAborted();
        if (deadline.signal.aborted) throw tooSlow(request.url);
        throw error;
      } finally {
        callOff();
      }
    },
  };
}

function nextHop(url: TargetUrl, location: string, mayReach: GuardedRequest["mayReach"]): TargetUrl {
  const next = readRedirect(location, url);
  if (!mayReach(next.host)) {
    const advice = "another host, which nobody has decided about yet. Ask for that URL by a call of its own";
    throw redirectRefused(url, next, advice);
  }
  if (url.isSecure && !next.isSecure) throw redirectRefused(url, next, "which is not encrypted any more");
  return next;
}

function redirectRefused(url: TargetUrl, next: TargetUrl, problem: string): ToolFailure {
  return new ToolFailure("policy.denied", `${url.href} redirects to ${next.href}, ${problem}.`, {
    details: { redirect: next.href },
  });
}

function tooSlow({ host }: TargetUrl): ToolFailure {
  const message = `${host} was not done within ${TOTAL_MS / 1000} seconds: try again later.`;
  return new ToolFailure("timeout", message, { retryable: true, details: { host } });
}

async function systemResolve(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** The system's resolver cannot be stopped, only left alone. */
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
