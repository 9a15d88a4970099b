/**
 * Admission of a request: Host, Origin and token, in this order, before anything else is read.
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
import { SCOPES, type Scope } from "../../runtime/operations/operation.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import { HttpError, invalidRequest } from "./http-error.ts";
import type { Head } from "./read-head.ts";
import { WrongTokens } from "./wrong-tokens.ts";

const LOOPBACK_NAMES = ["127.0.0.1", "localhost", "[::1]"];
const AUTHORITY = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?$/;
const SCHEME = "bearer ";

export interface Admission {
  /** The socket knows which address the caller dialled. */
  checkHostAndOrigin(head: Head, socket: { readonly localAddress?: string }): void;
  checkToken(head: Head, socket: { readonly remoteAddress?: string | undefined }): Grant;
  /** Whether gateway.allowedOrigins lists it. */
  isAllowedSite(origin: string | undefined): origin is string;
}

/** What a token allows, and in whose name. */
export interface Grant {
  readonly caller: { readonly principal: string; readonly source: string };
  readonly scopes: ReadonlySet<Scope>;
}

export const ANONYMOUS: Grant = {
  caller: { principal: "anonymous", source: "http" },
  scopes: new Set<Scope>(["public"]),
};
const MAIN_TOKEN: Grant = { caller: { principal: "operator", source: "http" }, scopes: new Set(SCOPES) };

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

  return {
    checkHostAndOrigin(head, { localAddress }) {
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

    checkToken({ authorization }, { remoteAddress }) {
      if (authorization === undefined) throw unauthorized("a token is required: Authorization: Bearer <token>", "");
      const isBearer = authorization.slice(0, SCHEME.length).toLowerCase() === SCHEME;
      const candidate = hash("sha256", authorization.slice(SCHEME.length), "buffer");
      if (!isBearer || !timingSafeEqual(candidate, expected)) {
        const waitMs = wrongTokens.add(remoteAddress);
        if (waitMs > 0) throw tooManyWrong(waitMs);
        throw unauthorized("this token is not the right one", ', error="invalid_token"');
      }
      return MAIN_TOKEN;
    },

    isAllowedSite: (origin): origin is string => origin !== undefined && sites.has(origin),
  };
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
