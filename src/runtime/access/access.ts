/**
 * Who may come in: the home's own token, and browsers that exchanged a login link's code for a cookie.
 *
 * A1. Secrets are known by their SHA-256 only: the store gives none away.
 * A2. A credential that no longer counts ends at once what it opened (`Grant.ended`).
 */
import { timingSafeEqual } from "node:crypto";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import { hashBytes } from "../../kernel/vocabulary/hash.ts";
import type { Clock } from "../ports/clock.ts";
import { newId, type RandomBytes } from "../ports/randomness.ts";
import { type Credentials, type Grant, grantOf } from "./grant.ts";
import { type LoginCode, LoginCodes } from "./login-codes.ts";

const SECRET_BYTES = 32;
/** A browser that was not seen for so long has to sign in again. */
const IDLE_MS = 14 * 86_400_000;
const LIFE_MS = 90 * 86_400_000;
const MAX_USER_AGENT_CHARS = 200;

export interface BrowserSession {
  readonly id: string;
  readonly userAgent: string;
  readonly createdAtMs: number;
  readonly seenAtMs: number;
  readonly expiresAtMs: number;
}

interface Held {
  readonly grant: Grant;
  readonly ending: AbortController;
  readonly digest: string;
  session: BrowserSession;
}

interface AccessParts {
  readonly clock: Clock;
  readonly random: RandomBytes;
  /** Null: there is no gateway. */
  readonly token: string | null;
}

export class Access implements Credentials {
  readonly #parts: AccessParts;
  readonly #codes: LoginCodes;
  readonly #main: { readonly digest: Buffer; readonly grant: Grant } | null;
  readonly #browsers = new Map<string, Held>();

  constructor(parts: AccessParts) {
    this.#parts = parts;
    if (parts.token === "") throw new Defect("access: an empty token admits every caller");
    this.#codes = new LoginCodes(parts.clock, parts.random);
    const grant = grantOf("main", "admin", null, new AbortController().signal);
    this.#main = parts.token === null ? null : { digest: Buffer.from(hashBytes(parts.token)), grant };
  }

  findToken(digest: string): Grant | null {
    if (this.#main !== null && timingSafeEqual(Buffer.from(digest), this.#main.digest)) return this.#main.grant;
    return null;
  }

  findBrowser(digest: string): Grant | null {
    const held = this.#browsers.get(digest);
    if (held === undefined) return null;
    const nowMs = this.#parts.clock.nowMs();
    if (nowMs >= held.session.expiresAtMs || nowMs >= held.session.seenAtMs + IDLE_MS) {
      this.#forget(held);
      return null;
    }
    held.session = { ...held.session, seenAtMs: nowMs };
    return held.grant;
  }

  newCode(): LoginCode {
    return this.#codes.make();
  }

  /** Null: the code was used, or is too old. */
  logIn(code: string, userAgent: string): { readonly secret: string; readonly session: BrowserSession } | null {
    if (!this.#codes.take(code)) return null;
    const { clock, random } = this.#parts;
    const secret = Buffer.from(random(SECRET_BYTES)).toString("base64url");
    const nowMs = clock.nowMs();
    const id = newId("browser", random);
    const session = {
      ...{ id, userAgent: userAgent.slice(0, MAX_USER_AGENT_CHARS) },
      ...{ createdAtMs: nowMs, seenAtMs: nowMs, expiresAtMs: nowMs + LIFE_MS },
    };
    const ending = new AbortController();
    const digest = hashBytes(secret);
    this.#browsers.set(digest, { digest, session, ending, grant: grantOf(id, "admin", null, ending.signal) });
    return { secret, session };
  }

  /** Newest first. */
  browsers(): readonly BrowserSession[] {
    return [...this.#browsers.values()].map(({ session }) => session).reverse();
  }

  /** False: there is none of this id. */
  endBrowser(id: string): boolean {
    const held = [...this.#browsers.values()].find(({ session }) => session.id === id);
    if (held === undefined) return false;
    this.#forget(held);
    return true;
  }

  #forget({ digest, ending }: Held): void {
    this.#browsers.delete(digest);
    ending.abort();
  }
}
