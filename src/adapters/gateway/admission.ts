/**
 * Admission of a request: Host, Origin and token, in this order, before anything else is read.
 *
 * G1. Accepted Hosts: loopback names, the configured host, or the address that was dialled. A page whose own name was
 *     rebound to this machine (DNS rebinding) sends that name and is refused.
 * G2. Accepted Origins: the gateway's own, and those in gateway.allowedOrigins.
 * G3. Loopback is no proof of identity: everything but public operations needs a token.
 * G4. Tokens are compared in constant time, in frames of one length: timing depends on the caller's input alone.
 */
import { hash, timingSafeEqual } from "node:crypto";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import { SCOPES, type Scope } from "../../runtime/operations/operation.ts";
import { HttpError, invalidRequest } from "./http-error.ts";
import type { Head } from "./read-head.ts";

const LOOPBACK_NAMES = ["127.0.0.1", "localhost", "[::1]"];
const AUTHORITY = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?$/;
const SCHEME = "bearer ";
/** The length of a SHA-256 in hex. */
const FRAME_BYTES = 64;
/** Never part of UTF-8, so padding cannot be mistaken for the token. */
const PADDING = 0xff;

export interface Admission {
  /** The socket knows which address the caller dialled. */
  checkHostAndOrigin(head: Head, socket: { readonly localAddress?: string }): void;
  checkToken(head: Head): Grant;
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
}

export function createAdmission({ token, allowedOrigins, listenHost }: AdmissionRules): Admission {
  if (token === "") throw new Defect("gateway: an empty token admits every caller");
  const names = new Set([...LOOPBACK_NAMES, bracketed(listenHost.toLowerCase())]);
  const sites: ReadonlySet<string> = new Set(allowedOrigins);
  const expected = Buffer.alloc(FRAME_BYTES);
  frame(token, expected);
  const given = Buffer.alloc(FRAME_BYTES);
  /** Clients repeat the same Host, so the last accepted one is compared first. */
  let knownHost: string | null = null;

  const isRightToken = (candidate: string): boolean => {
    frame(candidate, given);
    return timingSafeEqual(given, expected);
  };

  const checkHost = (host: string, dialled: string | undefined): void => {
    const name = AUTHORITY.exec(host.toLowerCase())?.[1];
    if (name !== undefined && names.has(name)) knownHost = host;
    else if (name === undefined || name !== literal(dialled)) {
      throw new HttpError("auth.forbidden", "this Host is not served here");
    }
  };

  return {
    checkHostAndOrigin({ host, origin }, socket) {
      if (host === undefined) throw invalidRequest("the Host header is missing");
      if (host !== knownHost) checkHost(host, socket.localAddress);
      if (origin === undefined || isOrigin(origin, host.toLowerCase()) || sites.has(origin)) return;
      throw new HttpError("auth.forbidden", "this Origin is not in gateway.allowedOrigins");
    },

    checkToken({ authorization }) {
      if (authorization === undefined) throw unauthorized("a token is required: Authorization: Bearer <token>", "");
      const isBearer = authorization.slice(0, SCHEME.length).toLowerCase() === SCHEME;
      if (!isBearer || !isRightToken(authorization.slice(SCHEME.length))) {
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

/** A token shorter than the frame is padded; a longer one is replaced by its digest, which fills the frame. */
function frame(token: string, into: Buffer): void {
  let at = into.write(Buffer.byteLength(token) < FRAME_BYTES ? token : hash("sha256", token, "hex"));
  for (; at < FRAME_BYTES; at += 1) into[at] = PADDING;
}

const isOrigin = (origin: string, host: string): boolean => origin === `http://${host}` || origin === `https://${host}`;

const bracketed = (host: string): string => (host.includes(":") ? `[${host}]` : host);

function literal(address: string | undefined): string | undefined {
  return address === undefined ? undefined : bracketed(address.replace(/^::ffff:(?=[0-9.]+$)/, ""));
}
