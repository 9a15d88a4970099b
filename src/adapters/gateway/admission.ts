/**
 * Admission of a request or upgrade: Host, Origin and credential, in this order, before anything else is read.
 *
 * G1. Accepted Hosts: loopback names, the configured host, the address that was dialled, the proxy's name, and those in
 *     gateway.allowedHosts. A page whose own name was rebound to this machine (DNS rebinding) sends that name and is refused.
 * G2. Accepted Origins: the gateway's own, also through its proxy, and those in gateway.allowedOrigins.
 * G3. Loopback is no proof of identity: everything but public operations needs a token.
 * G4. Tokens and cookies are found by their digests: timing depends on the caller's input alone.
 * G5. An address that keeps sending wrong tokens, cookies or login codes gets a 429; the right one always passes
 *     (wrong-tokens.ts). A refused Host or Origin does not count.
 * G6. Browsers send a cookie unasked, also for pages of other sites. So it counts only where the request says that it comes
 *     from a page of this gateway: always where something changes and for an upgrade, elsewhere if the browser says anything.
 * G7. Only the named proxy is believed when it says whom it speaks for, and only the address that it added itself.
 */
import { hash } from "node:crypto";
import { isIP } from "node:net";
import type { Credentials, Grant } from "../../runtime/access/grant.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import { bracketed, type CallerSocket, plainAddress, type TrustedProxy } from "./caller-socket.ts";
import { HttpError, invalidRequest } from "./http-error.ts";
import type { Head } from "./read-head.ts";
import type { SessionCookie } from "./session-cookie.ts";
import { WrongTokens } from "./wrong-tokens.ts";

const LOOPBACK_NAMES = ["127.0.0.1", "localhost", "[::1]"];
const AUTHORITY = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?$/;
const SCHEME = "bearer ";
/** A browser cannot set a header on an upgrade, but it can offer a subprotocol. */
export const TOKEN_SUBPROTOCOL = "surety.bearer.";

/** Anything else may change something. */
const READING: ReadonlySet<string> = new Set(["GET", "HEAD"]);

export interface Admission {
  /** Host and Origin: all that is asked of a caller of a public operation. */
  checkSite(head: Head, socket: CallerSocket): void;
  /** Who is it? Host and Origin were checked. */
  identify(method: string, head: Head, socket: CallerSocket): Grant;
  /** Both, for an upgrade. */
  admit(head: Head, socket: CallerSocket): Grant;
  /** Counts what was to prove who asks, and did not; the error to answer with. */
  refuseProof(message: string, head: Head, socket: CallerSocket): HttpError;
  /** Where the request comes from. */
  addressOf(head: Head, socket: CallerSocket): string;
  /** Whether gateway.allowedOrigins lists it. */
  isAllowedSite(origin: string | undefined): origin is string;
}

/** Of the configuration as it is now. */
export interface Sites {
  /** Names of this gateway beside those it knows. */
  readonly allowedHosts: readonly string[];
  /** Other sites whose pages may call: `https://example.org`. */
  readonly allowedOrigins: readonly string[];
}

interface AdmissionRules {
  readonly credentials: Credentials;
  readonly cookie: SessionCookie;
  readonly sites: () => Sites;
  readonly proxy: TrustedProxy | null;
  readonly listenHost: string;
  readonly clock: Pick<Clock, "monotonicMs" | "nowMs">;
}

