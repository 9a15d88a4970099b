/** Operations on who may come in (design §7, Authentication). */
import { type Static, Type } from "typebox";
import { closed, nullable } from "../../kernel/vocabulary/schema-primitives.ts";
import { Name, Nothing } from "../operations/input-schemas.ts";
import { type Caller, operationsOver, type Refusal, refuse, type Sender } from "../operations/operation.ts";
import { type Clock, timestampOf } from "../ports/clock.ts";
import { type NewBrowser, TOKEN_SCOPES } from "../ports/stored-access.ts";
import { type Access, MAIN_TOKEN, MAX_TOKENS } from "./access.ts";

export interface AccessServices {
  readonly access: Pick<
    Access,
    | "newCode"
    | "logIn"
    | "browsers"
    | "endBrowser"
    | "tokens"
    | "addToken"
    | "rotateToken"
    | "rotateMain"
    | "removeToken"
  >;
  readonly clock: Pick<Clock, "nowMs">;
}

const MAX_EXPIRY_S = 366 * 86_400 * 10;

const BrowserSchema = Type.Object({
  id: Type.String(),
  is_this: Type.Boolean(),
  user_agent: Type.String(),
  created_at: Type.String(),
  seen_at: Type.String(),
  expires_at: Type.String(),
});
const TokenSchema = Type.Object({
  id: Type.String(),
  name: Type.String(),
  is_this: Type.Boolean(),
  scope: Type.Enum([...TOKEN_SCOPES]),
  owner: nullable(Type.String()),
  state: Type.Enum(["active", "expired", "forged"]),
  created_at: nullable(Type.String()),
  expires_at: nullable(Type.String()),
});
const NewTokenSchema = Type.Object({ ...TokenSchema.properties, token: Type.String() });
export type WireToken = Static<typeof TokenSchema>;
type Token = ReturnType<Access["tokens"]>[number];

const IdInput = Type.Object({ id: Type.String({ pattern: "^[\\w-]{1,128}$" }) }, closed);
const Done = Type.Object({ ok: Type.Literal(true) });
const Expiry = { expires_in_s: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_EXPIRY_S })) };

const USED = "This login link was used or is too old. Make a new one: surety login";

const { json } = operationsOver<AccessServices>();

