/**
 * Admission of a request or upgrade: Host, Origin and token, in this order, before anything else is read.
 *
 * G1. Accepted Hosts: loopback names, the configured host, or the address that was dialled. A page whose own name was
 *     rebound to this machine (DNS rebinding) sends that name and is refused.
 * G2. Accepted Origins: the gateway's own, and those in gateway.allowedOrigins.
 * G3. Loopback is no proof of identity: everything but public operations needs a token.
 * G4. Tokens are compared by their digests, in constant time: timing depends on the caller's input alone.
 * G5. An address that keeps sending wrong tokens gets a 429; the right one always passes (wrong-tokens.ts).
 */
import { hash, timingSafeEqual } from "node:crypto";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import { type Grant, OPERATOR } from "../../runtime/access/grant.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import { HttpError, invalidRequest } from "./http-error.ts";
import type { Head } from "./read-head.ts";
import { WrongTokens } from "./wrong-tokens.ts";

const LOOPBACK_NAMES = ["127.0.0.1", "localhost", "[::1]"];
const AUTHORITY = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?$/;
const SCHEME = "bearer ";
/** A browser cannot set a header on an upgrade, but it can offer a subprotocol. */
export const TOKEN_SUBPROTOCOL = "surety.bearer.";

/** The connection knows which address was dialled, and from where. */
export interface CallerSocket {
  readonly localAddress?: string | undefined;
  readonly remoteAddress?: string | undefined;
}

export interface Admission {
  /** Host and Origin: all that is asked of a caller of a public operation. */
  checkSite(head: Head, socket: CallerSocket): void;
  /** Who is it? Host and Origin were checked. */
  identify(head: Head, socket: CallerSocket): Grant;
  /** Both: for an upgrade, and for whatever else serves itself. */
  admit(head: Head, socket: CallerSocket): Grant;
  /** Whether gateway.allowedOrigins lists it. */
  isAllowedSite(origin: string | undefined): origin is string;
}

interface AdmissionRules {
  readonly token: string;
  readonly allowedOrigins: readonly string[];
  readonly listenHost: string;
  readonly clock: Pick<Clock, "monotonicMs">;
}

export function createAdmission({ token, allowedOrigins, listenHost, clock }: AdmissionRules): Admission {
  if (token === "") throw new Defect("gateway: an empty token admits every caller");
  const names = new Set([...LOOPBACK_NAMES, bracketed(listenHost.toLowerCase())]);
  const sites: ReadonlySet<string> = new Set(allowedOrigins);
  const expected = hash("sha256", token, "buffer");
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

    identify(head, { remoteAddress }) {
      const bearer = tokenIn(head);
      const candidate = hash("sha256", bearer ?? "", "buffer");
      if (bearer === null || !timingSafeEqual(candidate, expected)) {
        const waitMs = wrongTokens.add(remoteAddress);
        if (waitMs > 0) throw tooManyWrong(waitMs);
        throw unauthorized("this token is not the right one", ', error="invalid_token"');
      }
      return OPERATOR;
    },

    admit(head, socket) {
      admission.checkSite(head, socket);
      return admission.identify(head, socket);
    },

    isAllowedSite: (origin): origin is string => origin !== undefined && sites.has(origin),
  };
  return admission;
}

/** Null when another scheme is used. */
function tokenIn({ authorization, upgrade, "sec-websocket-protocol": offered }: Head): string | null {
  if (authorization !== undefined) {
    return authorization.slice(0, SCHEME.length).toLowerCase() === SCHEME ? authorization.slice(SCHEME.length) : null;
  }
  const isUpgrade = upgrade?.toLowerCase() === "websocket";
  const subprotocols = isUpgrade ? (offered ?? "").split(",").map((name) => name.trim()) : [];
  const protocol = subprotocols.find((name) => name.startsWith(TOKEN_SUBPROTOCOL));
  if (protocol !== undefined) return protocol.slice(TOKEN_SUBPROTOCOL.length);
  throw unauthorized("a token is required: Authorization: Bearer <token>", "");
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