export function createAdmission(rules: AdmissionRules): Admission {
  const { credentials, cookie, sites, proxy, listenHost, clock } = rules;
  const front = proxy === null ? null : new URL(proxy.url);
  const names = new Set([...LOOPBACK_NAMES, bracketed(listenHost.toLowerCase()), ...(front ? [front.hostname] : [])]);
  const wrongTokens = new WrongTokens(clock);

  const admission: Admission = {
    checkSite(head, { localAddress }) {
      const host = head.host?.toLowerCase();
      if (host === undefined) throw invalidRequest("the Host header is missing");
      const name = AUTHORITY.exec(host)?.[1];
      const isDialled = localAddress !== undefined && name === bracketed(plainAddress(localAddress));
      if (name === undefined || !(isDialled || names.has(name) || sites().allowedHosts.includes(name))) {
        throw new HttpError("auth.forbidden", "this Host is not served here");
      }
      const { origin } = head;
      const isOwn = origin === undefined || [`http://${host}`, `https://${host}`, front?.origin].includes(origin);
      if (isOwn || admission.isAllowedSite(origin)) return;
      throw new HttpError("auth.forbidden", "this Origin is not in gateway.allowedOrigins");
    },

    identify(method, head, socket) {
      const token = tokenIn(head);
      if (token !== null) {
        const grant = token === "" ? null : credentials.findToken(digestOf(token));
        if (grant !== null) return grant;
        throw admission.refuseProof("this token is not the right one", head, socket);
      }
      const secret = cookie.read(head, socket);
      if (secret === null) throw unauthorized("a token is required: Authorization: Bearer <token>", "");
      const isReading = READING.has(method) && !isUpgrade(head);
      if (!isFromOwnPage(head, front, isReading)) {
        throw new HttpError("auth.forbidden", "a cookie counts only for a page of this gateway: send its Origin");
      }
      const grant = credentials.findBrowser(digestOf(secret));
      if (grant !== null) return grant;
      const { code, message, headers } = admission.refuseProof("this browser is not signed in any more", head, socket);
      // It would be sent, and counted, again and again.
      const taken = ["Set-Cookie", cookie.write(socket, null, clock.nowMs())];
      throw new HttpError(code, message, { headers: [...headers, ...taken] });
    },

    addressOf({ "x-forwarded-for": forwarded }, { remoteAddress = "" }) {
      const address = plainAddress(remoteAddress);
      const named = proxy?.from.includes(address) ? (forwarded?.split(",").at(-1)?.trim() ?? "") : "";
      return isIP(named) === 0 ? address : named;
    },

    refuseProof(message, head, socket) {
      const waitMs = wrongTokens.add(admission.addressOf(head, socket));
      return waitMs > 0 ? tooManyWrong(waitMs) : unauthorized(message, ', error="invalid_token"');
    },

    admit(head, socket) {
      admission.checkSite(head, socket);
      return admission.identify("GET", head, socket);
    },

    isAllowedSite: (origin): origin is string => origin !== undefined && sites().allowedOrigins.includes(origin),
  };
  return admission;
}

/** Null: there is none. Empty when another scheme is used. */
function tokenIn(head: Head): string | null {
  const { authorization, "sec-websocket-protocol": offered } = head;
  if (authorization !== undefined) {
    return authorization.slice(0, SCHEME.length).toLowerCase() === SCHEME ? authorization.slice(SCHEME.length) : "";
  }
  const subprotocols = isUpgrade(head) ? (offered ?? "").split(",").map((name) => name.trim()) : [];
  return subprotocols.find((name) => name.startsWith(TOKEN_SUBPROTOCOL))?.slice(TOKEN_SUBPROTOCOL.length) ?? null;
}

function isUpgrade({ upgrade }: Head): boolean {
  return upgrade?.toLowerCase() === "websocket";
}

/** Host and Origin were checked, so an Origin of another authority is one in gateway.allowedOrigins. */
function isFromOwnPage({ host, origin, "sec-fetch-site": site }: Head, front: URL | null, isReading: boolean): boolean {
  const isOwn = origin === undefined || origin === front?.origin || URL.parse(origin)?.host === hostIn(host);
  if (!isOwn) return false;
  if (site !== undefined) return site === "same-origin" || (isReading && site === "none");
  return isReading || origin !== undefined;
}

function digestOf(secret: string): string {
  return hash("sha256", secret);
}

function unauthorized(message: string, detail: string): HttpError {
  return new HttpError("auth.required", message, {
    headers: ["WWW-Authenticate", `Bearer realm="surety"${detail}`],
  });
}

function tooManyWrong(waitMs: number): HttpError {
  const seconds = String(Math.ceil(waitMs / 1000));
  return new HttpError("auth.rate_limited", `too many wrong tokens came from your address: wait ${seconds} s`, {
    headers: ["Retry-After", seconds],
  });
}

/** As a URL has it: without the port that goes without saying. */
function hostIn(host = ""): string {
  return URL.parse(`https://${host}`)?.host ?? "";
}