export const accessOperations = [
  json({
    name: "login",
    method: "POST",
    path: "/api/login",
    scope: "public",
    summary: "signs a browser in with the code of a login link; the answer sets its cookie",
    input: Type.Object({ code: Type.String({ minLength: 1, maxLength: 256 }) }, closed),
    output: Type.Object({ ok: Type.Literal(true), expires_at: Type.String() }),
    async call({ access }, { code }, { userAgent = "" }) {
      const opened = await access.logIn(code, userAgent, "operator");
      if (opened === null) return refuse("auth.required", USED);
      const { secret, browser } = opened;
      const { expiresAtMs } = browser;
      const value = { ok: true as const, expires_at: timestampOf(expiresAtMs) };
      return { ok: true, value, cookie: { secret, expiresAtMs } };
    },
  }),
  json({
    name: "logout",
    method: "POST",
    path: "/api/logout",
    scope: "chat",
    summary: "signs this browser out",
    input: Nothing,
    output: Done,
    async call({ access }, _input, { credentialId = "", principal }) {
      if (!(await access.endBrowser(credentialId, principal))) {
        return refuse("invalid.request", "only a browser signs out; a token is removed: surety tokens rm");
      }
      return { ok: true, value: { ok: true as const }, cookie: null };
    },
  }),
  json({
    name: "login.link",
    method: "POST",
    path: "/api/login-links",
    scope: "admin",
    summary: "makes the code of a login link (`/login#CODE`): it counts once, for ten minutes",
    input: Nothing,
    output: Type.Object({ code: Type.String(), path: Type.String(), expires_at: Type.String() }),
    call({ access }, _input, caller) {
      // A browser stays signed in for long, and may make tokens.
      const refusal = beyond(access, caller, "admin", null);
      if (refusal !== null) return refusal;
      const { code, expiresAtMs } = access.newCode();
      // The code stands in the fragment, which no browser sends.
      return { ok: true, value: { code, path: `/login#${code}`, expires_at: timestampOf(expiresAtMs) } };
    },
  }),
  json({
    name: "browsers.list",
    method: "GET",
    path: "/api/browser-sessions",
    scope: "admin",
    summary: "lists the browsers that are signed in, newest first; `is_this` marks the one that asks",
    hasEtag: true,
    input: Nothing,
    output: Type.Object({ browser_sessions: Type.Array(BrowserSchema) }),
    call({ access }, _input, { credentialId }) {
      const browser_sessions = access.browsers().map((browser) => wireBrowser(browser, credentialId));
      return { ok: true, value: { browser_sessions: browser_sessions.reverse() } };
    },
  }),
  json({
    name: "browsers.end",
    method: "DELETE",
    path: "/api/browser-sessions/{id}",
    scope: "admin",
    summary: "signs a browser out; its streams and sockets end at once",
    input: IdInput,
    output: Done,
    async call({ access }, { id }, { principal }) {
      if (!(await access.endBrowser(id, principal))) return refuse("not_found", "no such browser session");
      return { ok: true, value: { ok: true as const } };
    },
  }),
  json({
    name: "tokens.list",
    method: "GET",
    path: "/api/tokens",
    scope: "admin",
    summary: "lists the tokens, oldest first, the home's own (`main`) before all; never the tokens themselves",
    hasEtag: true,
    input: Nothing,
    output: Type.Object({ tokens: Type.Array(TokenSchema) }),
    call({ access, clock }, _input, { credentialId }) {
      const made = access.tokens().map((token) => wireToken(token, clock.nowMs(), credentialId));
      return { ok: true, value: { tokens: [wireMain(credentialId), ...made] } };
    },
  }),
  json({
    name: "tokens.add",
    method: "POST",
    path: "/api/tokens",
    scope: "admin",
    summary:
      "makes a token with a name and a `scope`; with `chat` for one sender, its `owner` (`channel:sender`); it may expire (`expires_in_s`). The answer is the only one that shows it",
    input: Type.Object(
      { name: Name, scope: Type.Enum([...TOKEN_SCOPES]), owner: Type.Optional(Name), ...Expiry },
      closed,
    ),
    output: NewTokenSchema,
    async call({ access, clock }, { name, scope, owner, expires_in_s }, caller) {
      const sender = owner === undefined ? null : senderIn(owner);
      if (owner !== undefined && sender === null) {
        return refuse("invalid.request", "owner must be channel:sender, as in web:anna");
      }
      if ((scope === "chat") !== (sender !== null)) {
        return refuse("invalid.request", "a token with the scope chat has an owner, and no other has one");
      }
      if (access.tokens().length >= MAX_TOKENS) {
        return refuse("conflict", `there are ${MAX_TOKENS} tokens already: remove some`);
      }
      const expiresAtMs = endOf(clock, expires_in_s);
      const refusal = beyond(access, caller, scope, expiresAtMs);
      if (refusal !== null) return refusal;
      const { channel = null, senderId = null } = sender ?? {};
      const terms = { name, scope, channel, senderId, expiresAtMs };
      const { secret, token } = await access.addToken(terms, caller.principal);
      return { ok: true, value: { ...wireToken(token, clock.nowMs(), caller.credentialId), token: secret } };
    },
  }),
  json({
    name: "tokens.rotate",
    method: "POST",
    path: "/api/tokens/{id}/rotate",
    scope: "admin",
    summary:
      "gives a token another secret; the earlier one, its streams and its sockets end at once. `main` is written to the home's file too",
    input: Type.Object({ ...IdInput.properties, ...Expiry }, closed),
    output: NewTokenSchema,
    async call({ access, clock }, { id, expires_in_s }, caller) {
      const { principal, credentialId } = caller;
      if (id === MAIN_TOKEN) {
        if (expires_in_s !== undefined) return refuse("invalid.request", "the home's own token does not expire");
        const refusal = beyond(access, caller, "admin", null);
        if (refusal !== null) return refusal;
        const secret = await access.rotateMain(principal);
        if (secret === null) return refuse("conflict", "SURETY_TOKEN gives the home's own token: change it there");
        return { ok: true, value: { ...wireMain(credentialId), token: secret } };
      }
      const before = access.tokens().find((token) => token.id === id && !token.isForged);
      if (before === undefined) return refuse("not_found", "no such token");
      const expiresAtMs = expires_in_s === undefined ? before.expiresAtMs : endOf(clock, expires_in_s);
      const refusal = beyond(access, caller, before.scope, expiresAtMs);
      if (refusal !== null) return refusal;
      const rotated = await access.rotateToken(id, expiresAtMs, principal);
      if (rotated === null) return refuse("not_found", "no such token");
      return { ok: true, value: { ...wireToken(rotated.token, clock.nowMs(), credentialId), token: rotated.secret } };
    },
  }),
  json({
    name: "tokens.remove",
    method: "DELETE",
    path: "/api/tokens/{id}",
    scope: "admin",
    summary: "removes a token; its streams and sockets end at once",
    input: IdInput,
    output: Done,
    async call({ access }, { id }, { principal }) {
      if (id === MAIN_TOKEN) return refuse("conflict", "the home's own token can be rotated, but not removed");
      if (!(await access.removeToken(id, principal))) return refuse("not_found", "no such token");
      return { ok: true, value: { ok: true as const } };
    },
  }),
] as const;

