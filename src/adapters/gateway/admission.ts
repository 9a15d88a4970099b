/**
 * Who may come in: Host, Origin and token, in this order, before anything else is looked at.
 *
 * G1. A Host is ours by name: loopback, what we were told to listen on, or the very address that was dialled. A page
 *     whose own name was rebound to this machine says that name, and stays out.
 * G2. A browser says where a page came from; only our own origin and those the operator named come in.
 * G3. Coming from loopback proves nothing: everything but health needs the token, from everywhere.
 * G4. Tokens are compared as digests, in constant time: nothing is learned of the right one's length or beginning.
 */
import { hash, timingSafeEqual } from "node:crypto";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import { HttpError, invalidRequest } from "./http-error.ts";
import type { Head } from "./read-head.ts";

const LOOPBACK_NAMES = ["127.0.0.1", "localhost", "[::1]"];
const AUTHORITY = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?$/;
const SCHEME = "bearer ";
const DIGEST_CHARS = 64;

export interface Admission {
  /** The socket knows which address the caller dialled. Throws what is wrong. */
  checkPlace(head: Head, socket: { readonly localAddress?: string }): void;
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
  const expected = Buffer.from(hash("sha256", token, "hex"), "latin1");
  const given = Buffer.alloc(DIGEST_CHARS);

  const isRightToken = (candidate: string): boolean => {
    given.write(hash("sha256", candidate, "hex"), "latin1");
    return timingSafeEqual(given, expected);
  };

  return {
    checkPlace(head, socket) {
      if (head.host === undefined) throw invalidRequest("the Host header is missing");
      const host = head.host.toLowerCase();
      const name = AUTHORITY.exec(host)?.[1];
      if (name === undefined || !(names.has(name) || name === literal(socket.localAddress))) {
        throw new HttpError("auth.forbidden", "this Host is not served here");
      }
      const { origin } = head;
      if (origin === undefined || origin === `http://${host}` || origin === `https://${host}`) return;
      if (!sites.has(origin)) throw new HttpError("auth.forbidden", "this Origin is not in gateway.allowedOrigins");
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

const bracketed = (host: string): string => (host.includes(":") ? `[${host}]` : host);

function literal(address: string | undefined): string | undefined {
  return address === undefined ? undefined : bracketed(address.replace(/^::ffff:(?=[0-9.]+$)/, ""));
}
