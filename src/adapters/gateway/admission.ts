/**
 * Who may come in: Host, Origin and token, in this order, before anything else is looked at.
 *
 * G1. A Host is ours by name: loopback, what we were told to listen on, or the very address that was dialled. A page
 *     whose own name was rebound to this machine says that name, and stays out.
 * G2. A browser says where a page came from; only our own origin and those the operator named come in.
 * G3. Coming from loopback proves nothing: everything but health needs the token, from everywhere.
 * G4. Tokens are compared in frames of one length, in constant time: nothing is learned of the right one's length or
 *     beginning. How long it takes depends on what the caller sent alone.
 */
import { hash, timingSafeEqual } from "node:crypto";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import { HttpError, invalidRequest } from "./http-error.ts";
import type { Head } from "./read-head.ts";

const LOOPBACK_NAMES = ["127.0.0.1", "localhost", "[::1]"];
const AUTHORITY = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?$/;
const SCHEME = "bearer ";
/** As long as a SHA-256 in hex. */
const FRAME_BYTES = 64;
/** No UTF-8 holds it: what is framed ends where it begins. */
const PADDING = 0xff;

export interface Admission {
  /** The socket knows which address the caller dialled. Throws what is wrong. */
  checkHostAndOrigin(head: Head, socket: { readonly localAddress?: string }): void;
  checkToken(head: Head): void;
  /** Is this another site the operator named? */
  isAllowedSite(origin: string | undefined): origin is string;
}

interface AdmissionRules {
  readonly token: string;
  readonly allowedOrigins: readonly string[];
  readonly listenHost: string;
}

export function createAdmission({ token, allowedOrigins, listenHost }: AdmissionRules): Admission {
  if (token === "") throw new Defect("gateway: an empty token would let everybody in");
  const names = new Set([...LOOPBACK_NAMES, bracketed(listenHost.toLowerCase())]);
  const sites: ReadonlySet<string> = new Set(allowedOrigins);
  const expected = Buffer.alloc(FRAME_BYTES);
  frame(token, expected);
  const given = Buffer.alloc(FRAME_BYTES);
  /** The last Host that was ours by name: clients say the same one again and again. */
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
    },

    isAllowedSite: (origin): origin is string => origin !== undefined && sites.has(origin),
  };
}

function unauthorized(message: string, detail: string): HttpError {
  return new HttpError("auth.required", message, {
    headers: ["WWW-Authenticate", `Bearer realm="surety"${detail}`],
  });
}

/** Short ones stand there as they are; what would fill the frame stands there as its digest, which does fill it. */
function frame(token: string, into: Buffer): void {
  let at = into.write(Buffer.byteLength(token) < FRAME_BYTES ? token : hash("sha256", token, "hex"));
  for (; at < FRAME_BYTES; at += 1) into[at] = PADDING;
}

const isOrigin = (origin: string, host: string): boolean => origin === `http://${host}` || origin === `https://${host}`;

const bracketed = (host: string): string => (host.includes(":") ? `[${host}]` : host);

function literal(address: string | undefined): string | undefined {
  return address === undefined ? undefined : bracketed(address.replace(/^::ffff:(?=[0-9.]+$)/, ""));
}