/** What a token lets in may no more, and lasts no longer, than itself. `expiresAtMs` null: it lasts. */
function beyond(
  access: AccessServices["access"],
  { scopes, credentialId }: Caller,
  scope: WireToken["scope"],
  expiresAtMs: number | null,
): Refusal | null {
  if (!scopes.has(scope)) return refuse("auth.forbidden", `you lack the scope ${scope} yourself`);
  const own = access.tokens().find(({ id }) => id === credentialId)?.expiresAtMs ?? null;
  if (own === null || (expiresAtMs !== null && expiresAtMs <= own)) return null;
  return refuse(
    "auth.forbidden",
    `your own token expires at ${timestampOf(own)}: what it makes may last until then at most (expires_in_s)`,
  );
}

function endOf({ nowMs }: Pick<Clock, "nowMs">, seconds: number | undefined): number | null {
  return seconds === undefined ? null : nowMs() + seconds * 1000;
}

function senderIn(owner: string): Sender | null {
  const at = owner.indexOf(":");
  const [channel, senderId] = [owner.slice(0, at), owner.slice(at + 1)];
  return at < 1 || senderId === "" ? null : { channel, senderId };
}

function wireToken(
  token: Omit<Token, "isForged"> & { readonly isForged?: boolean },
  nowMs: number,
  ownId = "",
): WireToken {
  const { id, name, scope, channel, senderId, createdAtMs, expiresAtMs, isForged = false } = token;
  const isOver = expiresAtMs !== null && nowMs >= expiresAtMs;
  return {
    ...{ id, name, is_this: id === ownId, scope },
    owner: channel === null || senderId === null ? null : `${channel}:${senderId}`,
    state: isForged ? "forged" : isOver ? "expired" : "active",
    created_at: timestampOf(createdAtMs),
    expires_at: expiresAtMs === null ? null : timestampOf(expiresAtMs),
  };
}

function wireMain(ownId: string | undefined): WireToken {
  return {
    ...{ id: MAIN_TOKEN, name: "the home's own", is_this: ownId === MAIN_TOKEN, scope: "admin" as const },
    ...{ owner: null, state: "active" as const, created_at: null, expires_at: null },
  };
}

function wireBrowser(browser: NewBrowser, ownId: string | undefined): Static<typeof BrowserSchema> {
  const { id, userAgent, createdAtMs, seenAtMs, expiresAtMs } = browser;
  return {
    ...{ id, is_this: id === ownId, user_agent: userAgent },
    created_at: timestampOf(createdAtMs),
    seen_at: timestampOf(seenAtMs),
    expires_at: timestampOf(expiresAtMs),
  };
}
