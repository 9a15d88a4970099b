/**
 * Who may come in: the home's own token, tokens that were made for others, and browsers that exchanged a login link's code
 * for a cookie.
 *
 * A1. Secrets are known by their SHA-256 only: the store gives none away, and a token is shown once.
 * A2. A credential that no longer counts (removed, rotated, expired) ends at once what it opened (`Grant.ended`).
 * A3. What counts is in memory, so a request costs a hash and a lookup; it gets there once it is durable. A row that the
 *     ledger does not confirm counts for nothing.
 */
import { timingSafeEqual } from "node:crypto";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import { hashBytes } from "../../kernel/vocabulary/hash.ts";
import type { Hash } from "../../kernel/vocabulary/identifiers.ts";
import { type Clock, timestampOf } from "../ports/clock.ts";
import { newId, type RandomBytes } from "../ports/randomness.ts";
import type { Store } from "../ports/store.ts";
import type { NewBrowser, NewToken, StoredToken } from "../ports/stored-access.ts";
import { type Credentials, type Grant, grantOf } from "./grant.ts";
import { HeldCredentials } from "./held-credentials.ts";
import { type LoginCode, LoginCodes } from "./login-codes.ts";

/** The id of the home's own token. */
export const MAIN_TOKEN = "main";
/** Marks our tokens, so that they are recognised, and redacted, wherever one turns up. */
const TOKEN_PREFIX = "surety_";
const SECRET_BYTES = 32;
const DAY_MS = 86_400_000;
/** A browser that was not seen for so long has to sign in again. */
const IDLE_MS = 14 * DAY_MS;
const LIFE_MS = 90 * DAY_MS;
const SEEN_EVERY_MS = 600_000;
const MAX_USER_AGENT_CHARS = 200;
const MAX_BROWSERS = 100;
export const MAX_TOKENS = 200;
const PAGE = { limit: 500, offset: 0 };

export type TokenTerms = Pick<NewToken, "name" | "scope" | "channel" | "senderId" | "expiresAtMs">;

interface AccessParts {
  readonly clock: Pick<Clock, "nowMs" | "monotonicMs" | "wake">;
  readonly random: RandomBytes;
  readonly store: Pick<Store, "commit" | "listTokens" | "listBrowsers">;
  /** The home's own; null: there is no gateway. */
  readonly token: string | null;
  /** Keeps another one in its place; null: it is not ours to change. */
  readonly replaceToken?: ((token: string) => Promise<void>) | null;
}

interface MainToken {
  readonly digest: Hash;
  readonly grant: Grant;
  readonly ending: AbortController;
}

export class Access implements Credentials {
  readonly #parts: AccessParts;
  readonly #codes: LoginCodes;
  readonly #tokens = new HeldCredentials<NewToken>();
  readonly #browsers = new HeldCredentials<NewBrowser>();
  #main: MainToken | null;
  #forged: readonly StoredToken[] = [];
  #cancelSweep = (): void => {};

  constructor(parts: AccessParts) {
    if (parts.token === "") throw new Defect("access: an empty token admits every caller");
    this.#parts = parts;
    this.#codes = new LoginCodes(parts.clock, parts.random);
    this.#main = parts.token === null ? null : mainToken(parts.token);
  }

  /** Before anyone is let in. */
  async load(): Promise<void> {
    const { store } = this.#parts;
    const tokens = await store.listTokens(PAGE);
    this.#forged = tokens.filter(({ isForged }) => isForged);
    for (const { isForged, ...token } of tokens) if (!isForged) this.#holdToken(token);
    for (const { isForged, ...browser } of await store.listBrowsers(PAGE)) if (!isForged) this.#holdBrowser(browser);
    this.#sweep();
  }

  close(): void {
    this.#cancelSweep();
  }

  findToken(digest: string): Grant | null {
    const main = this.#main;
    if (main !== null && timingSafeEqual(Buffer.from(digest), Buffer.from(main.digest))) return main.grant;
    const held = this.#tokens.find(digest);
    return held === null || this.#isOver(held.record.expiresAtMs) ? null : held.grant;
  }

