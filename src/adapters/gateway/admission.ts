/**
 * Admission of a request or upgrade: Host, Origin and credential, in this order, before anything else is read.
 *
 * G1. Accepted Hosts: loopback names, the configured host, or the address that was dialled. A page whose own name was
 *     rebound to this machine (DNS rebinding) sends that name and is refused.
 * G2. Accepted Origins: the gateway's own, and those in gateway.allowedOrigins.
 * G3. Loopback is no proof of identity: everything but public operations needs a token.
 * G4. Tokens and cookies are found by their digests: timing depends on the caller's input alone.
 * G5. An address that keeps sending wrong tokens, cookies or login codes gets a 429; the right one always passes
 *     (wrong-tokens.ts). A refused Host or Origin does not count.
 * G6. Browsers send a cookie unasked, also for pages of other sites. So it counts only where the request says that it comes
 *     from a page of this gateway: always where something changes and for an upgrade, elsewhere if the browser says anything.
 */
import { hash } from "node:crypto";
import type { Credentials, Grant } from "../../runtime/access/grant.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { CallerSocket } from "./caller-socket.ts";
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
  refuseProof(message: string, socket: CallerSocket): HttpError;
  /** Whether gateway.allowedOrigins lists it. */
  isAllowedSite(origin: string | undefined): origin is string;
}

interface AdmissionRules {
  readonly credentials: Credentials;
  readonly cookie: SessionCookie;
  readonly allowedOrigins: readonly string[];
  readonly listenHost: string;
  readonly clock: Pick<Clock, "monotonicMs" | "nowMs">;
}

export function createAdmission(rules: AdmissionRules): Admission {
  const { credentials, cookie, allowedOrigins, listenHost, clock } = rules;
  const names = new Set([...LOOPBACK_NAMES, bracketed(listenHost.toLowerCase())]);
  const sites: ReadonlySet<string> = new Set(allowedOrigins);
  const wrongTokens = new WrongTokens(clock);

  const admission: Admission = {
    checkSite(head, { localAddress }) {
      const host = head.host?.toLowerCase();
      if (host === undefined) throw invalidRequest("the Host header is missing");
      const name = AUTHORITY.exec(host)?.[1];
      if (name === undefined || !(names.has(name) || name === literal(localAddress))) {
        throw new HttpError("auth.forbidden", "this Host is not served here");
      }
      const { origin } = head;
      if (origin === undefined || [`http://${host}`, `https://${host}`].includes(origin) || sites.has(origin)) return;
      throw new HttpError("auth.forbidden", "this Origin is not in gateway.allowedOrigins");
    },

    identify(method, head, socket) {
      const token = tokenIn(head);
      if (token !== null) {
        const grant = token === "" ? null : credentials.findToken(digestOf(token));
        if (grant !== null) return grant;
        throw admission.refuseProof("this token is not the right one", socket);
      }
      const secret = cookie.read(head, socket);
      if (secret === null) throw unauthorized("a token is required: Authorization: Bearer <token>", "");
      const isReading = READING.has(method) && !isUpgrade(head);
      if (!isFromOwnPage(head, isReading)) {
        throw new HttpError("auth.forbidden", "a cookie counts only for a page of this gateway: send its Origin");
      }
      const grant = credentials.findBrowser(digestOf(secret));
      if (grant !== null) return grant;
      const { code, message, headers } = admission.refuseProof("this browser is not signed in any more", socket);
      // It would be sent, and counted, again and again.
      const taken = ["Set-Cookie", cookie.write(socket, null, clock.nowMs())];
      throw new HttpError(code, message, { headers: [...headers, ...taken] });
    },

    refuseProof(message, { remoteAddress }) {
      const waitMs = wrongTokens.add(remoteAddress);
      return waitMs > 0 ? tooManyWrong(waitMs) : unauthorized(message, ', error="invalid_token"');
    },

    admit(head, socket) {
      admission.checkSite(head, socket);
      return admission.identify("GET", head, socket);
    },

    isAllowedSite: (origin): origin is string => origin !== undefined && sites.has(origin),
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
function isFromOwnPage({ host, origin, "sec-fetch-site": site }: Head, isReading: boolean): boolean {
  if (origin !== undefined && origin.slice(origin.indexOf("//") + 2) !== host?.toLowerCase()) return false;
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

export const bracketed = (host: string): string => (host.includes(":") ? `[${host}]` : host);

function literal(address: string | undefined): string | undefined {
  return address === undefined ? undefined : bracketed(address.replace(/^::ffff:(?=[0-9.]+$)/, ""));
}