  findBrowser(digest: string): Grant | null {
    const held = this.#browsers.find(digest);
    if (held === null || this.#isOver(endOf(held.record))) return null;
    this.#see(held.record);
    return held.grant;
  }

  newCode(): LoginCode {
    return this.#codes.make();
  }

  /** Null: the code was used, or is too old. */
  async logIn(code: string, userAgent: string, actor: string) {
    if (!this.#codes.take(code)) return null;
    const { clock, random } = this.#parts;
    const nowMs = clock.nowMs();
    const secret = secretFrom(random);
    const browser: NewBrowser = {
      ...{
        id: newId("browser", random),
        digest: hashBytes(secret),
        userAgent: userAgent.slice(0, MAX_USER_AGENT_CHARS),
      },
      ...{ createdAtMs: nowMs, seenAtMs: nowMs, expiresAtMs: nowMs + LIFE_MS },
    };
    const [oldest] = this.browsers().toSorted((one, other) => one.seenAtMs - other.seenAtMs);
    if (oldest !== undefined && this.browsers().length >= MAX_BROWSERS) await this.endBrowser(oldest.id, actor);
    const draft = { ...this.#act(actor), kind: "browser.signed_in", data: { browserId: browser.id } } as const;
    await this.#parts.store.commit([{ type: "insert-browser", browser, draft }], "barrier");
    this.#holdBrowser(browser);
    this.#sweep();
    return { secret, browser };
  }

  /** Oldest first. */
  browsers(): readonly NewBrowser[] {
    return this.#browsers.all();
  }

  /** False: there is none of this id. */
  async endBrowser(id: string, actor: string): Promise<boolean> {
    if (this.#browsers.get(id) === null) return false;
    const draft = { ...this.#act(actor), kind: "browser.signed_out", data: { browserId: id } } as const;
    await this.#parts.store.commit([{ type: "remove-browser", draft }], "barrier");
    this.#browsers.remove(id);
    return true;
  }

  /** Oldest first; expired ones too, until they are removed. */
  tokens(): readonly (NewToken & { readonly isForged: boolean })[] {
    return [...this.#tokens.all().map((token) => ({ ...token, isForged: false })), ...this.#forged];
  }

  async addToken(terms: TokenTerms, actor: string) {
    const { clock, random } = this.#parts;
    const secret = TOKEN_PREFIX + secretFrom(random);
    const token = { ...terms, id: newId("token", random), digest: hashBytes(secret), createdAtMs: clock.nowMs() };
    const data = { tokenId: token.id, scope: token.scope };
    await this.#putToken(token, { ...this.#act(actor), kind: "token.created", data });
    return { secret, token };
  }

  /** Null: there is none of this id. */
  async rotateToken(id: string, expiresAtMs: number | null | undefined, actor: string) {
    const before = this.#tokens.get(id);
    if (before === null) return null;
    const secret = TOKEN_PREFIX + secretFrom(this.#parts.random);
    const ends = expiresAtMs === undefined ? before.expiresAtMs : expiresAtMs;
    const token = { ...before, digest: hashBytes(secret), expiresAtMs: ends };
    await this.#putToken(token, { ...this.#act(actor), kind: "token.rotated", data: { tokenId: id } });
    return { secret, token };
  }

  /** Null: it is given from outside, and not ours to change. */
  async rotateMain(actor: string): Promise<string | null> {
    const { random, store, replaceToken } = this.#parts;
    const before = this.#main;
    if (before === null || replaceToken === null || replaceToken === undefined) return null;
    const secret = TOKEN_PREFIX + secretFrom(random);
    await replaceToken(secret);
    this.#main = mainToken(secret);
    before.ending.abort();
    const draft = { ...this.#act(actor), kind: "token.rotated", data: { tokenId: MAIN_TOKEN } } as const;
    await store.commit([{ type: "append-ledger", draft }], "barrier");
    return secret;
  }

  async removeToken(id: string, actor: string): Promise<boolean> {
    const isForged = this.#forged.some((token) => token.id === id);
    if (this.#tokens.get(id) === null && !isForged) return false;
    const draft = { ...this.#act(actor), kind: "token.revoked", data: { tokenId: id } } as const;
    await this.#parts.store.commit([{ type: "remove-token", draft }], "barrier");
    this.#tokens.remove(id);
    this.#forged = this.#forged.filter((token) => token.id !== id);
    return true;
  }

  async #putToken(token: NewToken, draft: PutDraft): Promise<void> {
    await this.#parts.store.commit([{ type: "put-token", token, draft }], "barrier");
    this.#holdToken(token);
    this.#sweep();
  }

  #holdToken(token: NewToken): void {
    const { id, scope, channel, senderId } = token;
    const sender = channel === null || senderId === null ? null : { channel, senderId };
    this.#tokens.put(token, (ended) => grantOf(id, scope, sender, ended));
  }

  #holdBrowser(browser: NewBrowser): void {
    this.#browsers.put(browser, (ended) => grantOf(browser.id, "admin", null, ended));
  }

  #see(browser: NewBrowser): void {
    const nowMs = this.#parts.clock.nowMs();
    if (nowMs - browser.seenAtMs < SEEN_EVERY_MS) return;
    this.#browsers.note({ ...browser, seenAtMs: nowMs });
    // If that fails, the store says so to all who write.
    this.#parts.store.commit([{ type: "see-browser", id: browser.id, atMs: nowMs }], "lazy").catch(() => {});
  }

  /** Ends what has expired, and wakes for the next that will. A browser's row goes too. */
  #sweep(): void {
    const { clock } = this.#parts;
    this.#cancelSweep();
    for (const browser of this.browsers()) {
      if (!this.#isOver(endOf(browser))) continue;
      this.endBrowser(browser.id, "system").catch(() => {});
      this.#browsers.remove(browser.id);
    }
    for (const token of this.#tokens.all()) {
      if (!this.#isOver(token.expiresAtMs)) continue;
      // It stays in the list, without anything that it opened.
      this.#holdToken(token);
    }
    const ends = [...this.browsers().map(endOf), ...this.#tokens.all().map(({ expiresAtMs }) => expiresAtMs)].filter(
      (endMs): endMs is number => endMs !== null && !this.#isOver(endMs),
    );
    if (ends.length === 0) return;
    // Far timers are not kept, and the clock may jump.
    const waitMs = Math.min(Math.min(...ends) - clock.nowMs(), DAY_MS);
    this.#cancelSweep = clock.wake(waitMs, () => this.#sweep());
  }

  #isOver(endMs: number | null): boolean {
    return endMs !== null && this.#parts.clock.nowMs() >= endMs;
  }

  #act(actor: string): { readonly ts: string; readonly actor: string } {
    return { ts: timestampOf(this.#parts.clock.nowMs()), actor };
  }
}

type PutDraft = Extract<Parameters<Store["commit"]>[0][number], { readonly type: "put-token" }>["draft"];

function mainToken(token: string): MainToken {
  const ending = new AbortController();
  return { digest: hashBytes(token), grant: grantOf(MAIN_TOKEN, "admin", null, ending.signal), ending };
}

function endOf({ seenAtMs, expiresAtMs }: NewBrowser): number {
  return Math.min(expiresAtMs, seenAtMs + IDLE_MS);
}

function secretFrom(random: RandomBytes): string {
  return Buffer.from(random(SECRET_BYTES)).toString("base64url");
}
